"""Packing by source address: ``Source: url`` above each text."""

from __future__ import annotations

from dataclasses import dataclass

from rag.stages.cite.addresses import source_name
from rag.stages.pack.tokens import budget_bytes, cut_to, size
from rag.values.answer import Context, Hit, Passage

SEPARATOR = "\n\n---\n\n"


@dataclass(frozen=True, slots=True)
class UrlPacker:
    """``Source: url\\ntext`` per chunk, best first, separated by ``---``, within ``max_tokens`` estimated
    tokens.

    A document without an address is named by its title. Packing stops before the first chunk that would exceed
    the budget; a first chunk that alone exceeds it is cut to fit.
    """

    max_tokens: int

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """The context and the passages that it is made of; ``hits`` is not empty."""
        blocks: list[str] = []
        used: list[Passage] = []
        room = budget_bytes(self.max_tokens)
        for hit in hits:
            head = f"Source: {source_name(hit.chunk)}\n"
            text = hit.chunk.text
            cost = size(f"{SEPARATOR if blocks else ''}{head}{text}")
            if cost > room:
                if used:
                    break
                text = cut_to(text, room - size(head), anywhere=True)
            blocks.append(f"{head}{text}")
            used.append(Passage(hit=hit, citation=f"(Source: {source_name(hit.chunk)})", text=text))
            room -= cost
        return Context(SEPARATOR.join(blocks), tuple(used))
