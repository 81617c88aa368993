"""Runs of quotable units of the packed passages, scored by the similarities of their tokens with the question.

A run is a row of neighbouring units of one section. With the question's word pieces i, their weights w (sum 1) and the
similarities s_ij of piece i and token j, a run is worth

    sum_i w_i max(max_{j in run and its lead} s_ij, .6 max_{j in its headings} s_ij)
    + .5 (its chunk's score - the best chunk's) - .00007 a character

so that of equal runs the shorter one wins. Announced code costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from knowledge.cut import units as column
from knowledge.model.values import KEYWORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Match
    from rag.values.answer import Passage

HEADING_SHARE, CHUNK_SHARE, CHAR_COST = 0.6, 0.5, np.float32(0.00007)
SHOWN_CODE = np.float32(0.07)
"""Bonus of a run with code that it announces, whose length is free: of 36 questions to the documentation of FastAPI and
Hugo 26 are right, and 25 without; of ten that ask for code 4 and 2; the answers of the samples stay."""
RUN_CHARS = 600
COLONS = ":\uff1a"
_EMPHASIS = re.compile(r"\*[^*\n][^*]*\*|_[^_\n][^_]*_")
"""An emphasised paragraph at the end of a section is an aside in 18 of 22 cases on 18F's handbook, Hugo's site and
Jekyll's: a disclaimer, a signature, a link back. Without this the samples' disclaimers are quoted in 22 of 407
answers."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """n quotable units of passages, in reading order.

    ``table`` has the rows of ``Match.units``, ``passage`` the place of each unit's passage; ``goes_on``: the unit
    follows another one of its section. ``covers`` are the best similarities of unit and lead with the m pieces of the
    question, shape (n, m), ``above`` those of the title and the heading above. ``announces``: the unit ends with a
    colon, and no run ends there. ``shown``: the unit is a part of code that is announced.
    """

    table: NDArray[np.int64]
    passage: NDArray[np.int64]
    goes_on: NDArray[np.bool_]
    covers: NDArray[np.float32]
    above: NDArray[np.float32]
    announces: NDArray[np.bool_]
    shown: NDArray[np.bool_]

    def chars(self, first: NDArray[np.int64] | int, last: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Return the characters of the runs from ``first`` to ``last``, with the leads of their first units."""
        of, to = self.table[first], self.table[last]
        lead: NDArray[np.int64] = of[..., column.LEAD_END] - of[..., column.LEAD_START]
        return to[..., column.END] - of[..., column.START] + lead


type Runs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]
"""First and last unit, the cover of each piece of the question, shape (runs, m), and the score of each run."""


def units_of(passages: Sequence[Passage], without: Container[int] = ()) -> Units | None:
    """Return the units in the packed texts of ``passages`` except the places ``without``, None if there are none."""
    places = [place for place, passage in enumerate(passages) if place not in without and passage.hit.match]
    matches = [match for place in places if (match := passages[place].hit.match) is not None]
    if not matches:
        return None
    counts = [len(match.units) for match in matches]
    table = np.concatenate([match.units for match in matches]).astype(np.int64)
    passage = np.repeat(places, counts)
    ends = np.repeat([len(passages[place].text) for place in places], counts)
    heading = table[:, column.KIND] == column.UnitKind.HEADING
    kept = np.flatnonzero(~heading & (table[:, column.END] <= ends))
    kept = kept[[not one for one in _asides(passages, table[kept], passage[kept], _follows(kept, passage))]]
    if not len(kept):
        return None
    covers, titles = _best_similarities(matches, table, counts)
    above = np.repeat(titles, counts, axis=0)[kept]
    headings = np.flatnonzero(heading)
    under = headings[np.maximum(np.searchsorted(headings, kept) - 1, 0)] if len(headings) else kept
    headed = (under < kept) & (passage[under] == passage[kept])
    above[headed] = np.maximum(above[headed], covers[under[headed]])
    last = zip(passage[kept].tolist(), table[kept, column.END].tolist(), strict=True)
    announces = np.array([passages[place].text[end - 1] in COLONS for place, end in last])
    goes_on = _follows(kept, passage)
    shown = _announced_code(table[kept], goes_on, announces)
    return Units(table[kept], passage[kept], goes_on, covers[kept], above, announces, shown)


