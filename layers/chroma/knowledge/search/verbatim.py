"""Test for verbatim claims: the words of a claim stand in one unit of a chunk, in the same order.

The unit is the sentence, list item or table row that shares most words with the claim. Words are compared by letters,
since cosines do not separate a falsehood with one changed word from a true paraphrase. The claim may also use words of
the unit's headings and lead-in, in any order, unless it leaves out the same word elsewhere in the unit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knowledge.cut.units import END, KIND, LEAD_END, LEAD_START, START, UnitKind
from knowledge.search.wording import Wording


@dataclass(frozen=True, slots=True)
class UnitWording:
    """The words of a unit, one entry each.

    ``keys`` are stems, or stop words as they are; ``light`` marks stop words except negations; ``ends`` marks the last
    word of a clause. ``around`` has the keys of the unit's title, headings and lead-in.
    """

    keys: Sequence[str]
    light: Sequence[bool]
    ends: Sequence[bool]
    around: frozenset[str]


def nearest_unit(own: Sequence[str], places: Sequence[UnitWording]) -> UnitWording:
    """Return the unit of ``places`` (at least one) with most of the words ``own``; of equals the shortest."""
    words = set(own)
    return max(places, key=lambda place: (len(words.intersection(place.keys)), -len(place.keys)))


def unit_wordings(chunk: Wording, head: int, table: NDArray[np.int64]) -> Sequence[UnitWording]:
    """Return the units in ``table`` of a ``chunk`` whose title and section are the first ``head`` characters."""
    keys, light = chunk.keys, [not stem for stem in chunk.stems]

    def words(first: int, end: int) -> slice:
        return slice(bisect_left(chunk.starts, first + head), bisect_left(chunk.starts, end + head))

    rows = table.tolist()
    headings = [row for row in rows if row[KIND] == UnitKind.HEADING]
    above = frozenset(keys[words(-head, 0)]).union(*(keys[words(row[START], row[END])] for row in headings))
    wordings = []
    for row in [row for row in rows if row[KIND] != UnitKind.HEADING] or headings:
        own, lead = words(row[START], row[END]), keys[words(row[LEAD_START], row[LEAD_END])]
        wordings.append(UnitWording(keys[own], light[own], [*chunk.ends[own][:-1], True], above.union(lead)))
    return wordings


def is_verbatim(own: Sequence[str], place: UnitWording) -> bool:
    """Return whether a claim with the keys ``own`` is verbatim in ``place``; it may omit clauses and stop words."""
    if not place.around.union(place.keys).issuperset(own):  # ten times as fast as an alignment
        return False
    blocks = SequenceMatcher(None, place.keys, own, autojunk=False).get_matching_blocks()
    at = {here + step: there + step for there, here, size in blocks for step in range(size)}
    if not at or any(n not in at and key not in place.around for n, key in enumerate(own)):
        return False
    gaps = list(_gaps(sorted(at.values()), len(place.keys)))
    if not all(_is_omissible(place, *gap) for gap in gaps):
        return False
    # A word of the heading that the unit has where it was left out: two names were exchanged.
    omitted = {place.keys[n] for first, end in gaps for n in range(first, end) if not place.light[n]}
    return not any(n not in at and key in omitted for n, key in enumerate(own))


def _gaps(taken: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Yield the gaps before, between and behind the words ``taken`` of ``size``; the outer ones may be empty."""
    yield 0, taken[0]
    yield from ((one + 1, other) for one, other in pairwise(taken) if other > one + 1)
    yield taken[-1] + 1, size


def _is_omissible(place: UnitWording, first: int, end: int) -> bool:
    """Return whether a claim may omit the words ``first`` to ``end``: stop words, headings' words or whole clauses."""
    if all(place.light[n] or place.keys[n] in place.around for n in range(first, end)):
        return True
    return (first == 0 or place.ends[first - 1]) and place.ends[end - 1]
