"""What is quoted of some passages: the section with the run that answers best, then one that adds something."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import numpy as np

from knowledge.cut.quote_spans import END, KIND, LEAD_END, LEAD_START, START, Kind
from rag.values.answer import Passage
from rag.values.chat import Quote
from rag.write.named import entry_heading, is_named_entry, is_named_row
from rag.write.runs import CHUNK_SHARE, Units, runs_of, units_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

type Span = tuple[int, int]
"""The first and the last one of some neighbouring units."""

SECTION_CHARS = 800
"""A section of at most this length is quoted whole."""
REST_CHARS = 300
"""Of a longer section, what follows the run is quoted up to this length."""
NAMED, OPENING = 2.0, 1.0
"""What a run is worth more in an entry that the question names, and where that entry or such a row begins."""


def quote_sections(
    passages: Sequence[Passage], weights: NDArray[np.float32], question: str = "", without: Container[int] = ()
) -> tuple[Quote, ...]:
    """Return one or two quotes, the one that answers first; none where the passages have no units.

    ``weights`` are those of the question's pieces, shape (m,). Nothing is quoted of the places ``without``. A second
    section is quoted if it covers more of what the first one lacks than its chunk's score is behind.
    """
    units = units_of(passages, without)
    if units is None:
        return ()
    scores = np.array([passage.hit.score for passage in passages], dtype=np.float32)
    behind = scores - scores.max()
    firsts, lasts, covers, worth = runs_of(units, weights, behind)
    if not len(firsts):
        return ()
    bonus = _named(passages, units, question)[firsts]
    best = int(np.argmax(worth + bonus))
    run = int(firsts[best]), int(lasts[best])
    first, last = span = _section(units, *run)
    covered = np.maximum(covers[best], units.covers[first : last + 1].max(axis=0))
    gain = (np.maximum(covers, covered) - covered) @ weights
    value = gain + CHUNK_SHARE * behind[units.passage[firsts]] + bonus
    is_entry = bonus >= NAMED
    value[((lasts >= first) & (firsts <= last)) | (is_entry < is_entry[best])] = -np.inf
    second = int(np.argmax(value))
    if value[second] <= 0:
        return (_quote(passages, units, span, run),)
    added = int(firsts[second]), int(lasts[second])
    start, end = _section(units, *added)
    start, end = (start, end) if end < first or start > last else added  # two parts of one long section
    if start == last + 1 and units.goes_on[start]:
        return (_quote(passages, units, (first, end), run),)
    return _quote(passages, units, span, run), _quote(passages, units, (start, end), added)


def _named(passages: Sequence[Passage], units: Units, question: str) -> NDArray[np.float32]:
    """Return what each unit is worth more because the ``question`` names its entry or its row, shape (n,)."""
    named = [is_named_entry(passage.text, question, is_best=not n) for n, passage in enumerate(passages)]
    bonus = np.where(np.array(named)[units.passage], NAMED + OPENING * ~units.goes_on, 0).astype(np.float32)
    for row in np.flatnonzero((units.table[:, KIND] == Kind.ROW) & (bonus == 0)):
        text = passages[units.passage[row]].text
        bonus[row] = OPENING * is_named_row(text[units.table[row, START] : units.table[row, END]], question)
    return bonus


def _section(units: Units, first: int, last: int) -> Span:
    """Return what is quoted of the section that the run is in: all, or its rest, or as little as stands alone."""
    top = bottom = first
    while units.goes_on[top]:
        top -= 1
    while bottom + 1 < len(units.table) and units.goes_on[bottom + 1]:
        bottom += 1
    if units.chars(top, bottom) <= SECTION_CHARS:
        return top, bottom
    while last < bottom and (units.announces[last] or units.table[last + 1, KIND] == Kind.CODE):
        if units.chars(first, last + 1) > SECTION_CHARS:
            break
        last += 1
    if units.chars(top, last) <= SECTION_CHARS:
        first = top
    rest = units.table[bottom, END] - units.table[last, END]
    return (first, bottom) if rest <= REST_CHARS else (first, last)


def _quote(passages: Sequence[Passage], units: Units, span: Span, run: Span) -> Quote:
    first, last = span
    place = int(units.passage[first])
    text = passages[place].text
    start, lead_start, lead_end = (int(units.table[first, column]) for column in (START, LEAD_START, LEAD_END))
    end = int(units.table[last, END])
    marked = text[int(units.table[run[0], START]) : int(units.table[run[1], END])]
    opens = not units.goes_on[first] and not (first and units.passage[first - 1] == place)
    at, heading = entry_heading(text) if opens else (0, "")
    if heading:
        quoted = text[at:end]
    elif lead_end <= lead_start:
        quoted = _outdent(text, start, end)
    elif text[lead_end:start].strip():
        quoted = f"{_outdent(text, lead_start, lead_end)}\n{_outdent(text, start, end)}"
    else:
        quoted = _outdent(text, lead_start, end)
    return Quote(place, quoted, marked)


def _outdent(text: str, start: int, end: int) -> str:
    """Return ``text[start:end]``, its further lines moved to the left as far as the first one is by being cut out."""
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    quoted = text[start:end]
    return quoted if not indent or indent.strip() else quoted.replace(f"\n{indent}", "\n")
