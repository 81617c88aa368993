"""Packing by source address: ``Source: url`` above each text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge.model.values import Hit
from rag.find.pack.look_alikes import disarmed
from rag.find.pack.tokens import budget_bytes, cut_to, size
from rag.text.addresses import same_source, source_name
from rag.values.answer import Context, Passage

SEPARATOR = "\n\n---\n\n"
# "Source:" where a line or a bracket begins, with what it names; and a line of nothing but dashes.
_LABEL = re.compile(
    r"(?:^[^\w\n]*|[(\[\u3010\uff3b]\s*)source[^\w\n]*[:\uff1a](?P<name>[^()\[\]\n]*)|^[ \t]*-{3,}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_COLON = re.compile(r"(?<=source)([^\w\n]*?)[:\uff1a]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UrlPacker:
    r"""``Source: url\ntext`` per chunk, best first, separated by ``---``, within ``max_tokens`` (estimated).

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
            text = disarm_sources(hit.chunk.text, hits)
            cost = size(f"{SEPARATOR if blocks else ''}{head}{text}")
            if cost > room:
                if used:
                    break
                text = cut_to(text, room - size(head), anywhere=True)
            blocks.append(f"{head}{text}")
            used.append(Passage(hit=hit, citation=f"(Source: {source_name(hit.chunk)})", text=text))
            room -= cost
        return Context(SEPARATOR.join(blocks), tuple(used))


def disarm_sources(text: str, hits: Sequence[Hit]) -> str:
    """Return ``text`` with ``Source -`` for ``Source:``, ``- - -`` for a separator; in code for ``hits``' names."""
    names = {same_source(source_name(hit.chunk)) for hit in hits}

    def is_label(label: re.Match[str], in_code: bool) -> bool:
        return not in_code or same_source(label["name"] or "") in names

    return disarmed(text, _LABEL, is_label, _shown)


def _shown(label: str) -> str:
    return _COLON.sub(r"\1 -", label, count=1) if label.strip("- \t") else "- - -"
