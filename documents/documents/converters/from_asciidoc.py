"""AsciiDoc to Markdown, block by block: headings, lists, tables, admonitions, code, attributes of the header.

Of the libraries that were tried one is for the language of 2013 (asciidoc), one reads no attributes and no nested
lists (pyasciidoc), and one takes 15 s for a page of 6 KB (asciidoctrine).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

from documents import entries
from documents.converters.asciidoc_text import (
    fill_attributes,
    include_files,
    inline_markdown,
    split_lines,
)
from documents.converters.output import compose, fence, literal, one_line
from documents.converters.tables import table
from documents.errors import NoText, Unconvertible
from documents.markup.context import PageContext
from documents.sites.antora import find_attributes
from documents.values import Converted, Decode

MAX_BYTES = 20 * 1024 * 1024
MAX_DEPTH = 30

_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?$")
_HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)$")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|```\w*)\s*$")
_TABLE = re.compile(r"([|!,:])={3,}\s*$")
_BLOCK_ATTRIBUTES = re.compile(r"\[(\[[^\[\]]*\]|[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\s*$")
_ENDS_PARAGRAPH = re.compile(
    r"\[[a-z]+,[^\[\]]*\]$"
)  # ends a paragraph, as in Asciidoctor: nine times in Couchbase's pages
_ANCHOR = re.compile(r"\[\[([\w:.-]+)|^[^,]*#([\w:.-]+)|\bid=\"?([\w:.-]+)")
# Rulers and comments; include, ifdef, toc, video: nothing to read.
_IGNORED_LINE = re.compile(r"'''|<<<|//(?!/)|(?!image)[a-z]+::[^\s\[\]]*\[.*\]\s*$")
_CONDITION = re.compile(r"(?:ifn?def|ifeval)::[^\[]*\[(.+)\]\s*$|endif::")
_ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d+\.|<(?:\d+|\.)>)\s+(\S.*)$")
_TERM = re.compile(r"\s*((?!//)\S.*?)(:{2,4}|;;)(?:\s+(.*))?$")
_DEFINITIONS = "::"
_UNDERLINE = re.compile(r"(?:={2,}|-{2,}|~{2,}|\^{2,}|\+{2,})$")
_UNDERLINES = "=-~^+"
_TITLE = re.compile(r"\.(?![.\s])(.+)$")
_SOURCE_LANGUAGE = re.compile(r"(?:source|,|listing)[^,]*,\s*([\w+#-]+)")
_LANGUAGE_OPTION = re.compile(r"\blanguage=\"?([\w+#-]+)")
_ADMONITIONS = frozenset({"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"})


def convert(data: bytes, decode: Decode, context: PageContext | None = None) -> Converted:
    """Return the text as Markdown. Without ``context`` no other file is read.

    Raises:
        Unconvertible: the file is too large.
        NoText: it holds no text.
        ValueError: it is not text.
    """
    if len(data) > MAX_BYTES:
        raise Unconvertible(f"has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read: split it")
    text, caveat = decode(data)
    attributes, lines = {}, split_lines(text)
    if context:
        attributes = dict(find_attributes(context.site, context.file))
        if context.kind == "antora" and context.file.stem == "nav":
            raise NoText("is the navigation of a site")
        lines = include_files(lines, attributes, context)
    body = "\n\n".join(_BlockReader(attributes, 0, set()).blocks(lines))
    return Converted(compose(body), (caveat,) if caveat else ())


class _BlockReader:
    """A reader of blocks; ``attributes`` are those defined so far in the whole document."""

    def __init__(self, attributes: dict[str, str], depth: int, ids: set[str]) -> None:
        if depth > MAX_DEPTH:
            raise RecursionError
        self._attributes = attributes
        self._depth = depth
        self._ids = ids  # of the headings so far
        self._out: list[str] = []
        self._paragraph: list[str] = []
        self._stack: list[str] = []  # the markers of the list items that are open
        self._style = ""
        self._attached = False
        self._in_list = False  # the last block is an item
        self._awaits_body = False  # a term without a body yet

    def blocks(self, lines: Sequence[str]) -> list[str]:
        """Return the Markdown blocks of ``lines``."""
        at = 0
        while at < len(lines):
            at = self._read_block(lines, at)
        self._end_paragraph()
        self._end_lists()
        return self._out

    def _read_block(self, lines: Sequence[str], at: int) -> int:
        """Read the block that begins at a line, and return the line at which the next begins."""
        line = lines[at].rstrip()
        if not self._paragraph and _is_underlined(line, lines[at + 1].rstrip() if at + 1 < len(lines) else ""):
            self._add_heading("#" * (_UNDERLINES.index(lines[at + 1][0]) + 1), line)
            return at + 2
        if delimiter := _DELIMITER.match(line):
            return self._read_delimited(lines, at, delimiter[1])
        if _TABLE.match(line):
            return self._read_table(lines, at)
        if line == "+":
            self._end_paragraph()
            self._attached = True
        elif not line:
            self._end_paragraph()
            self._attached = self._awaits_body
        elif not self._read_control_line(line):
            self._read_text_line(line)
        return at + 1

    def _read_control_line(self, line: str) -> bool:
        """Read ``line`` unless it is a paragraph's text, and return whether it was read."""
        if attribute := _ATTRIBUTE.match(line):
            self._attributes[attribute[1].strip("!")] = self._attributes[attribute[1]] = attribute[2] or ""
        elif condition := _CONDITION.match(line):
            if condition[1]:
                self._read_text_line(condition[1])
        elif _IGNORED_LINE.match(line):
            pass
        elif (heading := _HEADING.match(line)) and not self._paragraph:
            self._add_heading(heading[1], heading[2])
        elif (_ENDS_PARAGRAPH if self._paragraph else _BLOCK_ATTRIBUTES).match(line):
            self._end_paragraph()
            self._style = f"{self._style},{line[1:-1]}" if self._style else line[1:-1]
        elif (title := _TITLE.match(line)) and not self._paragraph and not _ITEM.match(line):
            self._add(literal(inline_markdown(title[1], self._attributes)))
        else:
            return False
        return True

    def _add_heading(self, marks: str, text: str) -> None:
        self._end_lists()
        anchor = _anchor(self._style)
        self._style = ""
        title = inline_markdown(text, self._attributes)
        anchor = anchor or ("" if len(marks) == 1 else _section_id(title, self._attributes, self._ids))
        self._add(f"{'#' * len(marks)} {title}{f' {{#{anchor}}}' if anchor else ''}")

    def _read_text_line(self, line: str) -> None:
        if item := _ITEM.match(line):
            self._add_item(item[1], item[2])
        elif (term := _TERM.match(line)) and "::" not in term[1]:
            self._add_term(*term.groups())
        elif self._paragraph or not line.startswith(" ") or self._stack:
            self._paragraph.append(line.strip())
        else:
            self._add(fence(line.strip()))  # an indented line is literal

    def _add_term(self, text: str, marker: str, body: str | None) -> None:
        """Add a term and the beginning of its body: an item in a list of items, else an entry of a definition list."""
        if self._stack and (self._stack[0] != _DEFINITIONS or marker != _DEFINITIONS):
            self._add_item(marker, f"{text}:")
        else:
            self._end_paragraph()
            self._out += [] if self._stack else [entries.BEGIN]
            self._stack[:] = [_DEFINITIONS]
            anchor = _anchor(self._style)
            self._style = ""
            shown = " ".join(inline_markdown(text, self._attributes).split())
            self._out.append(f"{entries.TERM}{shown}{f' {{#{anchor}}}' if anchor else ''}")
            self._attached = self._awaits_body = True
            self._in_list = False
        self._paragraph += [body] if body else []

    def _end_lists(self) -> None:
        if self._stack[:1] == [_DEFINITIONS]:
            self._out.append(entries.END)
        self._stack.clear()
        self._awaits_body = False

    def _add_item(self, marker: str, text: str) -> None:
        self._end_paragraph()
        kind = re.sub(r"\d+", "1", marker)
        if kind in self._stack:
            del self._stack[self._stack.index(kind) + 1 :]
        else:
            self._stack.append(kind)
        self._attached = True
        bullet = "1. " if kind[0] in ".1" or kind.startswith("<") else "- "
        self._paragraph = [bullet + text]

    def _end_paragraph(self) -> None:
        if not self._paragraph:
            return
        text, self._paragraph = "\n".join(self._paragraph), []
        label = f"{self._style.strip('[]')}: " if self._style in _ADMONITIONS else ""
        quoted, self._style = _quotation_source(self._style), ""
        item = re.match(r"- |1\. ", text) if self._stack else None
        found = inline_markdown(text, self._attributes)
        shown = found if item else label + literal(found)
        self._add(shown if item or quoted is None else _quote([shown], quoted), item=bool(item))

    def _add(self, block: str, *, item: bool = False) -> None:
        """Add a block, within the open list item if it is attached to it."""
        if not item and not self._attached:
            self._end_lists()
        self._awaits_body = False
        indent = "   " * (len(self._stack) - (1 if item else 0) - (1 if self._stack[:1] == [_DEFINITIONS] else 0))
        if block:
            lines = block.split("\n")
            rest = indent + ("   " if item else "")
            shown = "\n".join([indent + lines[0], *(rest + line if line else "" for line in lines[1:])])
            if item and self._in_list:
                self._out[-1] += f"\n{shown}"
            else:
                self._out.append(shown)
            self._in_list = item

    def _read_delimited(self, lines: Sequence[str], at: int, mark: str) -> int:
        self._end_paragraph()
        close = "```" if mark.startswith("```") else mark
        end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == close), len(lines))
        inside, style, self._style = lines[at + 1 : end], self._style, ""
        if mark[0] in "-.`" and mark != "--":
            code = "\n".join(inside)
            shown = fill_attributes(code, self._attributes) if "subs=" in style else code
            language = _SOURCE_LANGUAGE.match(style) or _LANGUAGE_OPTION.search(style)
            self._add(fence(shown, language[1] if language else mark[3:].strip(".-`")))
        elif mark[0] not in "/+":
            name = style.split(",")[0].split("%")[0].split(".")[0]
            parts = _BlockReader(self._attributes, self._depth + 1, self._ids).blocks(inside)
            quoted = _quotation_source(style) if mark[0] in "_-" else None
            whole = "\n\n".join([f"{name}:", *parts] if name in _ADMONITIONS else parts)
            self._add(whole if quoted is None else _quote(parts, quoted))
        return end + 1

    def _read_table(self, lines: Sequence[str], at: int) -> int:
        self._end_paragraph()
        mark = lines[at].strip()
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == mark), len(lines))
        style, self._style = fill_attributes(self._style, self._attributes), ""
        self._add(_table_markdown(lines[at + 1 : end], mark[0], style, self._attributes))
        return end + 1


