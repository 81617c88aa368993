"""Acronyms and their long forms: each is put beside the other, so that a search finds either wording.

"GaCounts" becomes "Georgia Counts (GaCounts)", and so does "georgia counts". The table is a deployment's own file:

    {"OIT": "Office of Instructional Technology", "CARE": {"long": "Campus Aid and Relief", "exactCase": true}}

or, as CSV, a row each: acronym, long form and, where only the exact case counts, the word "exact".
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from rag.errors import ConfigurationError
from rag.stages.query.acronym_titles import is_header
from rag.stages.query.ordinary import ORDINARY

MIN_ANY_CASE_CHARS = 3
"""An acronym of fewer characters is only one in its exact case: nearly every pair of letters is a word."""

_WORD = re.compile(r"[^\W_]+")
# Inside an address or a file name nothing is a word of the question.
_GLUED_BEFORE = frozenset("@/\\._#=&")
_GLUED_AFTER = frozenset("@/\\_=")
_SIGNS = frozenset("+#")
_NEIGHBOUR_BEFORE = re.compile(r"(?:^|[\s(])([^\W_]+)/$")
_NEIGHBOUR_AFTER = re.compile(r"/([^\W_]+)(?=$|[\s).,;:!?])")


@dataclass(frozen=True, slots=True)
class Acronym:
    """``short`` stands for ``long``; with ``exact_case`` only as it is written here."""

    short: str
    long: str
    exact_case: bool = False

    @property
    def is_ordinary(self) -> bool:
        """Whether it is spelt like a word: "it", "care"."""
        short = self.short.lower()
        return bool({short, short.removesuffix("s")} & ORDINARY) or len(short) < MIN_ANY_CASE_CHARS

    def matches_case(self, written: str) -> bool:
        """Whether ``written``, equal to ``short`` but for case, may mean it: "oit" is OIT, "it" and "It" are not IT."""
        return written == self.short or not (self.exact_case or self.is_ordinary)


@dataclass(frozen=True, slots=True)
class _Form:
    """One of an acronym's two forms as words and what stands between them, in lower case.

    ``before`` and ``after`` are signs that belong to it: the "++" of "C++", the "." of ".NET".
    """

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    before: str
    after: str
    entry: Acronym
    is_long: bool


type _Found = tuple[int, int, _Form]
"""A form in a text, from the first character to behind the last."""


@dataclass(frozen=True, slots=True)
class AcronymTable:
    """A deployment's acronyms. Matching is by whole words and takes the longest form at each place."""

    entries: tuple[Acronym, ...] = ()
    _forms: Mapping[str, tuple[_Form, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forms: dict[str, tuple[_Form, ...]] = {}
        for entry in self.entries:
            for text, is_long in ((entry.short, False), (entry.long, True)):
                form = _form(text, entry, is_long=is_long)
                words = form.words
                known = (*forms.get(words[0], ()), form)
                forms[words[0]] = tuple(sorted(known, key=lambda form: -len(form.words)))
        object.__setattr__(self, "_forms", forms)

    def expand(self, text: str) -> tuple[str, tuple[str, ...]]:
        """``text`` with both forms where it holds one, and a sentence for each change.

        An entry is expanded once, at its first mention; an entry of which the text already holds both forms is left
        as it is, which makes expansion idempotent.
        """
        found = tuple(self._find(text))
        held = {(form.entry, form.is_long) for _, _, form in found}
        done = {entry for entry, is_long in held if (entry, not is_long) in held}
        parts: list[str] = []
        trail: list[str] = []
        end = 0
        for start, stop, form in _without_shouts(text, found):
            if form.entry in done:
                continue
            done.add(form.entry)
            written = text[start:stop]
            full = f"{written if form.is_long else form.entry.long} ({form.entry.short})"
            parts += (text[end:start], full)
            trail.append(f"expanded {written!r} to {full!r}")
            end = stop
        return "".join((*parts, text[end:])), tuple(trail)

    def _find(self, text: str) -> Iterator[_Found]:
        """Every form in ``text`` with its place, left to right, none inside another."""
        matches = list(_WORD.finditer(text))
        i = 0
        while i < len(matches):
            for form in self._forms.get(matches[i][0].lower(), ()):
                if _is_at(form, text, matches[i : i + len(form.words)]):
                    start, end = matches[i].start(), matches[i + len(form.words) - 1].end()
                    yield start - len(form.before), end + len(form.after), form
                    i += len(form.words)
                    break
            else:
                i += 1


def parse_json(text: str) -> AcronymTable:
    """The table of a JSON object ``{acronym: long form}`` or ``{acronym: {"long": ..., "exactCase": bool}}``.

    Raises:
        ConfigurationError: it is something else, or an acronym is there twice.
    """
    try:
        rows = json.loads(text, object_pairs_hook=tuple)
    except ValueError as exc:
        raise ConfigurationError("The acronyms file is not valid JSON") from exc
    if not isinstance(rows, tuple):
        raise ConfigurationError("The acronyms file must hold one JSON object {acronym: long form}")
    return _table(_acronym(str(short), value) for short, value in rows)


def parse_csv(text: str) -> AcronymTable:
    """The table of CSV rows: acronym, long form and, optionally, ``exact``; a header row and empty rows are skipped.

    Raises:
        ConfigurationError: a row has other columns, or an acronym is there twice.
    """
    entries = []
    rows = ([_one_line(cell) for cell in row] for row in _csv_rows(text))
    filled = [(number, cells) for number, cells in enumerate(rows, start=1) if any(cells)]
    for number, cells in filled[1:] if filled and is_header(filled[0][1]) else filled:
        if len(cells) not in {2, 3} or (len(cells) == 3 and cells[2].lower() not in {"", "exact"}):
            raise ConfigurationError(f"Row {number} of the acronyms file must be: acronym, long form[, exact]")
        entries.append(Acronym(cells[0], cells[1], exact_case=len(cells) == 3 and cells[2] != ""))
    return _table(entries)


def _csv_rows(text: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""))  # a quoted cell may hold line breaks
    except csv.Error as exc:
        raise ConfigurationError("The acronyms file is not valid CSV") from exc


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _acronym(short: str, value: object) -> Acronym:
    options = dict(value) if isinstance(value, tuple) else {"long": value}
    long, exact = options.get("long"), options.get("exactCase", False)
    if not isinstance(long, str) or not isinstance(exact, bool) or not options.keys() <= {"long", "exactCase"}:
        raise ConfigurationError(
            f'Acronym {short!r} must have a text as its long form, or {{"long": text, "exactCase": true or false}}'
        )
    return Acronym(_one_line(short), _one_line(long), exact)


def _table(entries: Iterable[Acronym]) -> AcronymTable:
    known: dict[str, Acronym] = {}
    for entry in entries:
        if not _WORD.search(entry.short) or not _WORD.search(entry.long):
            raise ConfigurationError(f"Acronym {entry.short!r} needs letters or digits, and a long form with some")
        if entry.short.lower() in known or entry.short.lower() == entry.long.lower():
            raise ConfigurationError(f"Acronym {entry.short!r} is there twice, or stands for itself")
        known[entry.short.lower()] = entry
    return AcronymTable(tuple(known.values()))


def _form(text: str, entry: Acronym, *, is_long: bool) -> _Form:
    matches = list(_WORD.finditer(text))
    return _Form(
        words=tuple(match[0].lower() for match in matches),
        gaps=_gaps(text, matches),
        before=text[: matches[0].start()],
        after=text[matches[-1].end() :],
        entry=entry,
        is_long=is_long,
    )


def _gaps(text: str, matches: list[re.Match[str]]) -> tuple[str, ...]:
    gaps = (text[left.end() : right.start()] for left, right in pairwise(matches))
    return tuple(" " if gap.isspace() else gap for gap in gaps)


def _without_shouts(text: str, found: tuple[_Found, ...]) -> tuple[_Found, ...]:
    """``found`` without the acronyms that may be words where the text around is all in capitals: "WHO HAS SEEN IT?"."""
    ends = [0, *(end for _, end, _ in found)]
    starts = [*(start for start, _, _ in found), len(text)]
    around = " ".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    if not around.isupper():
        return found
    return tuple(match for match in found if match[2].is_long or not match[2].entry.is_ordinary)


def _is_at(form: _Form, text: str, matches: list[re.Match[str]]) -> bool:
    """Whether ``form`` is what ``matches`` (words of ``text``) say, as whole words and in an accepted case."""
    if tuple(match[0].lower() for match in matches) != form.words or _gaps(text, matches) != form.gaps:
        return False
    start, end = matches[0].start() - len(form.before), matches[-1].end() + len(form.after)
    if start < 0 or not text.startswith(form.before, start) or not text.endswith(form.after, 0, end):
        return False
    if not _stands_alone(text, start, end):
        return False
    return form.is_long or form.entry.matches_case(text[start:end])


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether nothing is glued to what stands from ``start`` to ``end``; in "OIT/ABO" each of the two stands alone."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if before == "/" and text[start:end].isupper():
        neighbour = _NEIGHBOUR_BEFORE.search(text, 0, start)
        before = "" if neighbour and neighbour[1].isupper() else before
    if after == "/" and text[start:end].isupper():
        neighbour = _NEIGHBOUR_AFTER.match(text, end)
        after = "" if neighbour and neighbour[1].isupper() else after
    dotted = after == "." and text[end + 1 : end + 2].isalnum()
    glued = before.isalnum() or after.isalnum() or before in _GLUED_BEFORE or after in _GLUED_AFTER | _SIGNS
    return not (glued or dotted)
