"""Unused citations are dropped: a page that does not say a statement stands behind none that another page supports.

A citation is unused if its passage does not support, even partly, any claim it is attached to, while another citation
of the same claim does. The only citations of a claim stay, however little they say of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from knowledge.model.claims import Claim, ClaimSupport
from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer import tree as t
from rag.answer.references import tidied
from rag.answer.statements import Unit
from rag.answer.tree import map_runs, merge_text, walk
from rag.ports.index import OpenIndex


@dataclass(frozen=True, slots=True)
class CitationPruning:
    """A ``tree`` without unused citations; ``removed`` counts those of them that the writer put there."""

    tree: t.Tree = ()
    removed: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """The line of the trail."""
        few = "a citation" if self.removed == 1 else f"{self.removed} citations"
        return (f"removed {few} that supported no statement",) if self.removed else ()


def drop_unused_citations(
    tree: t.Tree,
    units: Sequence[Unit],
    supports: Sequence[ClaimSupport],
    index: OpenIndex,
    unchecked: Sequence[Unit] = (),
) -> CitationPruning:
    """Return ``tree`` without unused citations; ``supports`` are those of ``units``.

    What no unit refers to, as in a heading or a list of sources at the end, is compared with all of them; it stays
    where some units are ``unchecked``, as do their own.
    """
    kept, unused = {id(cite) for unit in unchecked for cite in explicit_citations(unit)}, dict[int, t.Cite]()
    for unit, support in zip(units, supports, strict=True):
        here = {id(cite): cite for cite in _unused(unit, support)}
        unused |= here
        kept |= {id(cite) for cite in explicit_citations(unit)} - here.keys()
    if not unchecked:
        every = (node for node in walk(tree) if isinstance(node, t.Cite) and node.is_explicit)
        orphaned = [cite for cite in every if id(cite) not in kept | unused.keys()]
        unused |= {id(cite): cite for cite in _unused_anywhere(orphaned, units, index)}
    removed = unused.keys() - kept
    if not removed:
        return CitationPruning(tree)
    return CitationPruning(
        map_runs(tree, lambda run: _without(run, removed)), sum(unused[key].is_explicit for key in removed)
    )


def _unused(unit: Unit, support: ClaimSupport) -> list[t.Cite]:
    written, by_overlap = explicit_citations(unit), [cite for cite in unit.cites if not cite.is_explicit]
    cited, best = support.cited or 0.0, max((one.chance for one in support.each), default=0.0)
    weak = [cite for cite in written if _chance(cite, support) < PARTIAL]
    only_together = _grade(cited) > _grade(best)
    if only_together or (unit.cites and len(weak) == len(written)):
        weak = []  # they are all that it has, or another passage takes their place
    return [*weak, *(cite for cite in by_overlap if _chance(cite, support) < PARTIAL)]


def _unused_anywhere(orphaned: Sequence[t.Cite], units: Sequence[Unit], index: OpenIndex) -> list[t.Cite]:
    if not orphaned:
        return []
    chunks = dict.fromkeys(number for cite in orphaned for number in cite.candidates)
    supports = index.support([Claim(unit.claim) for unit in units], list(chunks))
    return [cite for cite in orphaned if all(_chance(cite, support) < PARTIAL for support in supports)]


def explicit_citations(unit: Unit) -> list[t.Cite]:
    """Return the citations that the writer put behind a unit, or that one without any may mean."""
    return [cite for cite in unit.cites or unit.shared if cite.is_explicit]


def _grade(chance: float) -> int:
    return (chance >= PARTIAL) + (chance >= SUPPORTED)


def _chance(cite: t.Cite, support: ClaimSupport) -> float:
    return max((one.chance for one in support.each if one.number in cite.candidates), default=0.0)


def _without(run: t.Run, removed: Collection[int]) -> t.Run:
    found: list[t.Inline] = []
    rest = list(run)
    while rest:
        node = rest.pop(0)
        if isinstance(node, t.Styled | t.Link | t.ClaimSpan) and node.children:
            node = replace(node, children=_without(node.children, removed))
            is_removed = not node.children
        else:
            is_removed = id(node) in removed
        if is_removed:
            tidied(found, rest)
        else:
            found.append(node)
    return merge_text(found)
