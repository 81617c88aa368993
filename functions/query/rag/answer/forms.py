"""How profiles cite: what a mark looks like, which chunks it may mean, what one citation stands for."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar

from knowledge.model.values import Hit
from rag.answer.tree import Cite, Inline, Link, Run, Statement, Styled, Text, Tree
from rag.answer.walk import leaves, mapped, nodes
from rag.contract.marks import BRACKETS, CLOSE, OPEN, MarkMeaning, NamedSource
from rag.text.addresses import source_urls
from rag.text.labels import heading

# gpt-oss adds the lines that it read: "\u30101\u2020L1-L3\u3011".
_LINES = r"(?:\u2020L[\dL-]{1,20})?"


def _marks(name: str) -> re.Pattern[str]:
    """What stands in round brackets right behind would make a link of it."""
    one = rf"{name}{_LINES}"
    return re.compile(rf"({OPEN}\s*{one}(?:\s*[,;]\s*{one})*\s*{CLOSE})(?:\([^()\s]*\))?", re.IGNORECASE)


_PLACES, _PLACE = _marks(r"\d{1,3}"), re.compile(r"(?<![\dL-])\d+")
_IDS, _ID = _marks(r"id_\d{1,9}"), re.compile(r"id_(\d+)", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;]*")


@dataclass(frozen=True)
class CitationForm(ABC):
    """How a profile cites. ``opens`` are the characters that a mark may begin with.

    Where its passages are ``numbered``, ``[1]`` and ``[1, 3]`` mean them by their places in the context, from 1 on, and
    a reader is shown the profile's own marks instead. Those are read too: models copy them from earlier answers.
    ``draws_on`` is the share (0..1) of a sentence's words from which an answer without marks cites by its words; None:
    never.
    """

    opens: ClassVar[str] = BRACKETS
    draws_on: float | None = field(default=None, kw_only=True)
    numbered: bool = field(default=True, kw_only=True)

    def found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Where the mark that begins at ``start`` ends, at most ``end``, and what it says; None for no mark."""
        mark = _PLACES.match(text, start, end) if self.numbered else None
        return (mark.end(), mark[1]) if mark else self._found(text, start, end)

    def meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        """What ``mark`` means of ``hits``, all that the writer saw."""
        if not self.numbered or not _PLACES.fullmatch(mark):
            return self._meaning(mark, hits)
        places = dict.fromkeys(int(place) for place in _PLACE.findall(mark))
        known = [(place, hits[place - 1]) for place in places if 0 < place <= len(hits)]
        named = tuple(self.named(hit, self.mark(hit, place)) for place, hit in known)
        return MarkMeaning(named, len(places) - len(named), changed=True)

    @abstractmethod
    def _found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """``found`` for the profile's own marks."""

    @abstractmethod
    def _meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        """``meaning`` of one of the profile's own marks."""

    @abstractmethod
    def mark(self, hit: Hit, place: int) -> str:
        """The profile's own mark of ``hit``, at that place of the context, from 1 on."""

    def linked(self, link: Link, hits: Sequence[Hit]) -> NamedSource | None:
        """The source that a link leads to, where links cite."""
        return None

    @abstractmethod
    def source(self, hit: Hit) -> Hashable:
        """What one citation stands for: equal for hits of one title, address or id."""

    @abstractmethod
    def named(self, hit: Hit, mark: str) -> NamedSource:
        """``hit`` as ``mark``, its own one, names it."""

    def cite(self, hit: Hit, mark: str, *, written: bool = False, place: int = -1) -> Cite:
        """Return a citation of ``hit`` alone, by its own ``mark``."""
        named, number = self.named(hit, mark), hit.chunk.number
        return Cite(number, (number,), mark, named.title, named.section, written, place)

    def shown(self, tree: Tree, numbers: Mapping[int, int]) -> Tree:
        """``tree`` as a reader sees its marks; ``numbers`` gives the reference's number of each chunk that it cites.

        Two passages of one title or address have the same mark: side by side it is shown once.
        """
        del numbers
        return mapped(tree, _shown_once) if self.numbered else tree

    def urls(self, hit: Hit) -> tuple[str, ...]:
        """The addresses that a citation of ``hit`` names."""
        return source_urls(hit.chunk)

    def chunk_id(self, hit: Hit) -> str | None:
        """The id of the chunk, where chunks are what is cited."""
        return None


@dataclass(frozen=True)
class IdForm(CitationForm):
    """``[id_3]``, ``[id_3, id_5]``: chunks by their ids."""

    def _found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        mark = _IDS.match(text, start, end)
        return (mark.end(), mark[1]) if mark else None

    def _meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        known = {hit.chunk.number: hit for hit in hits}
        numbers = [int(number) for number in _ID.findall(mark)]
        found = [known[number] for number in dict.fromkeys(numbers) if number in known]
        removed = sum(number not in known for number in numbers)
        return MarkMeaning(tuple(self.named(hit, self.mark(hit, 0)) for hit in found), removed, removed > 0)

    def mark(self, hit: Hit, place: int) -> str:
        return f"[{hit.chunk.id}]"

    def named(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, heading(hit.chunk), hit.chunk.section)

    def source(self, hit: Hit) -> Hashable:
        """The chunk itself."""
        return hit.chunk.number

    def chunk_id(self, hit: Hit) -> str | None:
        return hit.chunk.id


@dataclass(frozen=True)
class NumberForm(CitationForm):
    """Passages by their places alone. A reader sees the numbers of the answer's references, from ``[1]`` on."""

    def _found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        return None

    def _meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        return MarkMeaning(())

    def mark(self, hit: Hit, place: int) -> str:
        return f"[{place}]"

    def named(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, hit.chunk.title, hit.chunk.section)

    def source(self, hit: Hit) -> Hashable:
        """The chunk itself."""
        return hit.chunk.number

    def chunk_id(self, hit: Hit) -> str | None:
        return hit.chunk.id

    def shown(self, tree: Tree, numbers: Mapping[int, int]) -> Tree:
        def renumbered(node: Inline) -> Inline:
            return replace(node, raw=f"[{numbers[node.chunk]}]") if isinstance(node, Cite) and node.raw else node

        return mapped(tree, lambda run: leaves(run, renumbered))


def _shown_once(run: Run) -> Run:
    """Return ``run`` without the mark of a citation that stands right behind the same mark."""
    flat = [node for node in nodes(run) if not isinstance(node, Styled | Link | Statement)]
    left_out: set[int] = set()
    between: list[int] = []
    last = ""
    for place, node in enumerate(flat):
        if isinstance(node, Cite):
            left_out |= {*between, place} if node.raw and node.raw == last else set()
            last, between = node.raw or last, [] if node.raw else between
        elif isinstance(node, Text) and _BETWEEN.fullmatch(node.text):
            between.append(place)
        else:
            last = ""
    if not left_out:
        return run
    places = count()

    def once(node: Inline) -> Inline:
        if next(places) not in left_out:
            return node
        return replace(node, raw="") if isinstance(node, Cite) else Text("")

    return leaves(run, once)
