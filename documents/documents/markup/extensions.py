"""Extensions of Markdown: attribute lists, definition lists, wiki links and HTML's entities."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference

from documents.converters.icons import named_word
from documents.entries import BEGIN, END, TERM
from documents.markup.code import HiddenCode
from documents.markup.context import PageContext
from documents.markup.tags import REMOVED, drop_front_matter, is_alone_in_cell, tidy

_LIST_ITEM = r"""(?:[.#][\w:.!/\[\]%-]+|[:@]?[\w:-]+=(?:"[^"\n]*"|'[^'\n]*'|[^\s"'{}]+))"""
# With a colon: 29 of 45 pages of a Jekyll theme's documentation, 29 of 111 in docs_jekyll. Without: 63 of 137 in
# docs_fastapi, 110 of 119 of Vue's, 26 of 96 of Material's. `{name=value}` alone is one only behind a link, a picture,
# emphasis or code.
_COLON_LIST = re.compile(r"\{::?[ \t]*(?:/?[\w-]+[ \t]*)?(?:[^{}\n\"']|\"[^\"\n]*\"|'[^'\n]*')*\}")
_LIST = re.compile(rf"\{{[ \t]*{_LIST_ITEM}(?:[ \t]+(?:{_LIST_ITEM}|[\w-]+))*[ \t]*\}}")
_NO_LIST = re.compile(r"\{[ \t]*[\w:@-]")
_BLOCKS = MarkdownIt("commonmark")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_LABEL = re.compile(r"\[(?=((?:\\.|[^\[\]\\]|\[(?:\\.|[^\[\]\\])*\]){1,999})\])")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_ANCHOR = re.compile(r"(?:^|[\s:{])#([^\s{}\"']+)")
_BELOW_HEADING = re.compile(r"^( {0,3}#{1,6}[ \t][^\n]*)\n[ \t]*(\{:[^{}\n]*\})[ \t]*$", re.MULTILINE)
_SPAN_END = re.compile(rf"(?<![!\]\\])\[([^\[\]\n]*)\](?:{_LIST.pattern}|{_COLON_LIST.pattern})")
# MDC's `:name[text]{...}`: 26 of 60 pages in docs_nuxt_content.
_MDC = re.compile(r"(?<![\w:`/])::?[a-z][\w-]*(?:\[(?P<text>[^\[\]\n]*)\](?:\{[^{}\n]*\})?|\{(?P<props>[^{}\n]*)\})")
_MDC_BREAK = re.compile(r"(?<!\S):br(?!\S)")
_MDC_LABEL = re.compile(r"""\b(?:label|text|title|value)=(?:"([^"]*)"|'([^']*)')""")
_ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[\w-]+:")  # 55 of 96 of Material's pages


def drop_attributes(text: str) -> str:
    """Remove attribute lists, icons and MDC's marks; ``## Heading {#anchor}`` keeps its anchor."""
    text = _BELOW_HEADING.sub(r"\1 \2", text)
    text = _MDC_BREAK.sub(REMOVED, _ICON.sub(_write_icon, _MDC.sub(_write_mdc, text)))
    lines = _SPAN_END.sub(r"\1", text).split("\n")
    return tidy("\n".join(map(_clean_line, lines)))


def _clean_line(line: str) -> str:
    if not _HEADING.match(line):
        return _LIST.sub(_drop_list, _COLON_LIST.sub(REMOVED, line))
    found = " ".join([*_COLON_LIST.findall(line), *_LIST.findall(line)])
    anchor = _ANCHOR.search(found)
    bare = _LIST.sub("", _COLON_LIST.sub("", line)).rstrip() if found else line
    return f"{bare} {{#{anchor[1]}}}" if anchor else bare


def _write_icon(match: re.Match[str]) -> str:
    """Return the word of an icon that is alone in a cell of a table, else the mark of a removed part."""
    return (named_word([match[0]]) if is_alone_in_cell(match.string, *match.span()) else "") or REMOVED


def drop_unused_definitions(text: str) -> tuple[str, list[str]]:
    """Return ``text`` without definitions of links that no link uses, and their titles: comments are written so.

    A definition that is a whole picture, as in Markdown of Google Docs, goes too.
    """
    found: dict[str, Any] = {}
    if "]:" in text:
        _BLOCKS.parse(text, found)
    definitions = {label: one for label, one in found.get("references", {}).items() if not label.startswith("^")}
    prose = _drop_lines(text, definitions.values())
    used = {normalizeReference(label) for label in _LABEL.findall(prose)} if definitions else set()
    unused = [one for label, one in definitions.items() if label not in used or one["href"].startswith("data:")]
    return _drop_lines(text, unused), [one["title"] for one in unused]


def _drop_lines(text: str, parts: Iterable[Mapping[str, Any]]) -> str:
    gone = {line for part in parts for line in range(*part["map"])}
    return "\n".join(line for number, line in enumerate(text.split("\n")) if number not in gone) if gone else text


def _drop_list(match: re.Match[str]) -> str:
    before = match.string[: match.start()]
    attached = before[-1:] in (")", "]", "*", "_", "\ufdd1") or not before.strip()
    if before.endswith(("{", "\\", "$")) or (_NO_LIST.match(match[0]) and not attached):
        return match[0]
    return REMOVED


def _write_mdc(match: re.Match[str]) -> str:
    if match["text"] is not None:
        return match["text"]
    label = _MDC_LABEL.search(match["props"])
    if label is None and not re.search(r"=|^\s*[.#]", match["props"]) and match["props"].strip():
        return match[0]
    return (label[1] or label[2] or REMOVED) if label else REMOVED


MAX_TERMS = 4

_BODY = re.compile(r"( {0,2}[:~][ \t]{1,4})(\S.*)")
_TERM = re.compile(r"(?![#>|:~]|[-*+]\s|\d+[.)]\s|`{3}|\s)\S.*")
_DEFINITION_FENCE = re.compile(r"\s*(?:[:~][ \t]+)?(`{3,}|~{3,})")


def mark_definitions(text: str) -> str:
    """Replace definition lists by marks for ``documents.entries``."""
    lines = text.split("\n")
    if not any(map(_BODY.match, lines)):
        return text
    out: list[str] = []
    at, fence, within = 0, "", False
    while at < len(lines):
        line = lines[at]
        if terms := () if fence else _find_terms(lines, at):
            out += [*(() if within else (BEGIN,)), *(f"{TERM}{term.strip()}" for term in terms)]
            bodies, at = _read_bodies(lines, at + len(terms))
            out += bodies
            within = True
            continue
        if within and line.strip():
            within = False
            out.append(END)
        if mark := _DEFINITION_FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        out.append(line)
        at += 1
    return "\n".join([*out, END] if within else out)


def _read_bodies(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """Return all definitions from line ``at`` on, and the line at which they end."""
    found: list[str] = []
    while at < len(lines) and (not lines[at].strip() or _BODY.match(lines[at])):
        body, at = _read_body(lines, at)
        found += body
    return found, at


def _find_terms(lines: Sequence[str], at: int) -> Sequence[str]:
    """Return the term lines from ``at`` on: a short paragraph above a definition; a blank line may follow one term."""
    end = at
    while end < len(lines) and end - at <= MAX_TERMS and _TERM.match(lines[end]) and not _BODY.match(lines[end]):
        end += 1
    apart = end - at == 1 and end < len(lines) and not lines[end].strip()
    begins = not at or not lines[at - 1].strip() or bool(_BODY.match(lines[at - 1])) or lines[at - 1].startswith(" ")
    is_defined = end + apart < len(lines) and _BODY.match(lines[end + apart]) is not None
    return lines[at:end] if begins and is_defined and 0 < end - at <= MAX_TERMS else ()


def _read_body(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """Return a definition without its indentation, or the empty line before one, and the line at which it ends."""
    first = _BODY.match(lines[at])
    if not first:
        return [""], at + 1
    width, known = len(first[1].expandtabs(4)), False
    body, at, blank = ["", first[2]], at + 1, False
    while at < len(lines):
        line = lines[at].expandtabs(4)
        indent = len(line) - len(line.lstrip())
        if line.strip() and (_BODY.match(line) or (blank and indent < 2) or _find_terms(lines, at)):
            break
        if indent and line.strip() and not known:  # by as much as the first of the further lines is indented, up to 4
            width, known = max(min(indent, 4), 2), True
        blank = not line.strip()
        body.append(line[min(indent, width) :])
        at += 1
    return body, at


MAX_NOTE_DEPTH = 4
"""Notes in notes that are taken in."""

_WIKI_LINK = re.compile(
    r"(?<![\\\[])(?P<embed>!?)\[\[(?P<page>[^\[\]\n|]{0,300}?)(?:\\?\|(?P<words>[^\[\]\n]{0,500}))?\]\](?![(\[])"
)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_HIGHLIGHT = re.compile(r"==(?=\S)([^=\n]+?)(?<=\S)==")
_BLOCK_ID = re.compile(r"(?:^|[ \t]+)\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_SIZE = re.compile(r"\d+(?:x\d+)?$")
_ATX = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")


def expand_wiki_links(text: str, context: PageContext, depth: int = MAX_NOTE_DEPTH) -> str:
    """Replace links by their words and embeds by notes, ``depth`` deep; remove comments and block ids."""
    if "[[" not in text and not context.is_vault:
        return text
    hidden = HiddenCode()
    prose = hidden.hide(text)
    if context.is_vault or _WIKI_LINK.search(prose):
        prose = _BLOCK_ID.sub(REMOVED, _HIGHLIGHT.sub(r"\1", _COMMENT.sub(REMOVED, prose)))
    prose = _WIKI_LINK.sub(lambda match: _expand_link(match, context, depth), prose)
    return hidden.restore(tidy(prose))


def _expand_link(match: re.Match[str], context: PageContext, depth: int) -> str:
    page, _, part = match["page"].partition("#")
    words = (match["words"] or "").strip()
    if match["embed"]:
        return _embed_note(match, context, depth, words or _link_name(page, part) or REMOVED)
    if words and context.note_path(words) is not None and context.note_path(page) is None:
        return page.strip()  # GitHub's wikis have the page behind the words
    return words or _link_name(page, part) or match[0]


def _embed_note(match: re.Match[str], context: PageContext, depth: int, words: str) -> str:
    """Return a note as separate blocks, within the item or quotation around it, or as words of the line."""
    page, _, part = match["page"].partition("#")
    path = context.note_path(page)
    if PurePosixPath(page).suffix.lower() not in ("", ".md") and path is None:  # a picture, a PDF
        return words if match["words"] and not _SIZE.match(words) else REMOVED
    found = context.read_include(path) if path and depth else None
    if found is None:
        return words
    context.included[-1] = found = note_part(drop_front_matter(found), part).strip("\n")
    taken = expand_wiki_links(found, context, depth - 1)
    before = match.string[: match.start()].rpartition("\n")[2]
    if not before:
        return f"\n\n{taken}\n\n"
    return " ".join(taken.split()) if before.strip(" \t>") else taken.replace("\n", f"\n{before}")


def _link_name(page: str, part: str) -> str:
    """Return ``Note > Heading``, as Obsidian shows a link without words; ids of blocks are not shown."""
    name = PurePosixPath(page.strip()).name.removesuffix(".md")
    return " > ".join(filter(None, (name, *(word.strip() for word in part.split("#") if not word.startswith("^")))))


def note_part(text: str, part: str) -> str:
    """Return the named section or block of ``text``; all of it if there is no such part."""
    lines = text.split("\n")
    wanted = "" if part.startswith("^") else _heading_key(part.rpartition("#")[2])
    for number, line in enumerate(lines):
        heading = _ATX.match(line) if wanted else None
        if heading and _heading_key(heading[2]) == wanted:
            levels = ((n, _ATX.match(lines[n])) for n in range(number + 1, len(lines)))
            end = next((n for n, next_ in levels if next_ and len(next_[1]) <= len(heading[1])), len(lines))
            return "\n".join(lines[number:end])
        if part.startswith("^") and line.rstrip().endswith(part):  # the item or paragraph that ends so
            above = "\n".join(lines[: number + 1]).removesuffix(part).rstrip()
            return line if line.lstrip().startswith(("-", "*", "+")) else above.rpartition("\n\n")[2] or text
    return text


def _heading_key(heading: str) -> str:
    """Return a heading's words as links compare them: case-folded, without marks."""
    return " ".join(re.findall(r"\w+", heading)).casefold()


_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKDOWN_MARKS = frozenset("\\`*_[]<|#")


def decode_entities(prose: str) -> str:
    """Replace entities in ``prose`` (text without code) by characters, with a backslash before Markdown's marks."""
    return _ENTITY.sub(_decode_entity, prose) if "&" in prose else prose


def _decode_entity(match: re.Match[str]) -> str:
    char = html.unescape(match[0])
    if char == match[0] or (char == "&" and re.match(r"#?\w+;", match.string[match.end() : match.end() + 40])):
        return match[0]
    if char.isspace():
        return " "
    if not char.isprintable() and all(unicodedata.category(one) in ("Cf", "Cc") for one in char):
        return ""  # soft hyphens, blanks without width
    if char == ">":
        return char if match.string[: match.start()].rpartition("\n")[2].strip() else "\\>"
    return f"\\{char}" if char in _MARKDOWN_MARKS else char