def _is_underlined(line: str, following: str) -> bool:
    """Return whether ``following`` underlines the title ``line``: their lengths differ by at most one."""
    is_line = _UNDERLINE.match(following) is not None and abs(len(line) - len(following)) <= 1
    return is_line and line[:1].isalnum() and not _ITEM.match(line)


def _anchor(style: str) -> str:
    return next((found for match in _ANCHOR.finditer(style) for found in match.groups() if found), "")


_NO_ID = re.compile(r"<[^>]+>|&(?:[a-z]+\d{0,2}|#\d{2,5}|#x[\da-f]{2,4});|[^ \w\-.]+")
_EMPHASIS = re.compile(r"[*`_^~#](?=\w)|(?<=\w)[*`_^~#]")
_GAPS = re.compile(r"[ .-]+")


def _quotation_source(style: str) -> str | None:
    """Return the source in ``[quote, author, work]``; None if the block is not a quotation."""
    name, *options_given = (part.strip().strip("\"'") for part in style.split(","))
    if name.split(".")[0].split("#")[0] not in ("quote", "verse"):
        return None
    return ", ".join(part for part in options_given if part and "=" not in part)


def _quote(parts: Sequence[str], source: str) -> str:
    """Return ``parts`` as a quotation, with its ``source`` below."""
    text = "\n\n".join([*parts, f"— {source}"] if source else parts)
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _section_id(title: str, attributes: Mapping[str, str], taken: set[str]) -> str:
    """Return a section's id as Asciidoctor makes it, and add it to ``taken``; ``""`` if ids are switched off."""
    if "sectids!" in attributes or "!sectids" in attributes:
        return ""
    prefix, gap = attributes.get("idprefix", "_"), attributes.get("idseparator", "_")[:1]
    plain = _NO_ID.sub("", _EMPHASIS.sub("", title).lower())
    name = prefix + (_GAPS.sub(gap, plain).strip(gap) if gap else plain.replace(" ", ""))
    name = name.lstrip(gap) if gap and not prefix else name
    made, number = name, 2
    while made in taken:
        made, number = f"{name}{gap}{number}", number + 1
    taken.add(made)
    return made if re.fullmatch(r"[^\s{}]+", made) else ""


