"""HTML in a model's answer to Markdown.

Formatting becomes Markdown, scripts and frames go with what they hold, other tags are unwrapped, character references
are decoded. Code, fenced, indented or inline, is not touched (but for pipes in the cells of an HTML table). What is
converted is read again until nothing is left to convert, so that the result is stable: converting it once more changes
nothing.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from rag.stages.polish import html_blocks as blocks
from rag.stages.polish import html_names as names
from rag.stages.polish.html_rows import flat_rows
from rag.stages.polish.html_tokens import Token, attribute, decode, has_html_attributes, tokens

MAX_PASSES = 4
MAX_DEPTH = 40
"""Tags nested deeper than this are unwrapped."""

_HARD_BREAK = "  \n"
_TICKS = re.compile("`+")
_STASHED = re.compile("\x00(\\d+)\x00")
_TOP_BLANKS = re.compile(r"\A(?:[ \t]*\n)+")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_INDENT = re.compile(r"\n[ \t]+")


def html_to_markdown(text: str) -> str:
    """``text`` as Markdown. Text that holds neither ``<`` nor ``&`` is returned as it is."""
    for _ in range(MAX_PASSES):
        if "<" not in text and "&" not in text:
            return text
        converted = _Converter(text.replace("\x00", "")).run()
        if converted == text:
            return text
        text = converted
    # Only a text made to outlast the passes gets here: without these two nothing in it can be HTML.
    return text.replace("<", "").replace("&", "")


@dataclass(slots=True)
class _Frame:
    """An open element and what it holds so far: text, a list's items or a row's cells, a table's rows."""

    tag: Token
    parts: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    broken: bool = False
    """Whether a line break was the last thing in it."""


