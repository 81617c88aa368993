"""Packing by number: ``[1] Title > Section``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.contract.marks import CLOSE, OPEN
from rag.find.pack.by_mark import MarkPacker
from rag.values.answer import Chunk


@dataclass(frozen=True, slots=True)
class NumberPacker(MarkPacker):
    """Passages in their order behind numbers from 1 on, each with its title and section.

    A number in the code of a passage stays: no mark is read in code, and ``x[1]`` with round brackets is other code.
    """

    # A line may end within it, in a quotation too.
    looks_like = re.compile(rf"{OPEN}[\s>]*\d{{1,3}}(?:[\s>]*[,;][\s>]*\d{{1,3}})*[\s>]*{CLOSE}")

    def mark(self, place: int, chunk: Chunk) -> str:
        return f"[{place}]"

    def title(self, chunk: Chunk) -> str:
        return " ".join(" > ".join(filter(None, (chunk.title, chunk.section))).split())

    def marks_in_code(self, found: str, chunks: Sequence[Chunk]) -> bool:
        return False
