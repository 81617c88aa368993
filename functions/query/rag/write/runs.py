"""Runs of quotable units: what of the packed passages says most of a question, by the similarities of its tokens.

A run is a row of neighbouring units of one chunk. With the question's word pieces i, their weights w (sum 1) and the
similarities s_ij of piece i and token j, a run is worth

    sum_i w_i max(max_{j in run} s_ij, .6 max_{j in its headings} s_ij) + .5 (its chunk's score - the best chunk's)
    - .00007 a character

(.8 of the headings' where it begins right below one, and of what introduces a unit), so that of what answers alike the
shorter one is quoted. A contiguous run reads better than scattered sentences, and is half as long for as many answers
(docs/retrieval.md has the figures). The items of a list and the rows of a table are alternatives: a run holds one of
them alone, or all.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowledge.cut.quote_spans import (
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Match
    from rag.values.answer import Passage

HEADING_SHARE = 0.6
OPENING_SHARE = 0.8
"""What opens a section is about its heading, whose words it need not repeat. Between .5 and .9 SQuAD moves by .003."""
LEAD_SHARE = 0.8
"""What introduces a list, or heads a table, is said of every item and row alike, and tells none from the others."""
CHUNK_SHARE = 0.5
CHAR_COST = 0.00007
LISTED = (Kind.ITEM, Kind.ROW)
COLONS = ":\uff1a"
MAX_UNITS = 24
"""Units of the longest run."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The n quotable units of some passages, in the order of the passages and of their texts.

    ``table`` has their rows as ``Match.units`` has them, ``passage`` the place of each one's passage; ``goes_on`` says
    which come right after another one of the same chunk, ``opens`` which come right below a heading. ``covers`` are
    each one's best similarities with the m pieces of the question, its lead's included, shape (n, m); ``above`` those
    of the title and the heading above it. ``list_first`` and ``list_last`` are the ends of the list or table that an
    item or a row is in, of any other unit itself. ``announces`` says which end with a colon before another one: no run
    ends there.
    """

    table: NDArray[np.int64]
    passage: NDArray[np.int64]
    goes_on: NDArray[np.bool_]
    covers: NDArray[np.float32]
    above: NDArray[np.float32]
    opens: NDArray[np.bool_]
    list_first: NDArray[np.int64]
    list_last: NDArray[np.int64]
    announces: NDArray[np.bool_]

    def chars(self, first: NDArray[np.int64] | int, last: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """How long the runs from ``first`` to ``last`` are, with what introduces their first units."""
        of, to = self.table[first], self.table[last]
        chars: NDArray[np.int64] = to[..., END] - of[..., START] + of[..., LEAD_END] - of[..., LEAD_START]
        return chars


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs from unit ``first`` to unit ``last``, both included.

    ``chars`` counts those of each with its lead; it ``covers`` (shape (runs, m)) so much and is ``worth`` so much.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    chars: NDArray[np.int64]
    covers: NDArray[np.float32]
    worth: NDArray[np.float32]


def units_of(passages: Sequence[Passage], without: Container[int] = ()) -> Units | None:
    """The units that lie in what was packed of ``passages``, but for those at the places ``without``; None for none."""
    places = [place for place, passage in enumerate(passages) if place not in without and passage.hit.match]
    matches = [match for place in places if (match := passages[place].hit.match) is not None]
    if not matches:
        return None
    counts = [len(match.units) for match in matches]
    table = np.concatenate([match.units for match in matches]).astype(np.int64)
    passage = np.repeat(places, counts)
    ends = np.repeat([len(passages[place].text) for place in places], counts)
    heading = table[:, KIND] == Kind.HEADING
    kept = np.flatnonzero(~heading & (table[:, END] <= ends))
    if not len(kept):
        return None
    covers, titles = _met(matches, table, counts)
    goes_on = (np.diff(kept, prepend=-2) == 1) & (np.diff(passage[kept], prepend=-1) == 0)
    above = np.repeat(titles, counts, axis=0)[kept]
    headings = np.flatnonzero(heading)
    under = headings[np.maximum(np.searchsorted(headings, kept) - 1, 0)] if len(headings) else kept
    headed = (under < kept) & (passage[under] == passage[kept])
    above[headed] = np.maximum(above[headed], covers[under[headed]])
    opens = headed & (under == kept - 1)
    colon = np.array(
        [passages[i].text[end - 1] in COLONS for i, end in zip(passage[kept], table[kept, END], strict=True)]
    )
    follows = np.append(goes_on[1:], False)  # which units another one comes right after
    lists = _lists(table[kept, KIND], goes_on)
    return Units(table[kept], passage[kept], goes_on, covers[kept], above, opens, *lists, colon & follows)


def _met(
    matches: Sequence[Match], table: NDArray[np.int64], counts: Sequence[int]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The best similarities of the units' tokens, their leads' included, shape (units, m), and of the titles'."""
    # A last column for "no tokens at the end": reduceat looks up every bound.
    blank = np.zeros((len(matches[0].similarities), 1), dtype=np.float32)
    similarities = np.concatenate([*(match.similarities for match in matches), blank], axis=1)
    starts = np.cumsum([0, *(match.similarities.shape[1] for match in matches[:-1])])
    columns = [FIRST_TOKEN, END_TOKEN, LEAD_FIRST_TOKEN, LEAD_END_TOKEN]
    own = (table[:, columns] + np.repeat(starts, counts)[:, None]).ravel()
    title = np.stack([starts, starts + [match.title_tokens for match in matches]], axis=1).ravel()
    bounds = np.concatenate([own, title])
    best = np.maximum.reduceat(similarities, bounds, axis=1)[:, ::2].T
    best[bounds[::2] >= bounds[1::2]] = 0
    best = best.clip(0)
    units = best[: 2 * len(table)]
    return np.maximum(units[::2], np.float32(LEAD_SHARE) * units[1::2]), best[2 * len(table) :]


