"""How many votes came from one session within its hour, and whether one more is taken: the same in every store.

The hour begins with a vote and ends by itself: what has expired counts as nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag.adapters.store_format import expiry
from rag.errors import TooManyVotes

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class VoteCount:
    """``given`` votes until the Unix second ``until``, at which the hour ends."""

    given: int
    until: int


def one_more(before: VoteCount | None, *, now: float, per_hour: int) -> VoteCount:
    """The count with one vote more than ``before``, at the Unix second ``now``; more than ``per_hour`` are not taken.

    Raises:
        TooManyVotes: so many were given.
    """
    if before is None or before.until <= now:
        return VoteCount(1, expiry(now, HOUR_S))
    if before.given >= per_hour:
        raise TooManyVotes(per_hour, retry_after=before.until - now)
    return VoteCount(before.given + 1, before.until)
