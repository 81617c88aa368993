"""Packing behind a mark for each passage, a number or its chunk's id, within a token budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from knowledge.model.values import Hit
from rag.contract.marks import CLOSE, OPEN, Marks
from rag.find.pack.look_alikes import disarmed, rounded
from rag.find.pack.tokens import budget_bytes, cut_to, size
from rag.text.labels import dated_label, heading, path_of
from rag.values.answer import Context, Passage

type Disarm = Callable[[str, Sequence[Hit]], str]
"""Shows in a document's text what reads as a mark of one of the hits as what is none."""

# A line may end within a mark, in a quotation too.
_NUMBER = re.compile(rf"{OPEN}[\s>]*\d{{1,3}}(?:[\s>]*[,;][\s>]*\d{{1,3}})*[\s>]*{CLOSE}")
_ID = re.compile(rf"{OPEN}\s*id_[\s>]*\d[^\[\]\u3010\u3011\uff3b\uff3d]{{0,200}}{CLOSE}", re.IGNORECASE)
_BLANK = re.compile(r"[\s>]+")
_ONE_ID = re.compile(r"id_\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NumberPacker:
    r"""``[1] {title} > {section} ({date})\n{text}\n\n`` per chunk, best first, within ``max_tokens`` estimated tokens.

    ``marks`` gives the profile's own mark, which a reader sees. What looks like a number in brackets, and what the
    profile's own ``disarm`` takes for a mark, is shown as what is none. A number in the code of a passage stays: no
    mark is read in code, and ``x[1]`` with round brackets is other code.
    """

    max_tokens: int
    marks: Marks
    disarm: Disarm | None = None

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """Return the context and its passages; ``hits`` is not empty."""

        def plain(text: str) -> str:
            text = self.disarm(text, hits) if self.disarm else text
            return disarmed(text, _NUMBER, lambda _, in_code: not in_code, rounded)

        def block(place: int, hit: Hit) -> _Block:
            title = dated_label(rounded(plain(path_of(hit.chunk))), hit.chunk)
            return _Block(f"[{place}]", title, plain(hit.chunk.text), self.marks.mark(hit, place))

        return _packed(hits, self.max_tokens, block)


@dataclass(frozen=True, slots=True)
class IdPacker:
    r"""``[id_3] {heading}\n{text}\n\n`` per chunk, as Clockify's seed has it; what looks like an id is none."""

    max_tokens: int

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """Return the context and its passages; ``hits`` is not empty."""

        def block(_: int, hit: Hit) -> _Block:
            mark = f"[{hit.chunk.id}]"
            return _Block(mark, rounded(heading(hit.chunk)), disarm_ids(hit.chunk.text, hits), mark)

        return _packed(hits, self.max_tokens, block)


def disarm_ids(text: str, hits: Sequence[Hit]) -> str:
    """Return ``text`` with round brackets around ids; in code, which stays to the letter, around those of ``hits``."""
    ids = {hit.chunk.id for hit in hits}

    def is_mark(found: re.Match[str], in_code: bool) -> bool:
        return not in_code or not ids.isdisjoint(_ONE_ID.findall(_BLANK.sub("", found[0].lower())))

    return disarmed(text, _ID, is_mark, rounded)


@dataclass(frozen=True, slots=True)
class _Block:
    """A passage of a context: ``head`` is its mark there, ``citation`` the one that a reader sees."""

    head: str
    title: str
    text: str
    citation: str

    def __str__(self) -> str:
        return f"{self.head} {self.title}".rstrip() + f"\n{self.text}\n\n"


def _packed(hits: tuple[Hit, ...], max_tokens: int, block_of: Callable[[int, Hit], _Block]) -> Context:
    """Return the blocks of ``hits`` that fit.

    Of a chunk that exceeds what is left as much text is taken as fits, cut with an ellipsis at the end of a sentence or
    a line, and it ends the packing. The first chunk is always in, its text cut anywhere and its title to half of the
    room if they must be; only its mark is never cut, so that a smaller budget than that is exceeded.
    """
    blocks: list[str] = []
    used: list[Passage] = []
    room = budget_bytes(max_tokens)
    for place, hit in enumerate(hits, start=1):
        first, block = place == 1, block_of(place, hit)
        cost = size(str(block))
        full = cost > room
        if full:
            if first:
                most = (room - size(str(replace(block, title="", text="")))) // 2
                block = replace(block, title=cut_to(block.title, most, anywhere=True))
            most = room - size(str(replace(block, text="")))
            block = replace(block, text=cut_to(block.text, most, anywhere=first))
            cost = room
        if block.text or first:
            blocks.append(str(block))
            used.append(Passage(hit=hit, citation=block.citation, text=block.text))
        room -= cost
        if full or room <= 0:
            break
    return Context("".join(blocks), tuple(used))