def _lists(kind: NDArray[np.int64], goes_on: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last unit of the list or table that each one is in; itself where it is in none."""
    place = np.arange(len(kind))
    same = goes_on & np.isin(kind, LISTED) & (np.diff(kind, prepend=-1) == 0)
    first = np.maximum.accumulate(np.where(same, 0, place))
    ends = np.flatnonzero(np.append(~same[1:], True))
    return first, ends[np.searchsorted(ends, place)]


def runs_of(units: Units, weights: NDArray[np.float32], scores: NDArray[np.float32], max_chars: int) -> Runs:
    """All runs of at most ``max_chars`` characters, and each unit that is longer by itself.

    ``weights`` are those of the question's pieces, ``scores`` those of the passages' chunks.
    """
    first = np.arange(len(units.table))
    covers = units.covers
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = []
    for size in range(MAX_UNITS):
        last = first + size
        if size:
            on = (last < len(units.table)) & units.goes_on[np.minimum(last, len(units.table) - 1)]
            first, last, covers = first[on], last[on], covers[on]
            covers = np.maximum(covers, units.covers[last])
        chars = units.chars(first, last)
        fits = (chars <= max_chars) | (size == 0)
        first, last, chars, covers = first[fits], last[fits], chars[fits], covers[fits]
        if not len(first):
            break
        whole = (first == last) | ((units.list_first[first] == first) & (units.list_last[last] == last))
        whole &= ~units.announces[last]
        parts.append((first[whole], last[whole], chars[whole], covers[whole]))
    first, last, chars, covers = (np.concatenate(column) for column in zip(*parts, strict=True))
    share = np.where(units.opens[first], OPENING_SHARE, HEADING_SHARE).astype(np.float32)
    covers = np.maximum(covers, share[:, np.newaxis] * units.above[first])
    behind = scores - scores.max()
    worth = covers @ weights + CHUNK_SHARE * behind[units.passage[first]] - CHAR_COST * chars
    return Runs(first, last, chars, covers, worth)
