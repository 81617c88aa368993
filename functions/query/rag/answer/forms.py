"""How profiles cite: what a mark looks like, which chunks it may mean, what one citation stands for."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from knowledge.model.values import Hit
from rag.answer.tree import Cite, Link, Tree
from rag.contract.marks import BRACKETS, CLOSE, OPEN, MarkMeaning, NamedSource
from rag.text.addresses import source_urls
from rag.text.labels import heading

# gpt-oss adds the lines that it read: "\u3010id_3\u2020L1-L3\u3011".
_ID = r"id_\d{1,9}(?:\u2020L[\dL-]{1,20})?"
# What stands in round brackets right behind would make a link of it.
_IDS = re.compile(rf"({OPEN}\s*{_ID}(?:\s*[,;]\s*{_ID})*\s*{CLOSE})(?:\([^()\s]*\))?", re.IGNORECASE)
_NUMBER = re.compile(r"id_(\d+)", re.IGNORECASE)


class CitationForm(ABC):
    """How a profile cites. ``opens`` are the characters that a mark may begin with.

    ``draws_on`` is the share (0..1) of a sentence's words from which an answer without marks cites by its words; None:
    never.
    """

    opens: ClassVar[str] = BRACKETS
    draws_on: float | None = None

    @abstractmethod
    def found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Where the mark that begins at ``start`` ends, at most ``end``, and what it says; None for no mark."""

    @abstractmethod
    def meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        """What ``mark`` means of ``hits``, all that the writer saw."""

    def linked(self, link: Link, hits: Sequence[Hit]) -> NamedSource | None:
        """The source that a link leads to, where links cite."""
        return None

    @abstractmethod
    def source(self, hit: Hit) -> Hashable:
        """What one citation stands for: equal for hits of one title, address or id."""

    @abstractmethod
    def named(self, hit: Hit, mark: str) -> NamedSource:
        """``hit`` as ``mark``, the one that its passage was shown with, names it."""

    def cite(self, hit: Hit, mark: str, *, written: bool = False) -> Cite:
        """A citation of ``hit`` alone, by the ``mark`` that its passage was shown with."""
        named, number = self.named(hit, mark), hit.chunk.number
        return Cite(number, (number,), mark, named.title, named.section, written)

    def shown(self, tree: Tree, numbers: Mapping[int, int]) -> Tree:
        """``tree`` as a reader sees its marks; ``numbers`` gives the reference's number of each chunk that it cites."""
        del numbers
        return tree

    def urls(self, hit: Hit) -> tuple[str, ...]:
        """The addresses that a citation of ``hit`` names."""
        return source_urls(hit.chunk)

    def chunk_id(self, hit: Hit) -> str | None:
        """The id of the chunk, where chunks are what is cited."""
        return None


@dataclass(frozen=True)
class ChunkForm(CitationForm):
    """Marks that name chunks one by one, by numbers: ``marks`` finds one, ``number`` the numbers in it."""

    marks: ClassVar[re.Pattern[str]]
    number: ClassVar[re.Pattern[str]]
    apart: ClassVar[bool]
    """Whether a mark of several chunks is shown as one mark each."""

    @abstractmethod
    def by_number(self, hits: Sequence[Hit]) -> Mapping[int, Hit]:
        """Each of ``hits``, all that the writer saw in their order, by the number that names it."""

    @abstractmethod
    def mark(self, number: int) -> str:
        """The mark of one chunk."""

    def found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        mark = self.marks.match(text, start, end)
        return (mark.end(), mark[1]) if mark else None

    def meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        known = self.by_number(hits)
        numbers = [int(number) for number in self.number.findall(mark)]
        found = dict.fromkeys(number for number in numbers if number in known)
        removed = sum(number not in known for number in numbers)
        changed = removed > 0 or (self.apart and len(found) > 1)
        return MarkMeaning(tuple(self.named(known[one], self.mark(one)) for one in found), removed, changed)

    def source(self, hit: Hit) -> Hashable:
        """The chunk itself."""
        return hit.chunk.number

    def chunk_id(self, hit: Hit) -> str | None:
        return hit.chunk.id


@dataclass(frozen=True)
class IdForm(ChunkForm):
    """``[id_3]``, ``[id_3, id_5]``: chunks by their ids."""

    marks = _IDS
    number = _NUMBER
    apart = False

    def by_number(self, hits: Sequence[Hit]) -> Mapping[int, Hit]:
        return {hit.chunk.number: hit for hit in hits}

    def mark(self, number: int) -> str:
        return f"[id_{number}]"

    def named(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, heading(hit.chunk), hit.chunk.section)
