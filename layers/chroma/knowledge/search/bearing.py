"""Which chunks bear out which claims, and with which of their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from knowledge.claims import Bearing, Borne, Claim
from knowledge.search.support import SUPPORTED, probability

if TYPE_CHECKING:
    from knowledge.search.support import Held


def support(claims: Sequence[Claim], places: Mapping[int, int], among: Sequence[int], held: Held) -> tuple[Borne, ...]:
    """See ``Index.support``; ``held`` has the texts of ``claims``, and chunk number ``n`` at ``places[n]``."""
    return tuple(_borne(number, claim, places, among, held) for number, claim in enumerate(claims))


def _borne(number: int, claim: Claim, places: Mapping[int, int], among: Sequence[int], held: Held) -> Borne:
    own = sorted({places[chunk] for chunk in claim.chunks})
    together = probability(held.signals(number, own)) if own else None
    known = {own[0]: together} if len(own) == 1 and together is not None else {}
    looked = dict.fromkeys(claim.chunks) if together is not None and together >= SUPPORTED else dict.fromkeys(among)

    def alone(chunk: int) -> Bearing:
        place = places[chunk]
        chance = known.get(place)
        chance = probability(held.signals(number, [place])) if chance is None else chance
        return Bearing(chunk, chance, *held.nearest(number, place))

    return Borne(together, tuple(map(alone, looked)))
