"""Lists of definitions in Markdown, as Pandoc, PHP Markdown Extra, kramdown, Hugo and MkDocs read them.

`--cache`
:   Keep what was made. (further lines are indented)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from documents.entries import BEGIN, END, TERM

MAX_TERMS = 4

_BODY = re.compile(r"( {0,2}[:~][ \t]{1,4})(\S.*)")
_TERM = re.compile(r"(?![#>|:~]|[-*+]\s|\d+[.)]\s|`{3}|\s)\S.*")
_FENCE = re.compile(r"\s*(?:[:~][ \t]+)?(`{3,}|~{3,})")


def marked(text: str) -> str:
    """``text`` with marks for ``documents.entries`` in place of its lists of definitions."""
    lines = text.split("\n")
    return "\n".join(_marked(lines)) if any(map(_BODY.match, lines)) else text


def _marked(lines: Sequence[str]) -> Iterator[str]:
    at, fence, within = 0, "", False
    while at < len(lines):
        line = lines[at]
        terms = () if fence else _terms(lines, at)
        if terms:
            yield from () if within else (BEGIN,)
            yield from (f"{TERM}{term.strip()}" for term in terms)
            within = True
            bodies, at = _bodies(lines, at + len(terms))
            yield from bodies
            continue
        if within and line.strip():
            within = False
            yield END
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        yield line
        at += 1
    if within:
        yield END


def _bodies(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """All definitions from ``at`` on, and where they end."""
    found: list[str] = []
    while at < len(lines) and (not lines[at].strip() or _BODY.match(lines[at])):
        body, at = _body(lines, at)
        found += body
    return found, at


def _terms(lines: Sequence[str], at: int) -> Sequence[str]:
    """The lines from ``at`` on that are terms: a short paragraph above a definition; with a line between it is one."""
    end = at
    while end < len(lines) and end - at <= MAX_TERMS and _TERM.match(lines[end]) and not _BODY.match(lines[end]):
        end += 1
    apart = end - at == 1 and end < len(lines) and not lines[end].strip()
    begins = not at or not lines[at - 1].strip() or bool(_BODY.match(lines[at - 1])) or lines[at - 1].startswith(" ")
    is_defined = end + apart < len(lines) and _BODY.match(lines[end + apart]) is not None
    return lines[at:end] if begins and is_defined and 0 < end - at <= MAX_TERMS else ()


def _body(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """A definition, or the empty line before one, without its indentation; and where it ends."""
    first = _BODY.match(lines[at])
    if not first:
        return [""], at + 1
    width, known = len(first[1].expandtabs(4)), False
    body, at, blank = ["", first[2]], at + 1, False
    while at < len(lines):
        line = lines[at].expandtabs(4)
        indent = len(line) - len(line.lstrip())
        if line.strip() and (_BODY.match(line) or (blank and indent < 2) or _terms(lines, at)):
            break
        if indent and line.strip() and not known:  # by as much as the first of the further lines is indented, up to 4
            width, known = max(min(indent, 4), 2), True
        blank = not line.strip()
        body.append(line[min(indent, width) :])
        at += 1
    return body, at
