"""Packing by chunk id: ``[id_42] title``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.contract.marks import CLOSE, OPEN
from rag.find.pack.by_mark import MarkPacker
from rag.text.labels import heading
from rag.values.answer import Chunk

_BLANK = re.compile(r"[\s>]+")
_ID = re.compile(r"id_\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class IdPacker(MarkPacker):
    """Passages behind their chunks' ids, each with its section's heading."""

    # A line may end within it, in a quotation too.
    looks_like = re.compile(rf"{OPEN}\s*id_[\s>]*\d[^\[\]\u3010\u3011\uff3b\uff3d]{{0,200}}{CLOSE}", re.IGNORECASE)

    def mark(self, place: int, chunk: Chunk) -> str:
        return f"[{chunk.id}]"

    def title(self, chunk: Chunk) -> str:
        return heading(chunk)

    def marks_in_code(self, found: str, chunks: Sequence[Chunk]) -> bool:
        return not {chunk.id for chunk in chunks}.isdisjoint(_ID.findall(_BLANK.sub("", found.lower())))
