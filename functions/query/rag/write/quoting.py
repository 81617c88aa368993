"""What is quoted of some passages: the run of units that answers first, then one that adds something."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from knowledge.cut.quote_spans import END, KIND, LEAD_END, LEAD_START, START, Kind
from rag.values.answer import Passage
from rag.values.chat import Quote
from rag.write.runs import CHAR_COST, CHUNK_SHARE, Runs, Units, runs_of, units_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_CHARS = 600
SECOND_CHARS = 400
LEAST_VALUE, LEAST_GAIN = 0.0, 0.005
"""A second run is worth the weight that it covers beyond the first one (``LEAST_GAIN`` or more), less its length and
what its chunk's score is behind. It is quoted from ``LEAST_VALUE`` on. SQuAD's gold spans in the answer, its median
length, and answers with two runs: at -.08 .875, 400 characters, 59 %; at -.05 .875, 378, 47 %; at 0 .868, 318, 25 %; at
.02 .850, 298, 10 %. Right answers to 82 questions about three documentation sites: at -.05 55, at 0 52, at .02 50.
Below 0 a conversation about something else changes more of the second quotes: 24 of 100 at -.02, 28 at -.05."""
ENOUGH_CHARS, MOST_CHARS = 200, 400
"""A run that is shorter goes on with what comes next, since what answers often stands behind what repeats the question,
and code behind its step. Without this (and a second run from -.05 on) SQuAD has .870 instead of .875, ClapNQ's
supporting sentences .506 instead of .531, the three sites 51 instead of 55."""
BLOCKS = (Kind.ROW, Kind.CODE)
"""Nothing else may stand on their last line."""


def excerpts(
    passages: Sequence[Passage],
    weights: NDArray[np.float32],
    without: Container[int] = (),
    named: Mapping[int, int] = MappingProxyType({}),
    is_named_row: Callable[[str], bool] = lambda _: False,
) -> tuple[Quote, ...]:
    """One or two excerpts, the one that answers first; none where the passages have no units.

    ``weights`` are those of the question's pieces, shape (m,). Nothing is quoted of the places ``without``. Where the
    question names entries, whose headings begin at the values of ``named``, it is quoted of these places alone: from
    the heading on, if what answers is not too far below it. Else rows go before that ``is_named_row`` knows.
    """
    others = [place for place in range(len(passages)) if place in without or place not in named]
    units = units_of(passages, others) if named else None
    if units is None:
        named, units = {}, units_of(passages, without)
    if units is None:
        return ()
    scores = np.array([passage.hit.score for passage in passages], dtype=np.float32)
    runs = runs_of(units, weights, scores, FIRST_CHARS)
    rows = () if named else _rows(passages, units, is_named_row)
    worth = np.where(np.isin(runs.first, rows) & (runs.first == runs.last), runs.worth + 1, runs.worth)
    best = int(np.argmax(worth))
    first, last = _grown(units, int(runs.first[best]), int(runs.last[best]))
    spans = _from_the_opening(units, first, last) if named else [(first, last)]
    first, last = spans[0]
    covers = np.maximum(runs.covers[best], units.covers[first : last + 1].max(axis=0))
    second = _second(runs, (first, last), covers, weights, units.passage, scores - scores.max())
    if second is not None and len(spans) == 1:
        spans.append((int(runs.first[second]), int(runs.last[second])))
    return tuple(_excerpt(passages, units, first, last, named) for first, last in _joined(spans, units))


def _rows(passages: Sequence[Passage], units: Units, is_named: Callable[[str], bool]) -> list[int]:
    """The units that are rows of tables and ``is_named``."""
    spans = units.table[:, [START, END]].tolist()
    rows = np.flatnonzero(units.table[:, KIND] == Kind.ROW).tolist()
    return [row for row in rows if is_named(passages[int(units.passage[row])].text[slice(*spans[row])])]


def best_covers(passages: Sequence[Passage], weights: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """How well the run that answers first covers each piece of the question, shape (m,); None where there is none."""
    units = units_of(passages)
    if units is None:
        return None
    scores = np.array([passage.hit.score for passage in passages], dtype=np.float32)
    runs = runs_of(units, weights, scores, FIRST_CHARS)
    covers: NDArray[np.float32] = runs.covers[np.argmax(runs.worth)]
    return covers


def _grown(units: Units, first: int, last: int) -> tuple[int, int]:
    """One item or row as its whole list or table of up to ``FIRST_CHARS``; a short run with what comes after it."""
    whole = int(units.list_first[first]), int(units.list_last[first])
    if first == last and whole[0] < whole[1]:
        if units.chars(*whole) > FIRST_CHARS:
            return first, last
        first, last = whole
    while units.chars(first, last) < ENOUGH_CHARS:
        then = _next(units, last)
        if then is None or units.chars(first, then) > MOST_CHARS:
            break
        last = then
    return first, last


def _from_the_opening(units: Units, first: int, last: int) -> list[tuple[int, int]]:
    """The run from where its entry begins, which says what it is; that apart where it is too far above the run."""
    opening = first
    while opening and units.goes_on[opening] and not units.opens[opening]:
        opening -= 1
    if not units.opens[opening] or opening == first:
        return [(first, last)]
    if units.chars(opening, last) <= FIRST_CHARS:
        return [(opening, last)]
    return [(opening, min(_grown(units, opening, opening)[1], first - 1)), (first, last)]


def _next(units: Units, last: int) -> int | None:
    """Where a run that ends with unit ``last`` may end next; None where its section or chunk is over."""
    while last + 1 < len(units.table) and units.goes_on[last + 1]:
        last = int(units.list_last[last + 1])
        if not units.announces[last]:
            return last
    return None


def _second(
    runs: Runs,
    span: tuple[int, int],
    covers: NDArray[np.float32],
    weights: NDArray[np.float32],
    passage: NDArray[np.int64],
    behind: NDArray[np.float32],
) -> int | None:
    """The run that adds most to ``span``, which ``covers`` so much of each piece; None where none adds enough.

    ``passage`` is each unit's, ``behind`` how far each passage's score is below the best one's.
    """
    first, last = span
    apart = (runs.last < first) | (runs.first > last)
    gain = (np.maximum(runs.covers, covers) - covers) @ weights
    value = gain + CHUNK_SHARE * behind[passage[runs.first]] - CHAR_COST * runs.chars
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


def _excerpt(passages: Sequence[Passage], units: Units, first: int, last: int, headings: Mapping[int, int]) -> Quote:
    place = int(units.passage[first])
    text = passages[place].text
    start, end = int(units.table[first, START]), int(units.table[last, END])
    if place in headings and units.opens[first]:
        return Quote(place, text[headings[place] : end], int(units.table[last, KIND]) in BLOCKS)
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
