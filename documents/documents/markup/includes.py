"""Files that a page takes in: mdBook, MkDocs, FastAPI, VitePress and Hugo each have a way to say it.

Includes stand in code as well as in text. A file that is not there, or not inside the folder, leaves nothing.
"""

from __future__ import annotations

import re

from documents.markup.edits import GONE, tidy
from documents.markup.surroundings import Surroundings

MAX_DEPTH = 4

# In this order, pages that hold one: mdBook's 72 of 112 (docs_rust_book); FastAPI's 82 of 137; PyMdown's snippets 1 of
# 96 (Material's documentation); VitePress' two 1 and 4 of 36 (its own); Hugo's 161 of 989 (docs_hugo), 2 of 41 (Docsy).
_FORMS = (
    re.compile(
        r"(?P<escaped>\\)?\{\{\s*#(?:include|rustdoc_include|playground)"
        r"\s+(?P<file>[^\s:}]{1,300})(?P<part>:[^\s}]{0,100})?[^}\n]{0,300}\}\}"
    ),
    re.compile(r"^[ \t]*\{[!*]>?[ \t]*(?P<file>[^\s!*}]+)[ \t]*(?P<lines>[^!*}\n]*)[!*]\}[ \t]*$", re.MULTILINE),
    re.compile(r"^[ \t]*(?P<escaped>;)?-+8<-+[ \t]+[\"'](?P<file>[^\"':\n]+)(?P<part>:[^\"'\n]*)?[\"'][ \t]*$", re.M),
    re.compile(r"<!--\s*@include:\s*(?P<file>[^\s{#>]+)[^>\n]*-->"),
    re.compile(r"^[ \t]*(?P<code><<<)[ \t]+(?P<file>[^\s{#]+)[^\n]*$", re.MULTILINE),
    re.compile(r"\{\{[<%]\s*(?:include|readfile)\s+(?:file=)?[\"']?(?P<file>[^\s\"'>%]+)[\"']?(?P<rest>[^\n>%]*)[%>]\}\}"),
)  # fmt: skip
_TITLE = re.compile(r"\{\{\s*#title\s[^}\n]*\}\}")
_EMPTIED_FENCE = re.compile(
    rf"^[ \t]*(`{{3,}}|~{{3,}})[^\n]*\n[ \t\n]*{GONE}[ \t\n{GONE}]*\n[ \t]*\1[ \t]*$", re.MULTILINE
)
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)\n.*?^\1[ \t]*\n", re.DOTALL | re.MULTILINE)
_MARKER = re.compile(r"^.*(?:ANCHOR(?:_END)?:|--8<-- *\[(?:start|end)).*\n?", re.MULTILINE)
_LINES = re.compile(r"ln\[(\d*):(\d*)\]")


def taken_in(text: str, surroundings: Surroundings) -> str:
    """``text`` with the files that it includes."""
    return _Includer(surroundings).run(_TITLE.sub(GONE, text), MAX_DEPTH)


class _Includer:
    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    def run(self, text: str, depth: int) -> str:
        for form in _FORMS:
            text = form.sub(lambda match: self._one(match, depth), text)
        return tidy(_EMPTIED_FENCE.sub(GONE, text)) if GONE in text else text

    def _one(self, match: re.Match[str], depth: int) -> str:
        groups = match.groupdict()
        if groups.get("escaped"):
            return match[0].replace(groups["escaped"], "", 1)
        found = self._surroundings.included(match["file"]) if depth else None
        if found is None:
            return GONE
        found = _FRONT_MATTER.sub("", found.replace("\r\n", "\n"))
        part = _part(found, (groups.get("part") or "").lstrip(":"), groups.get("lines") or "").strip("\n")
        if groups.get("code") or "code" in (groups.get("rest") or ""):
            return f"```\n{part}\n```"
        return self.run(part, depth - 1)


def _part(text: str, part: str, lines: str) -> str:
    """The anchor or the lines of ``text`` that are asked for, without the comments that mark anchors."""
    numbers = _LINES.search(lines)
    first, _, last = ":".join(numbers.groups()).partition(":") if numbers else part.partition(":")
    if (first or last) and all(not number or (number.isdecimal() and len(number) < 9) for number in (first, last)):
        end = last if last or ":" in part or numbers else first
        return "\n".join(text.split("\n")[max(int(first or 1) - 1, 0) : int(end) if end else None])
    return _MARKER.sub("", _anchored(text, re.escape(part)) if part else text)


def _anchored(text: str, name: str) -> str:
    """What is between the comments that mark the anchor ``name`` (a pattern)."""
    start = re.search(rf"^.*(?:ANCHOR:\s*{name}|\[start:\s*{name}\]).*\n", text, re.MULTILINE)
    stop = re.search(rf"^.*(?:ANCHOR_END:\s*{name}|\[end:\s*{name}\]).*", text, re.MULTILINE)
    return text[start.end() : stop.start() if stop else len(text)] if start else ""
