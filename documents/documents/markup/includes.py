"""Files that a page includes: mdBook, MkDocs, FastAPI, VitePress, Hugo, and the partials of Ruby's templates.

Includes stand in code as well as in text. A file that does not exist in the folder leaves nothing.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from documents.markup.context import PageContext
from documents.markup.tags import REMOVED, tidy

MAX_INCLUDE_DEPTH = 4

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
_BOOK_TITLE = re.compile(r"\{\{\s*#title\s[^}\n]*\}\}")
_EMPTIED_FENCE = re.compile(
    rf"^[ \t]*(`{{3,}}|~{{3,}})[^\n]*\n[ \t\n]*{REMOVED}[ \t\n{REMOVED}]*\n[ \t]*\1[ \t]*$", re.MULTILINE
)
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)\n.*?^\1[ \t]*\n", re.DOTALL | re.MULTILINE)
_MARKER = re.compile(r"^.*(?:ANCHOR(?:_END)?:|--8<-- *\[(?:start|end)).*\n?", re.MULTILINE)
_LINES = re.compile(r"ln\[(\d*):(\d*)\]")


def include_files(text: str, context: PageContext) -> str:
    """Replace includes by the text of their files."""
    return _include(_BOOK_TITLE.sub(REMOVED, text), context, MAX_INCLUDE_DEPTH)


def _include(text: str, context: PageContext, depth: int) -> str:
    for form in _FORMS:
        text = form.sub(lambda match: _included_text(match, context, depth), text)
    return tidy(_EMPTIED_FENCE.sub(REMOVED, text)) if REMOVED in text else text


def _included_text(match: re.Match[str], context: PageContext, depth: int) -> str:
    groups = match.groupdict()
    if groups.get("escaped"):
        return match[0].replace(groups["escaped"], "", 1)
    found = context.read_include(match["file"]) if depth else None
    if found is None:
        return REMOVED
    found = _FRONT_MATTER.sub("", found.replace("\r\n", "\n"))
    part = _select_part(found, (groups.get("part") or "").lstrip(":"), groups.get("lines") or "").strip("\n")
    if groups.get("code") or "code" in (groups.get("rest") or ""):
        return f"```\n{part}\n```"
    return _include(part, context, depth - 1)


def _select_part(text: str, part: str, lines: str) -> str:
    """Return the selected anchor or lines of ``text``, without the comments that mark anchors."""
    numbers = _LINES.search(lines)
    first, _, last = ":".join(numbers.groups()).partition(":") if numbers else part.partition(":")
    if (first or last) and all(not number or (number.isdecimal() and len(number) < 9) for number in (first, last)):
        end = last if last or ":" in part or numbers else first
        return "\n".join(text.split("\n")[max(int(first or 1) - 1, 0) : int(end) if end else None])
    return _MARKER.sub("", _anchored_part(text, re.escape(part)) if part else text)


def _anchored_part(text: str, name: str) -> str:
    """Return the text between the comments that mark the anchor ``name`` (a pattern)."""
    start = re.search(rf"^.*(?:ANCHOR:\s*{name}|\[start:\s*{name}\]).*\n", text, re.MULTILINE)
    stop = re.search(rf"^.*(?:ANCHOR_END:\s*{name}|\[end:\s*{name}\]).*", text, re.MULTILINE)
    return text[start.end() : stop.start() if stop else len(text)] if start else ""


MAX_PARTIAL_DEPTH = 4
PARTIAL_SUFFIXES = ("", ".md.erb", ".md", ".html.md.erb", ".html.md", ".html.erb", ".erb", ".html")

_ERB_TAG = re.compile(r"<%(?P<literal>%)?(?P<code>(?:[^%]|%(?!>)){0,2000})%>")
_PARTIAL = re.compile(r"=?\s*(?:partial|render|include)\b[\s(]*[\"'](?P<name>[^\"'\n]+)[\"']")
_ERB_LINK = re.compile(r"=\s*link_to\b[\s(]*(?P<q>[\"'])(?P<text>.*?)(?P=q)\s*,\s*[\"'](?P<to>[^\"'\s]+)[\"']")
_ERB_TEXT = re.compile(r"=\s*\w+[\s(]+(?P<q>[\"'])(?P<text>.*\s.*)(?P=q)\s*\)?\s*-?", re.DOTALL)
_YAML_FRONT_MATTER = re.compile(r"\A---\n.*?^---[ \t]*\n", re.DOTALL | re.MULTILINE)


def is_erb(context: PageContext) -> bool:
    """Return whether the page is a template of Ruby, by its file's name."""
    return context.file.suffix.lower() == ".erb"


def expand_erb(text: str, context: PageContext, depth: int = MAX_PARTIAL_DEPTH) -> str:
    """Include partials, replace calls by their links and texts, and remove all other tags.

    Ruby runs before Markdown is read, in code as well.
    """

    def expand(match: re.Match[str]) -> str:
        if match["literal"]:
            return f"<%{match['code']}%>"
        if partial := _PARTIAL.match(match["code"]):
            found = _read_partial(partial["name"], context) if depth else None
            return REMOVED if found is None else expand_erb(found, context, depth - 1)
        if link := _ERB_LINK.match(match["code"]):
            return f"[{link['text']}]({link['to']})"
        call_text = _ERB_TEXT.fullmatch(match["code"])
        return call_text["text"] if call_text else REMOVED

    return tidy(_ERB_TAG.sub(expand, text))


def _read_partial(name: str, context: PageContext) -> str | None:
    """Return the text of a partial, whose file may begin with ``_`` and have a template's suffixes."""
    place = PurePosixPath(name)
    for stem in (place, place.with_name(f"_{place.name}")):
        for suffix in PARTIAL_SUFFIXES:
            found = context.read_include(f"{stem}{suffix}")
            if found is not None:
                return _YAML_FRONT_MATTER.sub("", found.replace("\r\n", "\n"))
    return None