class _Converter:
    """One pass over a text. Code waits in ``stash``, out of reach of everything done to the text around it."""

    def __init__(self, text: str) -> None:
        self.tokens = flat_rows(list(tokens(text)))
        self.last_close = {token.name: i for i, token in enumerate(self.tokens) if token.kind == "close"}
        stray = (run for token in self.tokens if token.kind == "text" for run in _TICKS.findall(token.raw))
        self.stray_ticks = {len(run) for run in stray}
        self.frames = [_Frame(Token("open", ""))]
        self.stash: list[str] = []
        self.language = ""

    def run(self) -> str:
        dropping = ""
        for i, token in enumerate(self.tokens):
            if dropping:
                dropping = "" if token.kind == "close" and token.name == dropping else dropping
            elif token.kind == "code":
                self.emit_code(token.raw)
            elif token.kind == "text" or not self.is_markup(token):
                self.on_text(token.raw)
            elif token.kind == "close":
                self.on_close(token.name)
            elif token.name in names.DROPPED:
                dropping = token.name if self.last_close.get(token.name, -1) > i else ""
            else:
                self.on_open(token)
        while len(self.frames) > 1:
            self.close_top()
        tidy = _BLANK_LINES.sub("\n\n", _TOP_BLANKS.sub("", "".join(self.frames[0].parts))).rstrip()
        return self.unstash(tidy)

    def is_markup(self, tag: Token) -> bool:
        """Whether ``tag`` is HTML, or a wrapper such as <answer>, and not a reader's "<your name>" or "List<T>"."""
        if self.within("pre", *names.CODES):
            formatting = tag.name in names.MARKS or tag.name in names.CODES or tag.name in {"span", "a", "br"}
            return formatting or (tag.kind == "close" and self.within(tag.name))
        if "=" in tag.attributes or tag.name in names.DROPPED:
            return True
        return (tag.name in names.KNOWN or tag.name in self.last_close) and has_html_attributes(tag)

    def within(self, *names: str) -> bool:
        return any(frame.tag.name in names for frame in self.frames)

    def innermost(self, name: str) -> _Frame | None:
        return next((frame for frame in reversed(self.frames) if frame.tag.name == name), None)

    def emit(self, text: str) -> None:
        top = self.frames[-1]
        top.broken = False
        if top.tag.name not in names.LISTS:
            top.parts.append(text)
        elif top.cells:
            top.cells[-1] += text
        else:
            top.cells.append(text.lstrip())

    def emit_code(self, raw: str) -> None:
        """Emit ``raw`` as it is, apart from other ticks: two runs side by side would be one."""
        parts = self.frames[-1].parts
        touches = raw.startswith("`") and parts and parts[-1].endswith(("`", "\x00"))
        self.emit(f"{' ' if touches else ''}{self.keep(raw)}")

    def keep(self, raw: str) -> str:
        self.stash.append(raw)
        return f"\x00{len(self.stash) - 1}\x00"

    def unstash(self, text: str) -> str:
        return _STASHED.sub(lambda match: self.stash[int(match[1])], text)

    def in_cell(self, text: str) -> str:
        """``text`` of a table's cell: there a pipe divides even inline code, unless it is escaped."""
        return _STASHED.sub(lambda match: self.keep(blocks.in_cell(self.stash[int(match[1])])), text)

    def holds_block(self, text: str) -> bool:
        """Whether a fenced block stands in ``text``: nothing may share its lines."""
        return any("\n" in self.stash[int(match[1])] for match in _STASHED.finditer(text))

    def on_text(self, raw: str) -> None:
        top = self.frames[-1]
        if self.within("pre", *names.CODES):
            self.emit(html.unescape(raw).replace("\x00", ""))
        elif raw.strip() or top.tag.name not in names.LISTS | {"table", "tr"}:
            text = decode(raw)
            if top.tag.name in names.TIGHT:
                text = _INDENT.sub("\n", text)
            if top.broken:
                text = text.lstrip(" \t").removeprefix("\n")
            if text:
                self.emit(text)

    def on_open(self, tag: Token) -> None:
        name = tag.name
        if self.within("pre", *names.CODES):
            if name == "code":
                self.language = blocks.language(attribute(tag, "class"))
            elif name == "br":
                self.emit("\n")
            return
        while self.frames[-1].tag.name in names.CLOSES.get(name, ()):
            self.close_top()
        if name == "br":
            self.on_break()
        elif name == "hr":
            self.emit_block("---")
        elif name == "img":
            self.emit(decode(attribute(tag, "alt")).replace("\x00", ""))
        elif (name in names.FRAMED or name in names.BLOCKS) and len(self.frames) < MAX_DEPTH:
            self.language = blocks.language(attribute(tag, "class"))
            self.frames.append(_Frame(tag))

    def on_break(self) -> None:
        top = self.frames[-1]
        if self.within(*names.ONE_LINE):
            self.emit(" ")
            return
        if top.broken:  # the second in a row ends the paragraph
            top.parts[-1:] = ["\n\n"]
        else:
            self.trim()
            self.emit(_HARD_BREAK)
        top.broken = True

    def trim(self) -> None:
        """Take white space off the end of what was emitted last."""
        parts = self.frames[-1].parts
        if parts:
            parts[-1] = parts[-1].rstrip()

    def on_close(self, name: str) -> None:
        if self.within(name) and name:
            while self.frames[-1].tag.name != name:
                self.close_top()
            self.close_top()

    def close_top(self) -> None:
        """Render the innermost open element into the one that holds it."""
        frame = self.frames.pop()
        name, held = frame.tag.name, "".join(frame.parts)
        if name in names.INLINE and self.holds_block(held):
            self.emit(held)
        elif name in names.MARKS:
            self.emit(blocks.emphasis(held, names.MARKS[name]))
        elif name in names.CODES:
            if code := blocks.code_span(self.unstash(held), self.stray_ticks):
                self.emit_code(code)
        elif name == "a":
            self.emit(blocks.link(held, attribute(frame.tag, "href")))
        elif name in {"sup", "sub"}:
            self.emit(blocks.raised(held) if name == "sup" else blocks.lowered(held))
        elif name in names.CELLS and (row := self.innermost("tr")):
            row.cells.append(held)
        elif name == "tr" and (table := self.innermost("table")):
            table.rows.append(frame.cells)
        elif name == "li" and self.frames[-1].tag.name in names.LISTS:
            if held.strip():
                self.frames[-1].cells.append(held.strip())
        else:
            self.emit_block(self.block(frame, held))

    def block(self, frame: _Frame, held: str) -> str:
        name = frame.tag.name
        if name in names.HEADINGS:
            return blocks.heading(held, names.HEADINGS[name])
        if name == "pre":
            return "\n".join(self.keep(line) for line in blocks.fence(self.unstash(held), self.language))
        if name == "blockquote":
            return blocks.quote(held)
        if name in names.LISTS:
            return blocks.listing(frame.cells, attribute(frame.tag, "start") if name == "ol" else None)
        if name == "li":
            return blocks.listing([held.strip()], None)
        if name == "table":
            return f"{held.strip()}\n\n{blocks.table([[self.in_cell(cell) for cell in row] for row in frame.rows])}"
        if name == "tr":
            return " ".join(cell.strip() for cell in frame.cells)
        return held

    def emit_block(self, text: str) -> None:
        if not text.strip():
            return
        if self.within(*names.CELLS, *names.HEADINGS):
            self.emit(f" {text.strip()} ")
        else:
            self.trim()
            # A list within an item stays with its line; everything else is a paragraph of its own.
            nested = self.frames[-1].tag.name in {"li", *names.LISTS} and text.lstrip()[:1] in "-0123456789"
            gap = "\n" if nested else "\n\n"
            self.emit(f"{gap}{text.strip()}{gap}")
