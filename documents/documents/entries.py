"""Definition lists (terms and their definitions) as Markdown, which lacks them: one way for all formats.

A converter marks where such a list begins, where its terms stand and where it ends; ``settled`` makes entries or items
of it. Where the terms are names of code (an option, a setting, a field) each is an entry: a heading one level below its
section, with what is said of it below, so that it is found, cut and cited by itself. The others, and those in a list, a
table or a quotation, are items: ``- term:`` with the rest indented.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

BEGIN, TERM, END = "\ufde0", "\ufde1", "\ufde2"
"""What the lines begin with, behind blanks or the marks of a quotation: noncharacters of Unicode, which no text holds.

The term, Markdown, is behind its mark, and may have an id behind it: ``{#id}``."""

MAX_HEADING_CHARS = 80
_LEVELS = (2, 6)

_MARK = re.compile(f"([ >]*)([{BEGIN}{TERM}{END}])(.*)", re.DOTALL)
_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ID = re.compile(r"\s*\{#[^\s{}]+\}$")
_ENDED = re.compile(r"[:?!.]$")
_NAME = re.compile(r"\**(?:`|-{1,2}\w|[\w.-]*\w[._]\w\S*$|[\w.]+\()")
"""A term that is a name: code, an option, a word with a dot or an underscore in it, a call."""
_IS_CODE = re.compile(r"(?:`+[^`]+`+(?:,\s*|\s+|/|\|)?)+$")
_MARKS = re.compile(r"[`*]+|\\(?=\W)|_(?=<)|(?<=>)_|\[(?=[^\[\]]*\]\()|\]\([^()]*\)")
_NAME_ENDS = re.compile(r"[(\[=,\s]|: ")


@dataclass(slots=True)
class _Entry:
    terms: list[str]
    body: list[str | _List] = field(default_factory=list)


@dataclass(slots=True)
class _List:
    """A definition list, and the prefix of each of its lines."""

    prefix: str
    entries: list[_Entry] = field(default_factory=list)

    @property
    def last(self) -> _Entry:
        """The last entry; before the first term one without terms."""
        self.entries += [] if self.entries else [_Entry([])]
        return self.entries[-1]


@dataclass(slots=True)
class _Place:
    """The heading that a line stands under: its level, 0 for none, and its words with the id; an open fence."""

    level: int = 0
    title: str = ""
    fence: str = ""

    def passes(self, line: str) -> bool:
        """Take note of what ``line`` begins or ends; whether it is a heading."""
        if fence := _FENCE.match(line):
            if not self.fence:
                self.fence = fence[1]
            elif fence[1].startswith(self.fence) and not line[fence.end() :].strip():
                self.fence = ""
            return False
        heading = None if self.fence else _HEADING.match(line)
        if heading:
            self.level, self.title = len(heading[1]), heading[2]
        return heading is not None


def settled(text: str) -> str:
    """Return ``text`` with its marked lists as entries or items; text without marks is unchanged."""
    return _join(_render(_parse(text.split("\n")), _Place())) if BEGIN in text else text


def items(text: str) -> str:
    """Return ``text`` with all marked lists as items: for text inside a list or a quotation."""
    return _join(_render(_parse(text.split("\n")), _Place(), flat=True))


def _join(lines: Iterable[str | None]) -> str:
    """The lines as a text; None is an empty line, where there is none."""
    found: list[str] = []
    for line in lines:
        if line is not None or (found and found[-1].strip()):
            found.append(line or "")
    return "\n".join(found)


def _parse(lines: Sequence[str]) -> list[str | _List]:
    """The lines, and the lists among them; a mark that belongs to no list is left out."""
    found: list[str | _List] = []
    lists: list[_List] = []
    for line in lines:
        rest = line
        for around in lists:
            rest = "" if rest == around.prefix.rstrip() else rest.removeprefix(around.prefix)
        mark = _MARK.match(rest)
        into = lists[-1].last.body if lists else found
        if not mark:
            into.append(rest)
        elif mark[2] == BEGIN:
            lists.append(_List(mark[1]))
            into.append(lists[-1])
        elif lists and mark[2] == END:
            lists.pop()
        elif lists and (term := mark[3].strip()):
            last = lists[-1].last
            if any(map(_is_filled, last.body)):
                lists[-1].entries.append(_Entry([term]))
            else:  # a term behind another one without a body has that one's
                last.terms.append(term)
    return found


def _is_filled(part: str | _List) -> bool:
    return isinstance(part, _List) or bool(part.strip())


def _render(
    parts: Sequence[str | _List], place: _Place, *, flat: bool = False, inside: bool = False
) -> Iterator[str | None]:
    """The lines of ``parts``, which stand at ``place``; ``flat``: where there is no place for a heading.

    ``inside`` an entry a list is of its values, and has items, but where its terms have ids, as methods of a class do.
    """
    behind = False
    for number, part in enumerate(parts):
        if isinstance(part, str):
            heading = place.passes(part)
            if behind and part.strip():
                behind = False
                if not heading:  # what follows the entries belongs to the section around them
                    yield from (None, f"{'#' * max(place.level, _LEVELS[0])} {place.title}", None)
            if part.strip() or not behind:
                yield part
        elif flat or not _has_entries(part, inside) or (not place.level and any(map(_is_filled, parts[number + 1 :]))):
            yield from (f"{part.prefix}{line}".rstrip() if line else line for line in _items(part))
        else:
            behind = bool(place.level)
            yield from _sections(part, place)


def _sections(one: _List, place: _Place) -> Iterator[str | None]:
    for entry in one.entries:
        within = replace(place)
        if entry.terms:
            heading, within = _heading(entry.terms, place.level), _Place()
            within.passes(heading[1] or "")
            yield from heading
        yield from _render(_trim(entry.body), within, inside=bool(entry.terms))
    yield None


def _trim(body: Sequence[str | _List]) -> Sequence[str | _List]:
    filled = [number for number, part in enumerate(body) if _is_filled(part)]
    return body[filled[0] : filled[-1] + 1] if filled else ()


def _has_entries(one: _List, inside: bool) -> bool:
    """Whether at least half of the terms are names; where ``inside`` an entry: names with an id."""
    sign = _ID.search if inside else _NAME.match
    signed = [bool(sign(entry.terms[0])) for entry in one.entries if entry.terms]
    return not one.prefix and any(signed) and 2 * sum(signed) >= len(signed)


def _heading(terms: Sequence[str], level: int) -> tuple[str | None, ...]:
    """An entry's heading, which says all its names, where they are not too long, else the first, and all below it."""
    names = [_as_code(_ID.sub("", term)) for term in terms]
    anchor = next((found[0] for term in terms if (found := _ID.search(term))), "")
    shown = short = ", ".join(names)
    if len(shown) > MAX_HEADING_CHARS:
        short = names[0]
    if len(short) > MAX_HEADING_CHARS:
        short = _NAME_ENDS.split(short)[0][:MAX_HEADING_CHARS]
        short += "`" * (short.count("`") % 2)
    marks = "#" * min(max(level + 1, _LEVELS[0]), _LEVELS[1])
    heading = (None, f"{marks} {short} {anchor.strip()}".rstrip(), None)
    return heading if short == shown else (*heading, shown, None)


def _as_code(term: str) -> str:
    """Return a name with its placeholders as plain code; other terms are unchanged."""
    if not _NAME.match(term) or _IS_CODE.match(term):
        return term
    plain = _MARKS.sub("", term).strip()
    return f"`{plain}`" if plain else term


def _items(one: _List) -> Iterator[str | None]:
    yield None
    for entry in one.entries:
        term = ", ".join(_ID.sub("", term) for term in entry.terms)
        body = _join(_render(_trim(entry.body), _Place(), flat=True))
        if not term:
            yield from (body, None) if body else ()
            continue
        yield f"- {term}{'' if _ENDED.search(term) else ':'}"
        yield from (f"  {line}" if line else "" for line in body.split("\n") if body)
    yield None