def _announced_code(
    table: NDArray[np.int64], goes_on: NDArray[np.bool_], announces: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which units are code, or a further part of code, behind a unit that announces it."""
    shown = np.zeros_like(goes_on)
    for at in np.flatnonzero(goes_on & (table[:, column.KIND] == column.UnitKind.CODE)):
        shown[at] = announces[at - 1] or shown[at - 1]
    return shown


def _follows(kept: NDArray[np.int64], passage: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the rows ``kept`` directly follow another one of the same ``passage``."""
    follows: NDArray[np.bool_] = (np.diff(kept, prepend=-2) == 1) & (np.diff(passage[kept], prepend=-1) == 0)
    return follows


def _asides(
    passages: Sequence[Passage], table: NDArray[np.int64], passage: NDArray[np.int64], goes_on: NDArray[np.bool_]
) -> Iterator[bool]:
    """Yield for each unit whether it is never quoted: keywords, or an emphasised end of a section."""
    closes = goes_on & ~np.append(goes_on[1:], False)
    units = (passage, table[:, column.START], table[:, column.END], closes)
    for place, start, end, is_last in zip(*(values.tolist() for values in units), strict=True):
        text = passages[place].text
        yield text.startswith(KEYWORDS, start) or (is_last and _EMPHASIS.fullmatch(text, start, end) is not None)


def _best_similarities(
    matches: Sequence[Match], table: NDArray[np.int64], counts: Sequence[int]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the best similarities of the units' tokens and their leads', shape (units, m), and of the titles'."""
    # A last column for "no tokens at the end": reduceat looks up every bound.
    blank = np.zeros((len(matches[0].similarities), 1), dtype=np.float32)
    similarities = np.concatenate([*(match.similarities for match in matches), blank], axis=1)
    starts = np.cumsum([0, *(match.similarities.shape[1] for match in matches[:-1])])
    columns = [column.FIRST_TOKEN, column.END_TOKEN, column.LEAD_FIRST_TOKEN, column.LEAD_END_TOKEN]
    own = (table[:, columns] + np.repeat(starts, counts)[:, None]).ravel()
    title = np.stack([starts, starts + [match.title_tokens for match in matches]], axis=1).ravel()
    bounds = np.concatenate([own, title])
    best = np.maximum.reduceat(similarities, bounds, axis=1)[:, ::2].T
    best[bounds[::2] >= bounds[1::2]] = 0
    best = best.clip(0)
    units = best[: 2 * len(table)]
    return np.maximum(units[::2], units[1::2]), best[2 * len(table) :]


def runs_of(units: Units, weights: NDArray[np.float32], behind: NDArray[np.float32]) -> Runs:
    """Return all runs of at most ``RUN_CHARS`` characters, and each longer unit as a run.

    ``weights`` are the weights of the question's pieces, ``behind`` each passage's score minus the best one's (<= 0).
    """
    first = np.arange(len(units.table))
    free = np.cumsum(units.shown * units.chars(first, first))
    covers = np.maximum(units.covers, np.float32(HEADING_SHARE) * units.above)
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = []
    for size in count():
        last = first + size
        if size:
            on = (last < len(units.table)) & units.goes_on[np.minimum(last, len(units.table) - 1)]
            first, last, covers = first[on], last[on], covers[on]
            covers = np.maximum(covers, units.covers[last])
        fits = (units.chars(first, last) - free[last] + free[first] <= RUN_CHARS) | (size == 0)
        first, last, covers = first[fits], last[fits], covers[fits]
        if not len(first):
            break
        ends = ~units.announces[last]
        parts.append((first[ends], last[ends], covers[ends]))
    first, last, covers = (np.concatenate(one) for one in zip(*parts, strict=True))
    worth = covers @ weights + CHUNK_SHARE * behind[units.passage[first]] + SHOWN_CODE * (free[last] > free[first])
    return first, last, covers, worth - CHAR_COST * (units.chars(first, last) - free[last] + free[first])
