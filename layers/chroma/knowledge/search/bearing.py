"""Which chunks bear out which claims, and with which of their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from knowledge.model.claims import ChunkSupport, Claim, Fidelity, SupportVerdict
from knowledge.search.support import PARTIAL, SUPPORTED, probability

if TYPE_CHECKING:
    from knowledge.search.support import StatementComparison

MOST_CHANGED = PARTIAL / 2
"""Highest chance (0..1) of a claim that has another number, or negation, than the place that it was taken from."""


def support(
    claims: Sequence[Claim], places: Mapping[int, int], among: Sequence[int], held: StatementComparison
) -> tuple[SupportVerdict, ...]:
    """See ``Index.support``; ``held`` has the texts of ``claims``, and chunk number ``n`` at ``places[n]``."""
    return tuple(_borne(number, claim, places, among, held) for number, claim in enumerate(claims))


def _borne(
    number: int, claim: Claim, places: Mapping[int, int], among: Sequence[int], held: StatementComparison
) -> SupportVerdict:
    def alone(chunk: int) -> ChunkSupport:
        place = places[chunk]
        how = held.copied(number, place)
        chance = _held_down(probability(held.signals(number, [place])), how)
        return ChunkSupport(chunk, chance, *held.nearest(number, place), how)

    each = {chunk: alone(chunk) for chunk in claim.chunks}
    together = max((one.chance for one in each.values()), default=None)
    own = sorted({places[chunk] for chunk in claim.chunks})
    if len(own) > 1:
        chance = probability(held.signals(number, own))
        together = _held_down(chance, max(one.copied for one in each.values()))
    if together is None or together < SUPPORTED:
        each |= {chunk: each.get(chunk) or alone(chunk) for chunk in among}
    return SupportVerdict(together, tuple(each.values()))


def _held_down(chance: float, how: Fidelity) -> float:
    """A copy with another number bears nothing out, however much the rest of it agrees."""
    return min(chance, MOST_CHANGED) if how is Fidelity.CHANGED else chance
