"""Citations by number: ``[1]`` means the first passage that the writer saw."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge.model.values import Hit
from rag.answer import tree as t
from rag.answer.forms import ChunkForm
from rag.answer.walk import leaves, mapped
from rag.contract.marks import CLOSE, OPEN, NamedSource

# gpt-oss adds the lines that it read: "\u30101\u2020L1-L3\u3011".
_ONE = r"\d{1,3}(?:\u2020L[\dL-]{1,20})?"


@dataclass(frozen=True)
class NumberForm(ChunkForm):
    """``[1]``, ``[1, 3]``: passages by their places in the context, from 1 on.

    A reader sees the numbers of the answer's references: the first passage that is cited is ``[1]``.
    """

    # What stands in round brackets right behind would make a link of it.
    marks = re.compile(rf"({OPEN}\s*{_ONE}(?:\s*[,;]\s*{_ONE})*\s*{CLOSE})(?:\([^()\s]*\))?")
    number = re.compile(r"(?<![\dL-])\d+")
    apart = True

    def by_number(self, hits: Sequence[Hit]) -> Mapping[int, Hit]:
        return dict(enumerate(hits, start=1))

    def mark(self, number: int) -> str:
        return f"[{number}]"

    def named(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, hit.chunk.title, hit.chunk.section)

    def shown(self, tree: t.Tree, numbers: Mapping[int, int]) -> t.Tree:
        def renumbered(node: t.Inline) -> t.Inline:
            return replace(node, raw=self.mark(numbers[node.chunk])) if isinstance(node, t.Cite) and node.raw else node

        return mapped(tree, lambda run: leaves(run, renumbered))
