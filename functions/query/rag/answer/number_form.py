"""Citations by number: ``[1]`` means the first passage that the writer saw."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.answer import tree as t
from rag.answer.forms import CitationForm
from rag.answer.walk import mapped
from rag.contract.marks import BRACKETS, CLOSE, OPEN, MarkMeaning, NamedSource
from rag.values.answer import Hit

# gpt-oss adds the lines that it read: "\u30101\u2020L1-L3\u3011".
_ONE = r"\d{1,3}(?:\u2020L[\dL-]{1,20})?"
# What stands in round brackets right behind would make a link of it.
_MARK = re.compile(rf"({OPEN}\s*{_ONE}(?:\s*[,;\u2013-]\s*{_ONE})*\s*{CLOSE})(?:\([^()\s]*\))?")
_RANGE = re.compile(r"(\d+)(?:\u2020L[\dL-]+)?(?:\s*[\u2013-]\s*(\d+))?")


@dataclass(frozen=True)
class NumberForm(CitationForm):
    """``[1]``, ``[1, 3]``, ``[1-3]``: passages by their places in the context, from 1 on.

    A reader sees the numbers of the answer's references: the first passage that is cited is ``[1]``.
    """

    opens: str = BRACKETS
    draws_on: float | None = None

    def found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        mark = _MARK.match(text, start, end)
        return (mark.end(), mark[1]) if mark else None

    def meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        """``hits`` are in the order of the context."""
        numbers = tuple(dict.fromkeys(_numbers(mark, len(hits))))
        known = [number for number in numbers if 1 <= number <= len(hits)]
        named = tuple(self.named(hits[number - 1], f"[{number}]") for number in known)
        return MarkMeaning(named, len(numbers) - len(known), changed=mark not in {one.raw for one in named})

    def source(self, hit: Hit) -> Hashable:
        """The chunk itself."""
        return hit.chunk.number

    def named(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, hit.chunk.title, hit.chunk.section)

    def chunk_id(self, hit: Hit) -> str | None:
        return hit.chunk.id

    def shown(self, tree: t.Tree, numbers: Mapping[int, int]) -> t.Tree:
        return mapped(tree, lambda run: tuple(_renumbered(run, numbers)))


def _numbers(mark: str, most: int) -> Iterator[int]:
    """The numbers in a mark; of a range no more than ``most`` and the one behind them."""
    for first, last in _RANGE.findall(mark):
        yield from range(int(first), max(int(first), min(int(last or first), most + 1)) + 1)


def _renumbered(run: t.Run, numbers: Mapping[int, int]) -> Iterator[t.Inline]:
    for node in run:
        if isinstance(node, t.Cite) and node.raw:
            yield replace(node, raw=f"[{numbers[node.chunk]}]")
        elif isinstance(node, t.Styled | t.Link | t.Statement):
            yield replace(node, children=tuple(_renumbered(node.children, numbers)))
        else:
            yield node
