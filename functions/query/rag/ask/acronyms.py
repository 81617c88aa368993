"""Acronyms and their long forms: each is written beside the other, so that a search finds both wordings.

"GaCounts" becomes "Georgia Counts (GaCounts)", and so does "georgia counts". The table is a deployment's own file:

    {"GaCounts": "Georgia Counts", "OIT": {"long": "Office of Instructional Technology", "any_case": true}}

or, as CSV, rows below the header ``acronym,long form`` or ``acronym,long form,any case``.

An acronym of up to four letters matches only in the table's upper and lower case, since many are words in lower case
("IT", "WHO"); a longer one matches in any case. ``any_case`` overrides this. It is the same for questions in capitals.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from knowledge.model.values import View
from rag.errors import ConfigurationError
from rag.values.question import Question, SearchQuery

MAX_EXACT_CASE_LETTERS = 4
_COLUMNS = {"acronym": "short", "long form": "long", "any case": "any_case"}


def _normalise(text: str) -> str:
    if not any(map(str.isalnum, text)):
        raise ValueError("it needs a letter or a digit")
    return " ".join(text.split())


type _Text = Annotated[str, AfterValidator(_normalise)]


class Acronym(BaseModel):
    """An abbreviation and its long form; ``any_case`` None means: by the number of letters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    short: _Text
    long: _Text
    any_case: bool | None = None


@dataclass(frozen=True, slots=True)
class AcronymTable:
    """A deployment's acronyms. Whole words match; at each place the longest form does."""

    entries: tuple[Acronym, ...] = ()
    _forms: tuple[tuple[Acronym, bool], ...] = field(init=False, repr=False, compare=False)
    """Each entry twice, for its short and its long form (True); group ``i + 1`` of the pattern is form ``i``."""
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forms = [(entry, is_long) for entry in self.entries for is_long in (False, True)]
        forms.sort(key=lambda form: -len(form[0].long if form[1] else form[0].short))
        groups = "|".join(f"({_form_pattern(entry, is_long=is_long)})" for entry, is_long in forms)
        object.__setattr__(self, "_forms", tuple(forms))
        # "C" is neither "C++" nor "C#".
        object.__setattr__(self, "_pattern", re.compile(rf"(?<!\w)(?:{groups or '(?!)'})(?![\w+#])"))

    def expand(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return ``text`` with both forms of each acronym in it, and a sentence for each change.

        An entry is expanded once, at its first mention. An entry with both forms in the text is left as it is, so that
        expanding twice is expanding once.
        """
        found = [(match, *self._forms[(match.lastindex or 1) - 1]) for match in self._pattern.finditer(text)]
        present = {(entry, is_long) for _, entry, is_long in found}
        done = {entry for entry, is_long in present if (entry, not is_long) in present}
        parts: list[str] = []
        trail: list[str] = []
        end = 0
        for match, entry, is_long in found:
            if entry in done:
                continue
            done.add(entry)
            full = f"{match[0] if is_long else entry.long} ({entry.short})"
            parts += (text[end : match.start()], full)
            trail.append(f"expanded {match[0]!r} to {full!r}")
            end = match.end()
        return "".join((*parts, text[end:])), tuple(trail)


def parse_json(text: str) -> AcronymTable:
    """Parse a JSON object ``{acronym: long form}`` or ``{acronym: {"long": ..., "any_case": bool}}``.

    Raises:
        ConfigurationError: the text has another form, or an acronym twice; the message names the acronym.
    """
    try:
        rows = json.loads(text)
    except ValueError as exc:
        raise ConfigurationError("The acronyms file is not valid JSON") from exc
    if not isinstance(rows, dict):
        raise ConfigurationError("The acronyms file must hold one JSON object {acronym: long form}")
    return _table(
        (repr(short), {**(value if isinstance(value, dict) else {"long": value}), "short": short})
        for short, value in rows.items()
    )


def parse_csv(text: str) -> AcronymTable:
    """Parse CSV rows below a header ``acronym,long form[,any case]``; ``any case`` is yes, no or blank.

    Raises:
        ConfigurationError: the text has another form, or an acronym twice; the message names the line.
    """
    # A quoted cell may hold line breaks.
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="more", restval="")
    try:
        columns = [_COLUMNS.get(" ".join(name.lower().split()), "") for name in reader.fieldnames or ()]
        if columns not in (["short", "long"], ["short", "long", "any_case"]):
            raise ConfigurationError("The acronyms file must begin with the row: acronym,long form[,any case]")
        reader.fieldnames = columns
        rows = [(f"in line {reader.line_num}", row) for row in reader if any(row.values())]
    except csv.Error as exc:
        raise ConfigurationError("The acronyms file is not valid CSV") from exc
    return _table((name, {key: cell for key, cell in row.items() if cell}) for name, row in rows)


def _table(rows: Iterable[tuple[str, dict[str, object]]]) -> AcronymTable:
    known: dict[str, Acronym] = {}
    for name, row in rows:
        try:
            entry = Acronym.model_validate(row)
        except ValidationError as exc:
            problem = exc.errors()[0]
            reason = f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            raise ConfigurationError(f"Acronym {name} of the acronyms file: {reason}") from exc
        if entry.short.lower() in known:
            raise ConfigurationError(f"Acronym {name} of the acronyms file is there twice")
        known[entry.short.lower()] = entry
    return AcronymTable(tuple(known.values()))


def _form_pattern(entry: Acronym, *, is_long: bool) -> str:
    text = r"\s+".join(map(re.escape, (entry.long if is_long else entry.short).split()))
    any_case = entry.any_case
    if any_case is None:
        any_case = sum(map(str.isalnum, entry.short)) > MAX_EXACT_CASE_LETTERS
    return f"(?i:{text})" if is_long or any_case else text


ACRONYM_WEIGHT = 2.0
"""Weight of the view with expanded acronyms; the question has 1."""


@dataclass(frozen=True, slots=True)
class ExpandAcronyms:
    """Adds a view of the question with both forms of each acronym; the trail names the expanded ones.

    The view is optional: it is dropped if the index knows fewer of its words. ``table`` returns the current table.
    """

    table: Callable[[], AcronymTable]

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """Return ``query`` with that view, if its (rewritten) text has an acronym or a long form."""
        text, trail = self.table().expand(query.text)
        if not trail:
            return query
        return replace(
            query, views=(*query.views, View(text, ACRONYM_WEIGHT, optional=True)), trail=(*query.trail, *trail)
        )
