"""What is quoted of some passages: the run of units that answers first, then one that adds something."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import numpy as np

from knowledge.search.units import (
    END,
    END_TOKEN,
    FIRST_TOKEN,
    KIND,
    LEAD_END,
    LEAD_END_TOKEN,
    LEAD_FIRST_TOKEN,
    LEAD_START,
    START,
    Kind,
)
from rag.stages.write.runs import CHAR_COST, CHUNK_SHARE, LISTED, Runs, Units, runs_of, units_of
from rag.values.answer import Passage, Quote

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_CHARS = 600
SECOND_CHARS = 400
ELSEWHERE = 0.03
LEAST_VALUE, LEAST_GAIN = 0.02, 0.005
"""A second run is worth the weight that it covers beyond the first one (``LEAST_GAIN`` or more), less its length and
what its chunk's score is behind, and ``ELSEWHERE`` more in another passage: the answer may not be in the best one. It
is quoted from ``LEAST_VALUE`` on. SQuAD's gold spans in the answer, its median length, and answers with two runs: at 0
.888, 306 characters, 42 %; at .02 .875, 270, 25 %; at .06 .853, 254, 4 %."""
LEAST_OWN = 0.05
"""Weight of the question that a part of a list must cover beyond what heads it, to be quoted without the rest."""
BLOCKS = (Kind.ROW, Kind.CODE)
"""Nothing else may stand on their last line."""


def excerpts(
    passages: Sequence[Passage], weights: NDArray[np.float32], without: Container[int] = ()
) -> tuple[Quote, ...]:
    """One or two excerpts, the one that answers first; none where the passages have no units.

    ``weights`` are those of the question's pieces, shape (m,). Nothing is quoted of the places ``without``.
    """
    units = units_of(passages, without)
    if units is None:
        return ()
    scores = np.array([passage.hit.score for passage in passages], dtype=np.float32)
    runs = runs_of(units, weights, scores, FIRST_CHARS)
    best = int(np.argmax(runs.worth))
    spans = [(int(runs.first[best]), int(runs.last[best]))]
    second = _second(runs, best, weights, units, scores - scores.max())
    if second is not None:
        spans.append((int(runs.first[second]), int(runs.last[second])))
    whole = [_widened(passages, units, weights, first, last) for first, last in _joined(spans, units)]
    return tuple(_excerpt(passages, units, first, last) for first, last in dict.fromkeys(whole))


def best_covers(passages: Sequence[Passage], weights: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """How well the run that answers first covers each piece of the question, shape (m,); None where there is none."""
    units = units_of(passages)
    if units is None:
        return None
    scores = np.array([passage.hit.score for passage in passages], dtype=np.float32)
    runs = runs_of(units, weights, scores, FIRST_CHARS)
    covers: NDArray[np.float32] = runs.covers[np.argmax(runs.worth)]
    return covers


def _second(
    runs: Runs, best: int, weights: NDArray[np.float32], units: Units, behind: NDArray[np.float32]
) -> int | None:
    """The run that adds most to the ``best`` one; None where none adds enough. ``behind`` is that of the passages."""
    passage = units.passage[runs.first]
    apart = (runs.last < runs.first[best]) | (runs.first > runs.last[best])
    gain = (np.maximum(runs.covers, runs.covers[best]) - runs.covers[best]) @ weights
    value = gain + CHUNK_SHARE * behind[passage] - CHAR_COST * runs.chars + ELSEWHERE * (passage != passage[best])
    value[~apart | (runs.chars > SECOND_CHARS) | (gain < LEAST_GAIN)] = -np.inf
    second = int(np.argmax(value))
    return second if value[second] > LEAST_VALUE else None


def _joined(spans: list[tuple[int, int]], units: Units) -> list[tuple[int, int]]:
    """``spans``, or the one that they are together where one goes on with the other."""
    (first, last), *others = sorted(spans)
    for then, end in others:
        if then == last + 1 and units.goes_on[then]:
            return [(first, end)]
    return spans


def _widened(
    passages: Sequence[Passage], units: Units, weights: NDArray[np.float32], first: int, last: int
) -> tuple[int, int]:
    """The whole list or table instead of a part that says no more of the question than what stands above it does."""
    kind = units.table[:, KIND]
    start, end = first, first
    while kind[start] in LISTED and units.goes_on[start] and kind[start - 1] == kind[start]:
        start -= 1
    while kind[end] in LISTED and end + 1 < len(kind) and units.goes_on[end + 1] and kind[end + 1] == kind[end]:
        end += 1
    match = passages[int(units.passage[first])].hit.match
    if match is None or last > end or units.table[end, END] - units.table[start, START] > FIRST_CHARS:
        return first, last
    row = units.table[first]
    lead = match.similarities[:, row[LEAD_FIRST_TOKEN] : row[LEAD_END_TOKEN]].max(axis=1, initial=0)
    own = match.similarities[:, row[FIRST_TOKEN] : units.table[last, END_TOKEN]].max(axis=1, initial=0)
    context = np.maximum(lead, units.above[first])
    return (start, end) if (np.maximum(own, context) - context) @ weights < LEAST_OWN else (first, last)


def _excerpt(passages: Sequence[Passage], units: Units, first: int, last: int) -> Quote:
    place = int(units.passage[first])
    text = passages[place].text
    start, end = int(units.table[first, START]), int(units.table[last, END])
    lead_start, lead_end = int(units.table[first, LEAD_START]), int(units.table[first, LEAD_END])
    quoted = _outdented(text, start, end)
    if lead_end > lead_start:
        goes_on = not text[lead_end:start].strip()
        lead = _outdented(text, lead_start, lead_end)
        quoted = _outdented(text, lead_start, end) if goes_on else f"{lead}\n{quoted}"
    return Quote(place, quoted, int(units.table[last, KIND]) in BLOCKS)


def _outdented(text: str, start: int, end: int) -> str:
    """``text[start:end]``, its further lines moved to the left as far as its first one is by being cut out."""
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    quoted = text[start:end]
    return quoted if not indent or indent.strip() else quoted.replace(f"\n{indent}", "\n")
