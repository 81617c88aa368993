"""Whether a claim stands in one place of a chunk, word for word.

A claim is aligned, in order, with that sentence, item or row which shares most of its words, by letters alone: cosines
do not tell a falsehood with one word changed from a paraphrase that is true. What introduces and heads the unit may
give words too, in any order, but none that the unit has in another place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

from knowledge.cut.units import END, KIND, LEAD_END, LEAD_START, START, UnitKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from knowledge.search.wording import Wording


@dataclass(frozen=True, slots=True)
class UnitWording:
    """A unit: a ``key`` a word, whether it is ``light`` (a stop word, no negation), whether a clause ``ends`` there.

    ``around`` are the keys of what introduces and heads it.
    """

    keys: Sequence[str]
    light: Sequence[bool]
    ends: Sequence[bool]
    around: frozenset[str]


def nearest_unit(own: Sequence[str], places: Sequence[UnitWording]) -> UnitWording:
    """That of ``places`` (at least one) which has most of the words ``own``; of equals the shortest."""
    words = set(own)
    return max(places, key=lambda place: (len(words.intersection(place.keys)), -len(place.keys)))


def unit_wordings(said: Wording, head: int, table: NDArray[np.int64]) -> Sequence[UnitWording]:
    """The units that ``table`` has of a chunk, whose title and section are the first ``head`` characters ``said``."""
    keys, light = said.keys, [not stem for stem in said.stems]

    def words(first: int, end: int) -> slice:
        return slice(bisect_left(said.starts, first + head), bisect_left(said.starts, end + head))

    rows = table.tolist()
    headings = [row for row in rows if row[KIND] == UnitKind.HEADING]
    above = frozenset(keys[words(-head, 0)]).union(*(keys[words(row[START], row[END])] for row in headings))
    made = []
    for row in [row for row in rows if row[KIND] != UnitKind.HEADING] or headings:
        own, lead = words(row[START], row[END]), keys[words(row[LEAD_START], row[LEAD_END])]
        made.append(UnitWording(keys[own], light[own], [*said.ends[own][:-1], True], above.union(lead)))
    return made


def is_verbatim(own: Sequence[str], place: UnitWording) -> bool:
    """Whether ``own`` are the words of ``place``, without omissions except whole clauses and stop words.

    A word's key is its stem, or itself where it is a stop word.
    """
    if not place.around.union(place.keys).issuperset(own):  # told without aligning, which costs ten times it
        return False
    blocks = SequenceMatcher(None, place.keys, own, autojunk=False).get_matching_blocks()
    at = {here + step: there + step for there, here, size in blocks for step in range(size)}
    if not at or any(n not in at and key not in place.around for n, key in enumerate(own)):
        return False
    gaps = list(_gaps(sorted(at.values()), len(place.keys)))
    return all(_is_omissible(place, *gap) for gap in gaps) and not _is_word_swapped(own, place, at, gaps)


def _is_word_swapped(
    own: Sequence[str], place: UnitWording, at: Mapping[int, int], gaps: Sequence[tuple[int, int]]
) -> bool:
    """Whether a word of a heading was put in that the place leaves out elsewhere, as where two names are exchanged."""
    left = {place.keys[n] for first, end in gaps for n in range(first, end) if not place.light[n]}
    return any(n not in at and key in left for n, key in enumerate(own))


def _gaps(taken: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """What lies before, between and behind the words ``taken`` of ``size``; the first and the last may be none."""
    yield 0, taken[0]
    yield from ((one + 1, other) for one, other in pairwise(taken) if other > one + 1)
    yield taken[-1] + 1, size


def _is_omissible(place: UnitWording, first: int, end: int) -> bool:
    """Whether the words from ``first`` to ``end`` can be left out: stop words, the heading's, or whole clauses."""
    if all(place.light[n] or place.keys[n] in place.around for n in range(first, end)):
        return True
    return (first == 0 or place.ends[first - 1]) and place.ends[end - 1]
