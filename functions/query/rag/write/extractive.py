"""Answer without a model: quote the section with the run that answers best, then one that adds something.

``Completion.quotes`` are the source's own characters, each with its passage, so that nothing in them is taken for a
citation. If a question names an entry of a reference (an option, a setting, a method), the answer is in that entry: a
passage under a heading of code only, or the row of a table that begins with the name. Of 450 questions with names to
three public manuals 410 are then answered right, and 329 without (docs/evidence/answers.md).
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np

from knowledge.cut.units import END, KIND, LEAD_END, LEAD_START, START, UnitKind
from rag.find.pack import cut_to
from rag.find.refine import are_versions, outdated_passages, uncited_message
from rag.ports import Writing
from rag.text.sources import is_later_message, newest_message
from rag.values.answer import Context, Passage
from rag.values.chat import Completion, Quote
from rag.values.question import Question
from rag.write.not_mentioned import not_mentioned
from rag.write.runs import CHUNK_SHARE, Units, runs_of, units_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADING_LINE = re.compile(r"#{1,6}[ \t]+(.*)")
_CODE_SPAN = re.compile(r"`+([^`]+)`+")
_CELL_MARKS = re.compile(r"[`*\s]+|<[^<>]*>|\]\([^()]*\)|\[(?=[`\w])")
_CLAUSE = re.compile(r"(?:[ \t]*#{1,6}[^\n]*\n\s*)*[#*\s]*(\d+(?:\.\d+)+)(?=[.:)]?[*\s])")
_ALSO = re.compile(r",\s+(?=-)")
_NAME = re.compile(r"[\w.-]*\w(?:[\w.\[\]/<>-]*[\w>\]])?")
"""A name of code in its signature: ``--cache=<yes|no>``, ``Task.retry(args=None)``, ``-C <commit>``."""


def is_named_entry(text: str, question: str, *, is_best: bool) -> bool:
    """Return whether a passage's ``text`` is an entry that the ``question`` names.

    A name that is an ordinary word (``timeout``) counts only if its entry is the best hit.
    """
    codes = (part for code in _CODE_SPAN.finditer(entry_heading(text)[1]) for part in _ALSO.split(code[1]))
    names = (match[0] for code in codes if (match := _NAME.search(code)))
    return any(_names_word(name, question) for name in names if is_best or not _is_word(name))


def is_named_row(row: str, question: str) -> bool:
    """Return whether the table's ``row`` begins with a name in the ``question`` that is no ordinary word."""
    cell = _CELL_MARKS.sub("", row.strip().removeprefix("|").partition("|")[0])
    return len(cell) > 1 and not _is_word(cell) and _names_word(cell, question)


def is_named_clause(text: str, question: str) -> bool:
    """Return whether ``text``, below headings, begins with the number of a clause in the ``question`` (``3.2``)."""
    number = _CLAUSE.match(text)
    return number is not None and _names_word(number[1], question)


def entry_heading(text: str) -> tuple[int, str]:
    """Return the place and text of the heading above a passage's first words; ``""`` if it is no name of code."""
    start, heading, at = 0, "", 0
    for line in text.split("\n"):
        if match := _HEADING_LINE.match(line):
            start, heading = at, match[1]
        elif line.strip():
            break
        at += len(line) + 1
    is_code = _CODE_SPAN.search(heading) and not any(map(str.isalnum, _CODE_SPAN.sub("", heading)))
    return (start, heading) if is_code else (0, "")


def _is_word(name: str) -> bool:
    return name.isalpha() and name[1:].islower()


def _names_word(name: str, question: str) -> bool:
    """Return whether ``question`` has ``name`` as a word, with its leading dashes, in any case of letters."""
    if name.casefold() not in question.casefold():
        return False  # most names: a pattern of each takes a tenth as long as the whole answer
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", question, re.IGNORECASE) is not None


type Span = tuple[int, int]
"""The first and the last of neighbouring units."""

SECTION_CHARS, SHOWN_CHARS = 800, 2000
"""Longest section that is quoted whole, and longest part of one up to the end of announced code."""
REST_CHARS = 300
"""Longest rest after the run that is quoted of a longer section."""
NAMED, OPENING = 2.0, 1.0
"""Bonus of a run in an entry that the question names, and at the beginning of such an entry or row."""


def quote_sections(
    passages: Sequence[Passage], weights: NDArray[np.float32], question: str = "", without: Container[int] = ()
) -> tuple[Quote, ...]:
    """Return one or two quotes, the answering one first; none if the passages have no units.

    ``weights`` are the weights of the question's pieces, shape (m,). The places ``without`` are not quoted. A second
    section is quoted if it covers more of the weight that the first one lacks than its chunk's score is lower.
    """
    units = units_of(passages, without)
    if units is None:
        return ()
    scores = np.array([passage.hit.score for passage in passages], dtype=np.float32)
    behind = scores - scores.max()
    firsts, lasts, covers, worth = runs_of(units, weights, behind)
    if not len(firsts):
        return ()
    bonus = _name_bonus(passages, units, question)[firsts]
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


def _name_bonus(passages: Sequence[Passage], units: Units, question: str) -> NDArray[np.float32]:
    """Return the bonus of each unit whose entry or row the ``question`` names, shape (n,)."""
    named = [is_named_entry(passage.text, question, is_best=not n) for n, passage in enumerate(passages)]
    bonus = np.where(np.array(named)[units.passage], NAMED + OPENING * ~units.goes_on, 0).astype(np.float32)
    for unit in np.flatnonzero(bonus == 0):
        place = units.passage[unit]
        is_first = not unit or units.passage[unit - 1] != place
        text = passages[place].text[0 if is_first else units.table[unit, START] : units.table[unit, END]]
        is_named = is_named_row if units.table[unit, KIND] == UnitKind.ROW else is_named_clause
        bonus[unit] = OPENING * is_named(text, question)
    return bonus


