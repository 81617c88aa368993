"""Files that a page includes: mdBook, MkDocs, FastAPI, VitePress, Hugo, MDX, and the partials of Ruby's templates.

Includes stand in code as well as in text. A file that is not found leaves nothing;
``PageContext.missing`` names it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from functools import partial
from pathlib import PurePosixPath

from documents.converters.output import fence
from documents.markup.code import HiddenCode
from documents.markup.context import PageContext
from documents.markup.extensions import note_part
from documents.markup.tags import REMOVED, drop_front_matter, tidy

MAX_INCLUDE_DEPTH = 4

# In this order, pages that hold one: mdBook's 72 of 112 (docs_rust_book); FastAPI's 82 of 137; PyMdown's snippets 1 of
# 96 (Material's documentation); VitePress' 1 and 4 of 36 (its own); Hugo's 161 of 989 (docs_hugo), 2 of 41 (Docsy).
_BOOK = re.compile(
    r"(?P<escaped>\\)?\{\{\s*#(?:include|rustdoc_include|playground)"
    r"\s+(?P<file>[^\s:}]{1,300})(?P<part>:[^\s}]{0,100})?[^}\n]{0,300}\}\}"
)
_FASTAPI = re.compile(
    r"^(?P<indent>[ \t]*)\{[!*]>?[ \t]*(?P<file>[^\s!*}\[]+)[ \t]*(?:\[?ln[:\[](?P<lines>[^\]\n]*)\])?"
    r"[^!*}\n]*[!*]\}[ \t]*$",
    re.MULTILINE,
)
_SNIPPET = re.compile(
    r"^(?P<indent>[ \t>]*)(?P<escaped>;)?-+8<-+[ \t]+[\"'](?P<file>[^\"':\n]+)(?P<part>:[^\"'\n]*)?[\"'][ \t]*$", re.M
)
_COMMENT = re.compile(
    r"<!--\s*@include:\s*(?P<file>[^\s{#>]+)(?:#(?P<part>[^\s{>]+))?\s*(?:\{(?P<lines>[^}\n]*)\})?[^>\n]*-->"
)
_CODE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<code><<<)[ \t]+(?P<file>[^\s{#]+)(?:#(?P<part>[^\s{]+))?[^\n]*$", re.MULTILINE
)
_HUGO = re.compile(
    r"\{\{[<%]\s*(?:include|readfile)\s+(?:file=)?[\"']?(?P<file>[^\s\"'>%]+)[\"']?(?P<rest>[^\n>%]*)[%>]\}\}"
)
_IMPORT = re.compile(r"^import[ \t]+(\w+)[ \t]+from[ \t]+[\"']([^\"'\n]+\.mdx?)[\"'];?[ \t]*$", re.MULTILINE)
_BOOK_TITLE = re.compile(r"\{\{\s*#title\s[^}\n]*\}\}")
_EMPTIED_FENCE = re.compile(
    rf"^[ \t]*(`{{3,}}|~{{3,}})[^\n]*\n[ \t\n]*{REMOVED}[ \t\n{REMOVED}]*\n[ \t]*\1[ \t]*$", re.MULTILINE
)
_MARKER = re.compile(r"^.*(?:ANCHOR(?:_END)?:|--8<-- *\[(?:start|end)).*\n?|^\W*#(?:end)?region\b.*\n?", re.MULTILINE)
_RUN = re.compile(r"\s*L?(\d{1,8})?\s*(?:(-|:|\.\.)\s*L?(-?\d{1,8})?\s*)?")


def include_files(text: str, context: PageContext, *, components: bool = False) -> str:
    """Replace includes by the text of their files; with ``components`` (MDX) imported pages too."""
    text = _include_pages(text, context, MAX_INCLUDE_DEPTH) if components else text
    return _include(_BOOK_TITLE.sub(REMOVED, text), context, MAX_INCLUDE_DEPTH)


def _include_pages(text: str, context: PageContext, depth: int) -> str:
    """Replace ``<Name />`` by the page that is imported under the name, as on 5 pages of Nextra's and 6 of Redux'."""
    for name, file in _IMPORT.findall(text) if depth else ():
        used = re.compile(rf"<{name}\b[^<>]*/>")
        if used.search(text) and (page := context.read_include(file)) is not None:
            page = _include_pages(drop_front_matter(page), context, depth - 1)
            text = used.sub(f"\n\n{page}\n\n".replace("\\", "\\\\"), text)
    return text


def _include(text: str, context: PageContext, depth: int) -> str:
    take = partial(_included_text, context=context, depth=depth)
    for form in (_BOOK, _FASTAPI, _SNIPPET, _COMMENT, _HUGO):
        text = form.sub(take, text)
    if "<<<" in text:  # which VitePress does not read in code
        hidden = HiddenCode()
        text = hidden.restore(_CODE.sub(take, hidden.hide(text)))
    return tidy(_EMPTIED_FENCE.sub(REMOVED, text)) if REMOVED in text else text


def _included_text(match: re.Match[str], context: PageContext, depth: int) -> str:
    groups = {name: value or "" for name, value in match.groupdict().items()}
    if groups.get("escaped"):
        return match[0].replace(groups["escaped"], "", 1)
    found = context.read_include(match["file"]) if depth else None
    if found is None:
        return REMOVED
    if not match["file"].endswith((".yaml", ".yml")):  # which may begin with a ruler too
        found = drop_front_matter(found)
    part = _select_part(found, match.re, groups)
    if part is None:
        context.missing[f"{match['file']}:{groups['part'].removeprefix(':')}"] = None
        return REMOVED
    part = _MARKER.sub("", part).strip("\n")
    context.included[-1] = part if match["file"].endswith((".md", ".mdx", ".markdown")) else fence(part)
    if groups.get("code") or "code" in groups.get("rest", ""):
        part = fence(part, PurePosixPath(match["file"]).suffix[1:])
    else:
        part = _include(part, context, depth - 1)
    return textwrap.indent(part, groups.get("indent", ""))


def _select_part(text: str, form: re.Pattern[str], groups: dict[str, str]) -> str | None:
    """Return the part of ``text`` that an include selects; None if there is no such part."""
    part, ranges = groups.get("part", "").removeprefix(":"), groups.get("lines", "")
    if form is _SNIPPET and part.isdecimal():
        part += ":"  # from this line on; mdBook means this line alone
    ranges = ranges.replace(",", ":") if form is _COMMENT else ranges  # "{2,4}"
    lines = numbered_lines(text.split("\n"), part) if part else text.split("\n")
    if lines is None:
        section = note_part(text, part) if form is _COMMENT else ""
        named = _anchored_part(text, re.escape(part)) or section
        lines = named.split("\n") if named else None
    return None if lines is None else "\n".join(numbered_lines(lines, ranges) or lines)


def numbered_lines(lines: Sequence[str], ranges: str) -> Sequence[str] | None:
    """Return the lines in ``ranges`` ("3", "1:5,9", "1-5", "L1-L5", "1..4;7..-1" to the last); None without numbers."""
    runs = [_RUN.fullmatch(run) for run in re.split("[,;]", ranges)]
    picked: list[str] = []
    for run in runs:
        if run is None or not (run[1] or run[2]):
            return None
        end = int(run[3] or len(lines)) if run[2] else int(run[1])
        picked += lines[max(int(run[1] or 1) - 1, 0) : end if end >= 0 else len(lines) + end + 1]
    return picked


def _anchored_part(text: str, name: str) -> str:
    """Return the text between the comments that mark the anchor or region ``name`` (a pattern); ``""`` for none."""
    start = re.search(
        rf"^.*(?:ANCHOR:[ \t]*{name}(?![\w-])|\[start:[ \t]*{name}\]|#?\bregion[ \t]+{name}(?![\w.-])).*\n", text, re.M
    )
    if start is None:
        return ""
    stop = re.compile(
        rf"^.*(?:ANCHOR_END:[ \t]*{name}(?![\w-])|\[end:[ \t]*{name}\]|\bendregion\b(?:[ \t]+{name}(?![\w.-])|\W*$)).*",
        re.M,
    ).search(text, start.end())
    return textwrap.dedent(text[start.end() : stop.start() if stop else len(text)])


PARTIAL_SUFFIXES = ("", ".md.erb", ".md", ".html.md.erb", ".html.md", ".html.erb", ".erb", ".html")

_ERB_TAG = re.compile(r"<%(?P<literal>%)?(?P<code>(?:[^%]|%(?!>)){0,2000})%>")
_PARTIAL = re.compile(r"=?\s*(?:partial|render|include)\b[\s(]*[\"'](?P<name>[^\"'\n]+)[\"']")
_ERB_LINK = re.compile(r"=\s*link_to\b[\s(]*(?P<q>[\"'])(?P<text>.*?)(?P=q)\s*,\s*[\"'](?P<to>[^\"'\s]+)[\"']")
_ERB_TEXT = re.compile(r"=\s*\w+[\s(]+(?P<q>[\"'])(?P<text>.*\s.*)(?P=q)\s*\)?\s*-?", re.DOTALL)


def expand_erb(text: str, context: PageContext, depth: int = MAX_INCLUDE_DEPTH) -> str:
    """Include partials, replace calls by their links and texts, and remove all other tags.

    Ruby runs before Markdown is read, in code as well.
    """

    def expand(match: re.Match[str]) -> str:
        if match["literal"]:
            return f"<%{match['code']}%>"
        if partial := _PARTIAL.match(match["code"]):
            place = PurePosixPath(partial["name"])
            stems = (place, place.with_name(f"_{place.name}"))
            names = (f"{stem}{suffix}" for stem in stems for suffix in PARTIAL_SUFFIXES)
            found = context.read_include(*names) if depth else None
            return REMOVED if found is None else expand_erb(drop_front_matter(found), context, depth - 1)
        if link := _ERB_LINK.match(match["code"]):
            return f"[{link['text']}]({link['to']})"
        call_text = _ERB_TEXT.fullmatch(match["code"])
        return call_text["text"] if call_text else REMOVED

    return tidy(_ERB_TAG.sub(expand, text))
