"""How much of a long list a run tries: the gate a fixed tenth, `make nightly` all of it.

What is made at random comes from a seed: the gate's is always the same, a nightly run draws its own and says it at its
end, so that `SEED=... make nightly` tries the same again.
"""

import os
from collections.abc import Iterable
from random import Random

NIGHTLY = bool(os.environ.get("NIGHTLY"))
SEED = os.environ.get("SEED", "gate")
"""`make nightly` sets it."""


def tenth[T](cases: Iterable[T], least: int = 20) -> list[T]:
    """A tenth of ``cases`` in their order, at least ``least`` of them, the same ones each time; in a nightly run all.

    They are drawn and not counted off, for a list that is a product of others repeats itself.
    """
    every = list(cases)
    if NIGHTLY or len(every) <= least:
        return every
    drawn = Random(f"tenth of {len(every)}").sample(range(len(every)), max(least, len(every) // 10))
    return [every[at] for at in sorted(drawn)]


def by_night[T](gate: T, night: T) -> T:
    """``night`` in a nightly run, else ``gate``: how much of a set is asked, or which sets."""
    return night if NIGHTLY else gate


def times(gate: int) -> int:
    """How often to draw where the gate draws ``gate`` times."""
    return gate * 10 if NIGHTLY else gate


def rng(name: str) -> Random:
    """The numbers of ``name``'s draw: the same ones for the same name and seed."""
    return Random(f"{SEED} {name}")