def _section(units: Units, first: int, last: int) -> Span:
    """Return the span to quote of the run's section: all of it, its rest, or the shortest part that stands alone."""
    top = bottom = first
    while units.goes_on[top]:
        top -= 1
    while bottom + 1 < len(units.table) and units.goes_on[bottom + 1]:
        bottom += 1
    if units.chars(top, bottom) <= SECTION_CHARS:
        return top, bottom
    while last < bottom and (units.announces[last] or units.table[last + 1, KIND] == UnitKind.CODE):
        if units.chars(first, last + 1) > (SHOWN_CHARS if units.shown[last + 1] else SECTION_CHARS):
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
    elif lead_end > lead_start and text[lead_end:start].strip():
        quoted = f"{_outdent(text, lead_start, lead_end)}\n{_outdent(text, start, end)}"
    else:
        quoted = _outdent(text, lead_start if lead_end > lead_start else start, end)
    return Quote(place, quoted, marked)


def _outdent(text: str, start: int, end: int) -> str:
    """Return ``text[start:end]`` with the first line's indent removed from all lines."""
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    quoted = text[start:end]
    return quoted if not indent or indent.strip() else quoted.replace(f"\n{indent}", "\n")


MODEL = "extractive"
DOUBT = "This may not be what you asked for:"
MAX_BYTES = 1600
"""Longest quote of a passage without token matches."""
_HEADINGS = re.compile(r"(?:\s*#{1,6}\s[^\n]*(?:\n|\Z))*\s*")
_MARKUP = re.compile(r"<[^<>]*>|!\[[^\[\]]*\]\([^()]*\)|\{[%{].*?[%}]\}")


@dataclass(frozen=True, slots=True)
class ExtractiveWriter:
    """Quotes one or two sections of the context, some 500 characters; ``""`` if there is nothing to quote.

    The answer first names the words of the question that no document has, or says that the context is doubtful. At its
    end it names the other version of a file, and the newest message of a thread if the quotes are from earlier ones.
    """

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        outdated = outdated_passages(context.passages, question.understood)
        evidence, note = context.evidence, ""
        quoted: tuple[Quote, ...] = ()
        if evidence is not None:
            weights, asked = evidence.asked.weights, question.understood
            quoted = quote_sections(context.passages, weights, asked, outdated)
            quoted = _quote_later(context.passages, weights, asked, quoted)
            absent = not_mentioned(evidence, [passage.hit for passage in context.passages]) if quoted else ()
            named = f"The documents do not mention {' or '.join(absent)}. What comes closest:" if absent else ""
            note = named or (DOUBT if context.doubtful else "")
        quoted = quoted or quote_beginning(context.passages, outdated)
        closing = _name_versions(context.passages, {quote.passage for quote in quoted}, outdated)
        text = "\n\n".join(filter(None, (note, *(quote.text for quote in quoted), closing))) if quoted else ""
        return Completion(
            text=text, model=MODEL, finish_reason="stop", calls=0, quotes=quoted, note=note, closing=closing
        )


def _name_versions(passages: Sequence[Passage], quoted: set[int], outdated: Mapping[int, Sequence[int]]) -> str:
    """Return a sentence with the files whose names differ from those of ``quoted`` places by version or date alone.

    Without any it names the newest message of a thread that is quoted without it.
    """
    chunks = [passage.hit.chunk for passage in passages]
    pairs = [(chunks[new], chunks[old]) for old, newer in outdated.items() for new in quoted.intersection(newer)]
    named = [(one.path, other.path) for one, other in pairs if are_versions(one, other)]
    if not named:
        newest = uncited_message([chunks[place] for place in sorted(quoted)])
        return f"The newest message of this thread is by {newest}." if newest else ""
    files, others = (" and ".join(sorted(set(paths))) for paths in zip(*named, strict=True))
    return f"From {files}; another version is {others}."


def _quote_later(
    passages: Sequence[Passage], weights: NDArray[np.float32], question: str, quoted: tuple[Quote, ...]
) -> tuple[Quote, ...]:
    """Return ``quoted`` with the newest message of the first one's thread, and the best between, if they are found.

    They may answer a message that asks the same, or take back what it says.
    """
    if not quoted:
        return ()
    first = passages[quoted[0].passage].hit.chunk
    later = {place for place, one in enumerate(passages) if is_later_message(one.hit.chunk, first)}
    newest = {place for place in later if not newest_message(passages[place].hit.chunk)}
    for wanted in (later - newest, newest):
        if wanted.isdisjoint(quote.passage for quote in quoted):
            quoted += quote_sections(passages, weights, question, {*range(len(passages))} - wanted)[:1]
    return quoted


def quote_beginning(passages: Sequence[Passage], without: Container[int] = ()) -> tuple[Quote, ...]:
    """Return the beginning, below its headings, of the first of ``passages`` with visible text.

    For contexts without token matches (of a dense or hybrid search). By paragraphs that share words with the question
    15 of 36, 75 of 182 and 188 of 206 questions are right (hybrid), so 21, 89 and 192, at 80 % of the length.
    """
    for place, passage in enumerate(passages):
        beginning = cut_to(_HEADINGS.sub("", passage.text, count=1).strip(), MAX_BYTES, anywhere=True)
        if place not in without and any(map(str.isalnum, _MARKUP.sub("", beginning))):
            return (Quote(place, beginning),)
    return ()
