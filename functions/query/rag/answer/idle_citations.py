"""Citations that bear nothing out go: no page stands behind what it does not say.

A citation is idle where its passage does not bear out, not even in part, any statement that it stands behind, and is
not needed for it: another passage alone bears that out as well as all that it cites together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from knowledge.model.claims import Claim, SupportVerdict
from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer import tree as t
from rag.answer.references import tidied
from rag.answer.statements import Unit
from rag.answer.walk import all_nodes, joined, mapped
from rag.ports.index import OpenIndex


@dataclass(frozen=True, slots=True)
class KeptCitations:
    """A ``tree`` without the citations that were idle; so many of those that the writer put there are ``removed``."""

    tree: t.Tree = ()
    removed: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the trail says."""
        few = "a citation that bears" if self.removed == 1 else f"{self.removed} citations that bear"
        return (f"removed {few} no statement out",) if self.removed else ()


def without_idle(
    tree: t.Tree, units: Sequence[Unit], borne: Sequence[SupportVerdict], index: OpenIndex, left: Sequence[Unit] = ()
) -> KeptCitations:
    """``tree`` without idle citations; ``borne`` tells how each of ``units`` is borne out, nobody knows it of ``left``.

    What no unit refers to, as in a heading or a list of sources at the end, is held against all of them; it stays where
    some were ``left``, as do their own.
    """
    held, idle = {id(cite) for unit in left for cite in written(unit)}, dict[int, t.Cite]()
    for unit, one in zip(units, borne, strict=True):
        here = _idle(unit, one)
        idle |= here
        held |= {id(cite) for cite in written(unit)} - here.keys()
    if not left:
        every = (node for node in all_nodes(tree) if isinstance(node, t.Cite) and node.written)
        stray = [cite for cite in every if id(cite) not in held | idle.keys()]
        idle |= {id(cite): cite for cite in _idle_everywhere(stray, units, index)}
    gone = idle.keys() - held
    if not gone:
        return KeptCitations(tree)
    return KeptCitations(mapped(tree, lambda run: _without(run, gone)), sum(idle[key].written for key in gone))


def _idle(unit: Unit, one: SupportVerdict) -> dict[int, t.Cite]:
    drawn = [cite for cite in unit.cites if not cite.written]  # found by the words of what they stand behind
    idle = [cite for cite in written(unit) if not _is_needed(cite, unit, one)]
    idle += [cite for cite in drawn if _chance(cite, one) < PARTIAL]
    return {id(cite): cite for cite in idle}


def _is_needed(cite: t.Cite, unit: Unit, one: SupportVerdict) -> bool:
    own, best = one.own or 0.0, max((bearing.chance for bearing in one.each), default=0.0)
    bears = _chance(cite, one) >= PARTIAL or _grade(own) > _grade(best)
    return bears or (bool(unit.cites) and own < PARTIAL and best >= SUPPORTED)  # the latter: its place is another one's


def _idle_everywhere(stray: Sequence[t.Cite], units: Sequence[Unit], index: OpenIndex) -> list[t.Cite]:
    if not stray:
        return []
    chunks = dict.fromkeys(number for cite in stray for number in cite.among)
    borne = index.support([Claim(unit.claim, ()) for unit in units], list(chunks))
    return [cite for cite in stray if all(_chance(cite, one) < PARTIAL for one in borne)]


def written(unit: Unit) -> list[t.Cite]:
    """The citations that the writer put behind a unit, or that one without any may mean."""
    return [cite for cite in unit.cites or unit.shared if cite.written]


def _grade(chance: float) -> int:
    return (chance >= PARTIAL) + (chance >= SUPPORTED)


def _chance(cite: t.Cite, borne: SupportVerdict) -> float:
    return max((one.chance for one in borne.each if one.number in cite.among), default=0.0)


def _without(run: t.Run, gone: Collection[int]) -> t.Run:
    found: list[t.Inline] = []
    rest = list(run)
    while rest:
        node = rest.pop(0)
        if isinstance(node, t.Styled | t.Link | t.Statement) and node.children:
            node = replace(node, children=_without(node.children, gone))
            is_gone = not node.children
        else:
            is_gone = id(node) in gone
        if is_gone:
            tidied(found, rest)
        else:
            found.append(node)
    return joined(found)
