"""AsciiDoc to Markdown, block by block: headings, lists, tables, admonitions, code, attributes of the header.

Of the libraries that were tried one is for the language of 2013 (asciidoc), one reads no attributes and no nested
lists (pyasciidoc), and one takes 15 s for a page of 6 KB (asciidoctrine).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from documents import entries
from documents.converters.output import compose, fence, literal, one_line
from documents.converters.tables import table
from documents.errors import NoText, Unconvertible
from documents.markup.context import PageContext
from documents.markup.extensions import decode_entities
from documents.markup.includes import numbered_lines
from documents.sites.antora import find_attributes
from documents.values import Converted, Decode

MAX_BYTES = 20 * 1024 * 1024
MAX_DEPTH = 30

_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?$")
_HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)$")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|```\w*|[|!]={3,})\s*$")
_BLOCK_ATTRIBUTES = re.compile(r"\[(\[[^\[\]]*\]|[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\s*$")
_ENDS_PARAGRAPH = re.compile(r"\[[a-z]+,[^\[\]]*\]$")  # as in Asciidoctor: nine times in Couchbase's pages
_ANCHOR = re.compile(r"\[\[([\w:.-]+)|^[^,]*#([\w:.-]+)|\bid=\"?([\w:.-]+)")
# Rulers and comments; include, ifdef, toc, video: nothing to read.
_IGNORED_LINE = re.compile(r"'''|<<<|//(?!/)|(?!image)[a-z]+::[^\s\[\]]*\[.*\]\s*$")
_CONDITION = re.compile(r"(?:ifn?def|ifeval)::[^\[]*\[(.+)\]\s*$|endif::")
_ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d+\.|<(?:\d+|\.)>)\s+(\S.*)$")
_TERM = re.compile(r"\s*((?!//)\S.*?)(:{2,4}|;;)(?:\s+(.*))?$")
_DEFINITIONS = "::"
_UNDERLINE = re.compile(r"(?:={2,}|-{2,}|~{2,}|\^{2,}|\+{2,})$")
_TITLE = re.compile(r"\.(?![.\s])(.+)$")
_SOURCE_LANGUAGE = re.compile(r"(?:source|,|listing)[^,]*,\s*([\w+#-]+)")
_LANGUAGE_OPTION = re.compile(r"\blanguage=\"?([\w+#-]+)")
_ADMONITIONS = frozenset({"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"})
_NO_ID = re.compile(r"<[^>]+>|&(?:[a-z]+\d{0,2}|#\d{2,5}|#x[\da-f]{2,4});|[^ \w\-.]+")
_EMPHASIS = re.compile(r"[*`_^~#](?=\w)|(?<=\w)[*`_^~#]")
_GAPS = re.compile(r"[ .-]+")
MAX_TABLE_COLUMNS = 100
_CELL_SPEC = r"(?:(\d+)?(?:\.(\d+))?([+*]))?[<^>.]*[adehlmsv]?"
_COLUMNS = re.compile(r"cols=(?:\"([^\"]*)\"|'([^']*)'|([^\s,]+))")
_REPEAT = re.compile(r"(\d+)\*")
_BUILT_IN = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "wj": "", "plus": "+", "asterisk": "*", "vbar": "|",
    "backtick": "`", "startsb": "[", "endsb": "]", "lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"',
    "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "caret": "^", "deg": "°", "tilde": "~",
}  # fmt: skip
_ATTRIBUTE_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_UNKNOWN = re.compile(r"(?<![\\$\w/{=:\"'])\{([a-z][a-z\d_-]+)\}(?![\w/}=])")
# The value of an attribute over several lines: on 19 of Couchbase's pages.
_WRAPPED = re.compile(r"^:!?[\w-]+!?:[^\n]* \\\n(?:[^\n]* \\\n)*", re.MULTILINE)
_MAX_VALUE_CHARS = 10_000
_CODE = re.compile(r"(`+)(.+?)\1")
# Each is on 3 to 128 of 234 public pages (Pro Git, Spring Boot, Apache Tika, docling).
_RULES = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"\(\(\([^()]*\)\)\)", ""),  # an index term that is not shown
        (r"\[\[[^\[\]]*\]\]", ""),  # an anchor
        (r"(?<!\w)\[\.[\w. -]+\]#{1,2}([^#\n]+)#{1,2}", r"\1"),  # a role, on 107 of Couchbase's 584 pages
        (r"(?<!\w)\[\.[\w. -]+\](?=[*_`+\0])", ""),
        (r"(?<!\w)(?:stem|latexmath|asciimath):\[((?:\\\]|[^\]\n])+)\]", r"$\1$"),  # on 3 of Couchbase's pages
        (r"\[\^\]", "[]"),
        (r"<<[^<>,]*,\s*([^<>]+)>>", r"\1"),
        (r"<<#?([^<>,]+)>>", r"\1"),
        (r"(?:xref|link|mailto):[^\s\[\]]+\[([^\]]{1,300}?)(?:,[^\]=]{0,50}=[^\]]{0,300}|\^)?\]", r"\1"),
        (r"(?:xref|link|mailto):#?([^\s\[\]]+)\[\]", r"\1"),
        (r"https?://[^\s\[\]<>]+\[([^\]]{1,300}?)(?:,[^\]=]{0,50}=[^\]]{0,300}|\^)?\]", r"\1"),
        (r"image::?[^\s\[\]]*\[([^\],=]*)(?:,[^\]]*)?\]", r"\1"),
        (r"image::?[^\s\[\]]*\[[^\]]*\]|(?:icon|anchor|indexterm2?):[^\s\[\]]*\[[^\]]*\]", ""),
        (r"(?:kbd|btn):\[((?:\\\]|[^\]\n])+)\]", r"\1"),
        (r"menu:([^\s\[\]][^\[\]\n]{0,100})\[[ \t]*\]", r"\1"),
        (r"menu:([^\s\[\]][^\[\]\n]{0,100})\[[ \t]*([^\]\n]*)\]", r"\1 > \2"),
        (r"\s*footnote:[\w-]*\[([^\]\n]+)\]", r" (\1)"),
        (r"(?<!\w)pass:[a-z,]*\[([^\[\]]{0,2000})\]", r"\1"),  # on 193 of Couchbase's 584 pages
        (r"footnote:[\w-]+\[\]", ""),  # another mark for the same note
        (r"(?<![\w*])\*(?![\s*])([^*\n]+?)(?<!\s)\*(?![\w*])", r"**\1**"),
        (r"\\(?=\{)", ""),
        (r"\s\+$", ""),  # a line break
    )
)
MAX_INCLUDE_DEPTH = 8
_INCLUDE = re.compile(r"include::([^\s\[\]][^\[\]\n]*)\[(.*)\]\s*$")
_PAGE_TITLE = re.compile(r"^(?:=|#)\s+(\S.*)$", re.MULTILINE)
_SECTION = re.compile(r"(={1,6})\s+\S")
_LINK = re.compile(r"xref:([^\s\[\]#]+)(#[^\s\[\]]*)?\[\]|(?:xref:#|<<#?)([\w.:-]+)(?:\[\]|>>)")
_BLOCK_ID = re.compile(r"\[(?:\[([\w.:-]+)[^\]]*\]|[\w ,%.-]*#([\w.:-]+)[^\]]*)\]\s*$")
_CAPTION = re.compile(r"(?:={2,6}\s+|\.(?![.\s]))(\S.*)$")
_FILE = re.compile(r"(?:[\w.@-]*@)?(?:[\w.-]*:)??(?:(?P<module>[\w.-]*):)?(?:(?P<family>[a-z]+)\$)?(?P<path>.+)")
_FAMILIES = {"partial": "partials", "example": "examples", "page": "pages", "attachment": "attachments"}
_TAGGED = re.compile(r"\b(tag|end)::(\S+?)\[\]")
_VALUE = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|[^,\]]*)")


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
    attributes, lines = {}, _split_lines(text)
    if context:
        attributes = dict(find_attributes(context.site, context.file))
        if context.kind == "antora" and context.file.stem == "nav":
            raise NoText("is the navigation of a site")
        lines = _include_files(lines, attributes, context)
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
            self._add_heading("#" * ("=-~^+".index(lines[at + 1][0]) + 1), line)
            return at + 2
        if delimiter := _DELIMITER.match(line):
            return self._read_delimited(lines, at, delimiter[1])
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
            self._add(literal(_inline_markdown(title[1], self._attributes)))
        else:
            return False
        return True

    def _add_heading(self, marks: str, text: str) -> None:
        self._end_lists()
        title = _inline_markdown(text, self._attributes)
        anchor = self._take_anchor() or ("" if len(marks) == 1 else _section_id(title, self._attributes, self._ids))
        self._add(f"{'#' * len(marks)} {title}{f' {{#{anchor}}}' if anchor else ''}")

    def _take_anchor(self) -> str:
        style, self._style = self._style, ""
        return next((found for match in _ANCHOR.finditer(style) for found in match.groups() if found), "")

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
            anchor = self._take_anchor()
            shown = " ".join(_inline_markdown(text, self._attributes).split())
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
        style, self._style = self._style, ""
        is_item = bool(self._stack and re.match(r"- |1\. ", text))
        shown = _inline_markdown(text, self._attributes)
        label = f"{style.strip('[]')}: " if style in _ADMONITIONS else ""
        self._add(shown if is_item else _quoted([label + literal(shown)], style), item=is_item)

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
        """Read the code, the table or the blocks between two lines of ``mark``, and return the line behind them."""
        self._end_paragraph()
        close = "```" if mark.startswith("```") else mark
        end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == close), len(lines))
        inside, style, self._style = lines[at + 1 : end], self._style, ""
        if mark[0] in "|!":
            self._add(_table_markdown(inside, mark[0], _fill_attributes(style, self._attributes), self._attributes))
        elif mark[0] in "-.`" and mark != "--":
            code = "\n".join(inside)
            shown = _fill_attributes(code, self._attributes) if "subs=" in style else code
            language = _SOURCE_LANGUAGE.match(style) or _LANGUAGE_OPTION.search(style)
            self._add(fence(shown, language[1] if language else mark[3:].strip(".-`")))
        elif mark[0] not in "/+":
            name = style.split(",")[0].split("%")[0].split(".")[0]
            parts = _BlockReader(self._attributes, self._depth + 1, self._ids).blocks(inside)
            parts = [f"{name}:", *parts] if name in _ADMONITIONS else parts
            self._add(_quoted(parts, style if mark[0] in "_-" else ""))
        return end + 1


def _is_underlined(line: str, following: str) -> bool:
    """Return whether ``following`` underlines the title ``line``: their lengths differ by at most one."""
    is_line = _UNDERLINE.match(following) is not None and abs(len(line) - len(following)) <= 1
    return is_line and line[:1].isalnum() and not _ITEM.match(line)


def _quoted(parts: Sequence[str], style: str) -> str:
    """Return ``parts``, as a quotation with its source below if the style is ``[quote, author, work]``."""
    name, *others = (part.strip().strip("\"'") for part in style.split(","))
    if re.split("[.#]", name)[0] not in ("quote", "verse"):
        return "\n\n".join(parts)
    source = ", ".join(part for part in others if part and "=" not in part)
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


def _table_markdown(lines: Sequence[str], mark: str, style: str, attributes: Mapping[str, str]) -> str:
    """Return the table between two lines that begin with ``mark``; ``style`` are its block attributes."""
    text = "\n".join(lines).strip("\n")
    begin = re.compile(rf"(?:^|(?<=\s)){_CELL_SPEC}(?<!\\)\{mark}", re.MULTILINE)
    marks = list(begin.finditer(text))
    if not marks:
        return ""
    spans = [(int(match[1] or 1) if match[3] else 1, int(match[2] or 1)) for match in marks]
    stated = _COLUMNS.search(style)
    columns = re.split("[,;]", next(filter(None, stated.groups()))) if stated else ()
    width = sum(int(many[1]) if (many := _REPEAT.match(part.strip())) else 1 for part in columns)
    first_line = text.partition("\n")[0]
    width = width or sum(span[0] for span, match in zip(spans, marks, strict=True) if match.end() <= len(first_line))
    ends = [*(match.start() for match in marks[1:]), len(text)]
    cells = [text[match.end() : end].strip() for match, end in zip(marks, ends, strict=True)]
    cells = [one_line(_inline_markdown(cell, attributes)).replace("\\|", "|") for cell in cells]
    rows = _fill_grid([*zip(cells, spans, strict=True)], min(width, MAX_TABLE_COLUMNS))
    return table(rows[0], rows[1:])


def _fill_grid(cells: Sequence[tuple[str, tuple[int, int]]], width: int) -> list[list[str]]:
    """Return the rows of the table, with a spanning cell in each place that it covers."""
    grid: dict[tuple[int, int], str] = {}
    x = y = 0
    for text, (wide, high) in cells:
        while (y, x) in grid or x >= width:
            x, y = (x + 1, y) if x + 1 < width else (0, y + 1)
        across, down = min(wide, width - x), min(high, MAX_TABLE_COLUMNS)
        grid |= {(y + j, x + i): text for j in range(down) for i in range(across)}
    height = 1 + max(row for row, _ in grid)
    return [[grid.get((row, column), "") for column in range(width)] for row in range(height)]


def _split_lines(text: str) -> list[str]:
    """Return the lines of ``text``, each attribute with its whole value on one line."""
    return _WRAPPED.sub(lambda match: re.sub(r" \\\n\s*", " ", match[0]), text).split("\n")


def _inline_markdown(text: str, attributes: Mapping[str, str]) -> str:
    """Return one or more lines as Markdown; in code between backticks only attributes are replaced.

    An unknown attribute, as of a playbook in another repository, is read by its name: 225 in Couchbase's documentation.
    """
    code: list[str] = []

    def hide(match: re.Match[str]) -> str:
        code.append(match[0].replace("`+", "`").replace("+`", "`").replace("\\{", "{"))
        return "\0"

    plain = _CODE.sub(hide, _fill_attributes(text, attributes))
    for pattern, replacement in _RULES:
        plain = pattern.sub(replacement, plain)
    plain = decode_entities(_UNKNOWN.sub(r"\1", plain))  # Asciidoctor hands them on to HTML
    kept = iter(code)
    return re.sub("\0", lambda _: next(kept, ""), plain)


def _fill_attributes(text: str, attributes: Mapping[str, str]) -> str:
    """Return ``text`` with the values of attributes; an unknown one stays as it is."""
    for _ in range(5):  # attributes in attributes
        filled = _ATTRIBUTE_REFERENCE.sub(lambda one: attributes.get(one[1], _BUILT_IN.get(one[1], one[0])), text)
        if filled == text or len(filled) > len(text) + _MAX_VALUE_CHARS:
            break
        text = filled
    return text


def _include_files(lines: Sequence[str], attributes: Mapping[str, str], context: PageContext) -> list[str]:
    """Return ``lines`` with the files that they include, and with titles in links that have no words."""
    found = list(_take_lines(lines, (), dict(attributes), context))
    titles = dict(_captions_by_id(found))  # by id, and those of other pages by name

    def name_link(match: re.Match[str]) -> str:
        if match[3]:
            title = titles.get(match[3], "")
            return f"<<{match[3]},{title}>>" if title else match[0]
        if match[1] not in titles:
            heads = map(context.read_beginning, _candidate_files(match[1], context, "page", ()))
            titles[match[1]] = next((one[1].strip() for head in heads if (one := _PAGE_TITLE.search(head))), "")
        title = titles[match[1]].replace("]", "")
        return f"xref:{match[1]}[{title}]" if title else match[0]

    return [_LINK.sub(name_link, line) if "xref:" in line or "<<" in line else line for line in found]


def _take_lines(
    lines: Iterable[str], within: tuple[str, ...], attributes: dict[str, str], context: PageContext
) -> Iterator[str]:
    """Yield ``lines`` with their includes; ``within`` are the files being included, the innermost last."""
    for line in lines:
        if attribute := _ATTRIBUTE.match(line):
            attributes[attribute[1]] = attribute[2] or ""
        if include := _INCLUDE.match(line):
            yield from _take_file(include, within, attributes, context)
        else:
            yield line.removeprefix("\\") if line.startswith("\\include::") else line


def _take_file(
    include: re.Match[str], within: tuple[str, ...], attributes: dict[str, str], context: PageContext
) -> Iterator[str]:
    target = _fill_attributes(include[1], attributes)
    names = (name for name in _candidate_files(target, context, "partial", within) if name not in within)
    name = next(names, "") if len(within) < MAX_INCLUDE_DEPTH else ""
    text = context.read_include(name) if name else None
    if text is None:
        return
    given = {key: value.strip('"') for key, value in _VALUE.findall(include[2])}
    lines = list(_select_lines(_split_lines(text.rstrip("\n")), given))
    offset = given.get("leveloffset", "").lstrip("+")
    more = "=" * int(offset) if offset.isdecimal() and len(offset) == 1 else ""
    is_document = not given.keys() & {"tag", "tags", "lines"} and _is_document(name, lines, context)
    included = context.included
    included[-1], at = "\n".join(lines), len(included) - 1
    for line in _take_lines(lines, (*within, name), attributes, context):
        if not is_document or _ATTRIBUTE.match(line):
            yield more + line if more and _SECTION.match(line) else line
    included[at:] = included[at:] * (not is_document)


def _is_document(name: str, lines: Sequence[str], context: PageContext) -> bool:
    """Return whether a file is a document beside this one, as Pro Git's chapters are: it is not included twice.

    Antora marks documents by their folders. A file that was given alone has no other document beside it.
    """
    path, is_apart = PurePosixPath(name), context.alone or context.kind == "antora"
    file = None if is_apart else context.find_file(name)
    if file is None or not file.is_relative_to(context.root.resolve()):
        return False
    known = path.suffix in (context.file.suffix, ".adoc", ".asciidoc") and not path.name.startswith("_")
    return known and any(map(_SECTION.match, lines))


def _candidate_files(target: str, context: PageContext, family: str, within: Sequence[str]) -> Iterator[str]:
    """Yield the paths that ``target`` may name, from the page's folder or one above it."""
    if "$" not in target and ":" not in target:
        yield normpath(join(dirname(within[-1]) if within else "", target))
        if family == "partial":
            return
    match = _FILE.fullmatch(target)
    if match is None or context.kind != "antora":
        return
    parts = context.file.parts
    own = parts[parts.index("modules") + 1] if "modules" in parts[:-2] else "ROOT"
    if folder := _FAMILIES.get(match["family"] or family, ""):
        yield f"modules/{match['module'] or own}/{folder}/{match['path']}"


