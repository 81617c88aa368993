"""Packing: from hits to exactly the context that the model sees."""

from __future__ import annotations

from dataclasses import dataclass

from rag.text.labels import make_label
from rag.values.answer import Context, Hit, Passage


@dataclass(frozen=True, slots=True)
class TitledPacker:
    """``[Title > Section]\\ncontent\\n\\n`` per chunk, best first, within ``max_chars`` characters.

    Packing stops before the first chunk that would exceed the budget; a first chunk that alone exceeds it
    is cut to fit, so that a context is never empty.
    """

    max_chars: int

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """The context and the passages that it is made of; ``hits`` is not empty."""
        parts: list[str] = []
        used: list[Passage] = []
        room = self.max_chars
        for hit in hits:
            label = make_label(hit.chunk.title, hit.chunk.section)
            text = hit.chunk.text
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


def _cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``, ending with a whole word: half of ``3.5`` would be another fact."""
    head = text[:limit]
    if head[-1:].strip() and text[limit : limit + 1].strip():
        head = head[: -len(head.split()[-1])].rstrip() or head
    return head.rstrip()