MAX_TABLE_COLUMNS = 100

_CELL_SPEC = r"(?:(\d+)?(?:\.(\d+))?([+*]))?[<^>.]*[adehlmsv]?"
_COLUMNS = re.compile(r"cols=(?:\"([^\"]*)\"|'([^']*)'|([^\s,]+))")
_REPEAT = re.compile(r"(\d+)\*")


def _table_markdown(lines: Sequence[str], mark: str, style: str, attributes: Mapping[str, str]) -> str:
    """Return the table between two lines that begin with ``mark``; ``style`` are its block attributes."""
    if mark in ",:":
        rows = [list(row) for row in csv.reader(lines, delimiter=mark) if row]
        width = max(map(len, rows), default=0)
        return _write_rows([row + [""] * (width - len(row)) for row in rows], attributes)
    text = "\n".join(lines).strip("\n")
    begin = re.compile(rf"(?:^|(?<=\s)){_CELL_SPEC}(?<!\\)\{mark}", re.MULTILINE)
    marks = list(begin.finditer(text))
    if not marks:
        return ""
    ends = [*(match.start() for match in marks[1:]), len(text)]
    cells = [(match, text[match.end() : end].strip()) for match, end in zip(marks, ends, strict=True)]
    first_line = sum(1 for match in marks if "\n" not in text[: match.start()].strip("\n"))
    width = min(_count_columns(style) or sum(_column_span(match) for match in marks[:first_line]), MAX_TABLE_COLUMNS)
    return _write_rows(_fill_grid(cells, width), attributes)