def _captions_by_id(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each id of a page with the heading or caption below it."""
    waiting: list[str] = []
    for line in lines:
        if anchor := _BLOCK_ID.match(line):
            waiting += filter(None, anchor.groups())
        elif caption := _CAPTION.match(line):
            yield from ((name, caption[1].strip()) for name in waiting)
            waiting = []
        elif line.strip() and not line.startswith("["):
            waiting = []


def _select_lines(lines: list[str], given: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines selected by ``lines=``, ``tag=`` or ``tags=``, without those that mark tags."""
    if numbers := given.get("lines"):
        yield from numbered_lines(lines, numbers) or lines
        return
    names = re.split(r"[;,]", given.get("tag") or given.get("tags") or "")
    wanted = [name.strip() for name in names if name.strip()]
    open_tags: list[str] = []
    for line in lines:
        if mark := _TAGGED.search(line):
            open_tags = [*open_tags, mark[2]] if mark[1] == "tag" else [name for name in open_tags if name != mark[2]]
        elif not wanted or _is_wanted(open_tags, wanted):
            yield line


def _is_wanted(open_tags: Sequence[str], wanted: Sequence[str]) -> bool:
    for name in reversed(open_tags):  # the innermost that is named decides
        if {name, f"!{name}"} & set(wanted):
            return f"!{name}" not in wanted
    if open_tags:
        return "*" in wanted or "**" in wanted
    return "**" in wanted or all(name.startswith("!") for name in wanted)
