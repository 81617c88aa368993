"""Packing: from hits to exactly the context that the model sees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from knowledge.model.values import Hit
from rag.contract.marks import CLOSE, OPEN, Marks
from rag.find.pack.look_alikes import disarmed, rounded
from rag.text.labels import ARROW, make_label
from rag.values.answer import Context, Passage

_BRACKET = re.compile(rf"{OPEN}(?:[^\[\]\u3010\u3011\uff3b\uff3d\n]|\n(?!\s*\n))++{CLOSE}(?P<link>\()?")
_NO_LABEL = re.compile(r"\[(?:\^|[ xX]?\])")
"""A footnote, a check box."""


@dataclass(frozen=True, slots=True)
class TitledPacker:
    r"""``[Title > Section]\ncontent\n\n`` per chunk, best first, within ``max_chars`` characters.

    Packing stops before the first chunk that would exceed the budget; a first chunk that alone exceeds it
    is cut to fit, so that a context is never empty.
    """

    max_chars: int
    form: Marks

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """The context and the passages that it is made of; ``hits`` is not empty."""
        parts: list[str] = []
        used: list[Passage] = []
        room = self.max_chars
        for hit in hits:
            label = make_label(hit.chunk.title, hit.chunk.section)
            text = disarm_titles(self.form, hit.chunk.text, hits)
            block = f"{label}\n{text}\n\n"
            if len(block) > room:
                if used:
                    break
                overhead = len(block) - len(text)
                if overhead > room:
                    label = f"{label[: room - len(']\n\n\n')].rstrip()}]"
                text = _cut(text, max(0, room - overhead))
                block = f"{label}\n{text}\n\n"
            parts.append(block)
            used.append(Passage(hit=hit, citation=label, text=text))
            room -= len(block)
        return Context("".join(parts), tuple(used))


def disarm_titles(form: Marks, text: str, hits: Sequence[Hit]) -> str:
    """Return ``text`` with round brackets around what reads as a label.

    That is what ``form`` takes for a citation of ``hits``, what holds an arrow, and what has a line to itself; in code,
    of a link, over lines only one of the hits' own labels.
    """
    own = {_plain(make_label(hit.chunk.title, hit.chunk.section)) for hit in hits if hit.chunk.section}
    cites = cache(lambda mark: bool(form.meaning(mark, hits).named))

    def is_label(mark: re.Match[str], in_code: bool) -> bool:
        if in_code or mark["link"] or "\n" in mark[0] or _NO_LABEL.match(mark[0]):
            return _plain(mark[0]) in own
        return ">" in mark[0] or ARROW in mark[0] or _stands_alone(mark) or cites(mark[0])

    return disarmed(text, _BRACKET, is_label, rounded)


def _plain(label: str) -> str:
    """Equal for labels that differ in nothing but case and what is neither a letter nor a figure."""
    return "".join(filter(str.isalnum, label.casefold()))


def _stands_alone(mark: re.Match[str]) -> bool:
    text = mark.string
    before, after = text[: mark.start()].rpartition("\n")[2], text[mark.end() :].partition("\n")[0]
    return not (before.strip() or after.strip())


def _cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``, ending with a whole word: half of ``3.5`` would be another fact."""
    head = text[:limit]
    if head[-1:].strip() and text[limit : limit + 1].strip():
        head = head[: -len(head.split()[-1])].rstrip() or head
    return head.rstrip()