def _write_rows(rows: Sequence[Sequence[str]], attributes: Mapping[str, str]) -> str:
    shown = [[one_line(inline_markdown(text, attributes)).replace("\\|", "|") for text in row] for row in rows]
    return table(shown[0], shown[1:]) if shown else ""


def _count_columns(style: str) -> int:
    found = _COLUMNS.search(style)
    if not found:
        return 0
    value = found[1] or found[2] or found[3]
    return sum(int(many[1]) if (many := _REPEAT.match(part.strip())) else 1 for part in re.split("[,;]", value))


def _column_span(match: re.Match[str]) -> int:
    return int(match[1] or 1) if match[3] else 1


def _fill_grid(cells: Sequence[tuple[re.Match[str], str]], width: int) -> list[list[str]]:
    """Return the rows of the table, with a spanning cell in each place that it covers."""
    grid: dict[tuple[int, int], str] = {}
    x = y = 0
    for match, text in cells:
        while (y, x) in grid or x >= width:
            x, y = (x + 1, y) if x + 1 < width else (0, y + 1)
        across, down = min(_column_span(match), width - x), min(int(match[2] or 1), MAX_TABLE_COLUMNS)
        grid |= {(y + j, x + i): text for j in range(down) for i in range(across)}
    height = 1 + max(row for row, _ in grid)
    return [[grid.get((row, column), "") for column in range(width)] for row in range(height)]
