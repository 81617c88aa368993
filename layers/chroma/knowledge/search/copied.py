"""Whether a statement was taken from one place, word for word, and whether a number of it was changed on the way.

A statement is aligned, in order, with that sentence, item or row which shares most of its words, by letters alone.
Cosines do not tell a falsehood with one word changed from a paraphrase that is true. What introduces and heads the unit
may give words too, in any order, but none that the unit has in another place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

from knowledge.cut.quote_spans import END, KIND, LEAD_END, LEAD_START, START, Kind
from knowledge.model.claims import Fidelity
from knowledge.search.wording import NOT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from knowledge.search.wording import Wording

LEANS = 0.6
"""From this share of its words on, a statement is a changed copy of the unit that has them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A unit: a ``key`` a word, whether it is ``light`` (a stop word, no negation), whether a clause ``ends`` there.

    ``around`` are the keys of what introduces and heads it.
    """

    keys: Sequence[str]
    light: Sequence[bool]
    ends: Sequence[bool]
    around: frozenset[str]


def nearest(own: Sequence[str], places: Sequence[Place]) -> Place:
    """That of ``places`` (at least one) which has most of the words ``own``; of equals the shortest."""
    words = set(own)
    return max(places, key=lambda place: (len(words.intersection(place.keys)), -len(place.keys)))


def places_of(said: Wording, head: int, table: NDArray[np.int64]) -> Sequence[Place]:
    """The units that ``table`` has of a chunk, whose title and section are the first ``head`` characters ``said``."""
    keys, light = said.keys, [not stem for stem in said.stems]

    def words(first: int, end: int) -> slice:
        return slice(bisect_left(said.starts, first + head), bisect_left(said.starts, end + head))

    rows = table.tolist()
    headings = [row for row in rows if row[KIND] == Kind.HEADING]
    above = frozenset(keys[words(-head, 0)]).union(*(keys[words(row[START], row[END])] for row in headings))
    made = []
    for row in [row for row in rows if row[KIND] != Kind.HEADING] or headings:
        own, lead = words(row[START], row[END]), keys[words(row[LEAD_START], row[LEAD_END])]
        made.append(Place(keys[own], light[own], [*said.ends[own][:-1], True], above.union(lead)))
    return made


def copied(own: Sequence[str], place: Place) -> Fidelity:
    """How the words ``own`` stand to ``place``. A word's key is its stem, or itself where it is a stop word."""
    known = place.around.union(place.keys)
    if 1 - sum(key not in known for key in own) / len(own) < LEANS:  # told without aligning, which costs ten times it
        return Fidelity.REWORDED
    at = _aligned(own, place)
    strange = [n for n, key in enumerate(own) if n not in at and key not in place.around]
    if not at or 1 - len(strange) / len(own) < LEANS:
        return Fidelity.REWORDED
    gaps = list(_gaps(sorted(at.values()), len(place.keys)))
    if _left_out_a_not(place, gaps) or any(_changes(own, n, at, len(place.keys)) for n in strange):
        return Fidelity.CHANGED
    whole = not strange and all(_idle(place, *gap) for gap in gaps) and not _moved(own, place, at, gaps)
    return Fidelity.SAME if whole else Fidelity.REWORDED


def _aligned(own: Sequence[str], place: Place) -> dict[int, int]:
    """Where in ``place`` each word stands that was taken from there."""
    blocks = SequenceMatcher(None, place.keys, own, autojunk=False).get_matching_blocks()
    return {here + step: there + step for there, here, size in blocks for step in range(size)}


def _left_out_a_not(place: Place, gaps: Sequence[tuple[int, int]]) -> bool:
    return any(NOT in place.keys[first:end] for first, end in gaps[1:-1])


def _moved(own: Sequence[str], place: Place, at: Mapping[int, int], gaps: Sequence[tuple[int, int]]) -> bool:
    """Whether a word of a heading was put in that the place leaves out elsewhere, as where two names are exchanged."""
    left = {place.keys[n] for first, end in gaps for n in range(first, end) if not place.light[n]}
    return any(n not in at and key in left for n, key in enumerate(own))


def _changes(own: Sequence[str], n: int, at: Mapping[int, int], size: int) -> bool:
    """Whether a strange word is a negation put in, or a number, or what it counts, in place of others.

    ``at`` has the places of the words that were taken, of ``size``.
    """
    before = max((one for one in at if one < n), default=None)
    after = min((one for one in at if one > n), default=None)
    first, end = -1 if before is None else at[before], size if after is None else at[after]
    counts = own[n][0].isdigit() or (before == n - 1 and own[n - 1][0].isdigit())
    return (own[n] == NOT and before is not None) or (counts and end - first > 1)


def _gaps(taken: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """What lies before, between and behind the words ``taken`` of ``size``; the first and the last may be none."""
    yield 0, taken[0]
    yield from ((one + 1, other) for one, other in pairwise(taken) if other > one + 1)
    yield taken[-1] + 1, size


def _idle(place: Place, first: int, end: int) -> bool:
    """Whether the words from ``first`` to ``end`` can be left out: stop words, the heading's, or whole clauses."""
    if all(place.light[n] or place.keys[n] in place.around for n in range(first, end)):
        return True
    return (first == 0 or place.ends[first - 1]) and place.ends[end - 1]
