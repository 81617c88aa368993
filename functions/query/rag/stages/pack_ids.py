"""Packing by chunk id within a token budget."""

from __future__ import annotations

from dataclasses import dataclass

from rag.ports import TokenCounter
from rag.text.cutting import cut_to
from rag.types import Chunk, Context, Hit, Passage


@dataclass(frozen=True, slots=True)
class IdPacker:
    """``[id_N] {title}\\n{text}\\n\\n`` per chunk, best first, within ``max_tokens`` tokens.

    The title is the chunk's section heading. The first chunk is always in, cut if it must be; of the others
    one that exceeds the rest is cut there, with an ellipsis, at the end of a sentence or a line, and ends the
    packing.
    """

    max_tokens: int
    tokens: TokenCounter

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """The context and its passages; ``hits`` is not empty."""
        blocks: list[str] = []
        used: list[Passage] = []
        room = self.max_tokens
        for hit in hits:
            head = f"[{hit.chunk.id}] {heading(hit.chunk)}\n"
            text = hit.chunk.text
            cost = self.tokens.count(f"{head}{text}\n\n")
            full = cost > room
            if full:
                text = cut_to(text, room - self.tokens.count(f"{head}\n\n"), self.tokens.count, anywhere=not used)
                cost = room
            if text:
                blocks.append(f"{head}{text}\n\n")
                used.append(Passage(hit=hit, citation=f"[{hit.chunk.id}]", text=text))
            room -= cost
            if full or room <= 0:
                break
        return Context("".join(blocks), tuple(used))


def heading(chunk: Chunk) -> str:
    """What the chunk is about, on one line: the last heading of its section, else its document's title."""
    return " ".join((chunk.section.rsplit(" > ", 1)[-1] or chunk.title).split())
