"""Packing behind a mark for each passage, its chunk's id or a number, within a token budget."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from knowledge.model.values import Chunk, Hit
from rag.contract.marks import CLOSE, OPEN
from rag.find.pack.look_alikes import disarmed, rounded
from rag.find.pack.tokens import budget_bytes, cut_to, size
from rag.text.labels import dated_label, heading, path_of
from rag.values.answer import Context, Passage

_BLANK = re.compile(r"[\s>]+")
_ID = re.compile(r"id_\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MarkPacker(ABC):
    r"""``{mark} {title}\n{text}\n\n`` per chunk, best first, within ``max_tokens`` estimated tokens.

    With ``dates`` a title ends in the chunk's date: ``[1] Opening hours (2026-01-05)``.

    Of a chunk that exceeds what is left as much text is taken as fits, cut with an ellipsis at the end of a sentence or
    a line, and it ends the packing. The first chunk is always in, its text cut anywhere and its title to half of the
    room if they must be; only its mark is never cut, so that a smaller budget than that is exceeded. What looks like a
    mark in a title or a text is shown in round brackets.
    """

    max_tokens: int
    dates: bool = True

    looks_like: ClassVar[re.Pattern[str]]
    """What could be read as a mark."""

    @abstractmethod
    def mark(self, place: int, chunk: Chunk) -> str:
        """How the chunk at ``place`` (from 1) is cited."""

    @abstractmethod
    def title(self, chunk: Chunk) -> str:
        """What stands behind its mark, on the same line."""

    @abstractmethod
    def marks_in_code(self, found: str, chunks: Sequence[Chunk]) -> bool:
        """Whether ``found`` in the code of a passage, which must stay to the letter, is a mark of one of ``chunks``."""

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """The context and its passages; ``hits`` is not empty."""
        blocks: list[str] = []
        used: list[Passage] = []
        room = budget_bytes(self.max_tokens)
        chunks = [hit.chunk for hit in hits]

        def is_mark(found: re.Match[str], in_code: bool) -> bool:
            return not in_code or self.marks_in_code(found[0], chunks)

        for place, hit in enumerate(hits, start=1):
            first = place == 1
            mark, title = self.mark(place, hit.chunk), rounded(self.title(hit.chunk))
            title = dated_label(title, hit.chunk) if self.dates else title
            text = disarmed(hit.chunk.text, self.looks_like, is_mark, rounded)
            cost = size(_block(mark, title, text))
            full = cost > room
            if full:
                if first:
                    title = cut_to(title, (room - size(_block(mark, "", ""))) // 2, anywhere=True)
                text = cut_to(text, room - size(_block(mark, title, "")), anywhere=first)
                cost = room
            if text or first:
                blocks.append(_block(mark, title, text))
                used.append(Passage(hit=hit, citation=mark, text=text))
            room -= cost
            if full or room <= 0:
                break
        return Context("".join(blocks), tuple(used))


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
        return path_of(chunk)

    def marks_in_code(self, found: str, chunks: Sequence[Chunk]) -> bool:
        return False


def _block(mark: str, title: str, text: str) -> str:
    return f"{mark} {title}".rstrip() + f"\n{text}\n\n"
