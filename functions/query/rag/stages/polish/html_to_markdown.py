"""HTML in a model's answer to Markdown.

Code stays to the letter. Outside of it formatting becomes Markdown, scripts and frames go with what they hold, other
tags are unwrapped. A tag that nothing closes is a mention of it ("Put <script> last"), "<your name>" is a placeholder:
both are text.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from rag.stages.polish import html_elements as elements
from rag.stages.polish.harmless import harmless, is_safe_target
from rag.stages.polish.markdown_code import code_spans

# Stand for code (by its number), for a "<" and a "&" that are text, and for a line break, while the tags are read.
_CODE, _LESS, _AMPERSAND, _BREAK = "\x01{}\x02", "\x03", "\x04", "\x05"
_PRIVATE = str.maketrans("", "", "\x00\x01\x02\x03\x04\x05")
_BLANKS = f" \t\r\n{_BREAK}"
_HIDDEN_CODE = re.compile("\x01(\\d+)\x02")
_TAG = re.compile(r"""<(/?)([A-Za-z][^\s/<>]*)((?:=\s*"[^"]*"|=\s*'[^']*'|[^<>])*+)>|<[!?][^<>]*>|<""")
_CLOSING = re.compile(r"</([A-Za-z][^\s/<>]*)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

_TICKS = re.compile("`+")
_LANGUAGE = re.compile(r"(?:^|\s)lang(?:uage)?-([\w+#.-]{1,30})")
_BLANK_LINES = re.compile(r"(?<![ \t])[ \t]*\n(?:[ \t]*\n)+")
_BREAKS = re.compile(rf"(?<![ \t])[ \t]*(?:{_BREAK}[ \t]*\n?[ \t]*)+")
_INDENT = re.compile(r"\n[ \t]+(?![-*+\d\s])")
_BARE_PIPE = re.compile(r"(?<!\\)\|")
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_ENCODED = {ord(char): f"%{ord(char):02X}" for char in " ()<>\"'\\`|"}
_MAX_DEPTH = 40


def html_to_markdown(text: str) -> str:
    """``text`` as Markdown, in which no HTML tag is left outside of code. Markdown stays as it is."""
    if not any(mark in text for mark in ("<", "&", "](", "]:")):
        return text
    masked, codes = _masked(text.translate(_PRIVATE))
    masked = _only_markup(_without_comments(masked).replace("&", _AMPERSAND))
    if "<" in masked:
        masked = _Converter(codes).run(masked)
    masked, codes = _masked(_shown(masked, codes))
    return _shown(harmless(masked), codes)


def _masked(text: str) -> tuple[str, list[str]]:
    """``text`` with marks in place of its code, and the code."""
    pieces: list[str] = []
    codes: list[str] = []
    end = 0
    for first, last in code_spans(text):
        pieces += text[end:first], _mask(text[first:last], codes)
        end = last
    return "".join([*pieces, text[end:]]), codes


def _mask(code: str, codes: list[str]) -> str:
    codes.append(code)
    return _CODE.format(len(codes) - 1)


def _shown(masked: str, codes: list[str]) -> str:
    plain = masked.replace(_LESS, "<").replace(_AMPERSAND, "&")
    return _HIDDEN_CODE.sub(lambda match: codes[int(match[1])], plain)


def _without_comments(text: str) -> str:
    end = text.rfind("-->") + 3
    return _COMMENT.sub("", text[:end]) + text[end:]


def _only_markup(masked: str) -> str:
    """``masked`` with each ``<`` masked that begins no markup, and without declarations."""
    last_closing = {match[1].lower(): match.start() for match in _CLOSING.finditer(masked)}
    opened: set[str] = set()

    def kept(match: re.Match[str]) -> str:
        closing, name, attributes = match[1], (match[2] or "").lower(), match[3] or ""
        alone = name in elements.VOID | elements.LEFT_OPEN
        if match[0] != "<" and not name:
            return ""
        if closing:
            is_markup = name in elements.KNOWN or name in opened
        elif last_closing.get(name, -1) > match.start():
            is_markup = True
            opened.add(name)
        else:
            is_markup = alone and ("=" in attributes or not attributes.strip(" \t\n/"))
        return match[0] if is_markup else match[0].replace("<", _LESS)

    return _TAG.sub(kept, masked)


@dataclass(slots=True)
class _Frame:
    """An open element and what it holds so far: pieces of text, a row's cells, a table's rows."""

    name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    count: int = 0
    """Of a list's items, of a table's columns."""


class _Converter(HTMLParser):
    """Renders each element into the one that holds it, when it ends."""

    def __init__(self, codes: list[str]) -> None:
        super().__init__()
        self.codes = codes
        self.frames = [_Frame()]
        self.dropping = ""
        self.language = ""
        self.lines: list[str] = []

    def run(self, masked: str) -> str:
        self.lines = masked.split("\n")
        self.feed(masked)
        self.close()
        while len(self.frames) > 1:
            self.end_top()
        return _tidy("".join(self.frames[0].parts)).lstrip("\n").rstrip()

    def handle_data(self, data: str) -> None:
        name = self.frames[-1].name
        if not self.dropping and (data.strip() or name not in elements.LISTS | {"table", "tr"}):
            self.emit(_INDENT.sub("\n", data) if name in elements.BLOCKS else data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.dropping:
            return
        attributes = {name: unescape(_shown(value or "", self.codes)).strip() for name, value in attrs}
        if tag in {"pre", "code"}:
            self.language = (_LANGUAGE.search(attributes.get("class", "")) or ("", ""))[1]
        if self.within(elements.CODES):
            self.emit_tag_in_code(tag, self.get_starttag_text() or "")
            return
        while self.frames[-1].name in elements.ENDS.get(tag, {"p"} if tag in elements.BLOCKS else ()):
            self.end_top()
        if tag in elements.DROPPED:
            self.dropping = tag
        elif tag in elements.FRAMED and len(self.frames) < _MAX_DEPTH:
            self.frames.append(_Frame(tag, attributes))
        elif tag == "br":
            self.emit(" " if self.on_one_line() else _BREAK)
        elif tag == "hr":
            self.emit_block("---")
        elif tag in {"img", "image"}:
            self.emit(attributes.get("alt", "").translate(_PRIVATE))

    def handle_endtag(self, tag: str) -> None:
        if self.dropping:
            self.dropping = "" if tag == self.dropping else self.dropping
        elif self.within({tag}):
            while self.frames[-1].name != tag:
                self.end_top()
            self.end_top()
        elif self.within(elements.CODES):
            self.emit_tag_in_code(tag, f"</{tag}>")

    def emit_tag_in_code(self, tag: str, raw: str) -> None:
        """Formatting goes; any other tag is what the code is about."""
        if tag == "br" and self.within({"pre"}):
            self.emit("\n")
        elif tag not in elements.FORMATTING:
            self.emit(raw.replace("<", _LESS))

    def within(self, names: Container[str]) -> bool:
        return any(frame.name in names for frame in self.frames)

    def on_one_line(self) -> bool:
        """Whether what comes must not end its line: in a cell, a heading, a link, a row of a pipe table."""
        row = self.lines[self.getpos()[0] - 1].lstrip(" \t>").startswith("|")
        return row or self.within(elements.CELLS | elements.HEADINGS.keys() | {"a"})

    def emit(self, text: str) -> None:
        self.frames[-1].parts.append(text)

    def emit_block(self, text: str, gap: str = "\n\n") -> None:
        if text.strip():
            self.emit(f" {_one_line(text)} " if self.on_one_line() else f"{gap}{text.strip(_BLANKS)}{gap}")

    def end_top(self) -> None:
        """Render the innermost element."""
        frame = self.frames.pop()
        name, held, holder = frame.name, "".join(frame.parts), self.frames[-1]
        if name in elements.CODES:
            self.emit_code(name, unescape(_shown(held, self.codes)))
        elif name in elements.INLINE:
            self.emit(_inline(frame, held))
        elif name in elements.CELLS and holder.name == "tr":
            self.emit(_BARE_PIPE.sub(r"\\|", _shown(_one_line(held), self.codes)))
        elif name == "tr" and holder.name == "table":
            holder.count = max(holder.count, len(frame.parts))
            self.emit(f"| {' | '.join(frame.parts)} |")
        elif name == "li":
            self.emit_item(held)
        elif name in elements.LISTS:
            self.emit_block(held, "\n" if holder.name in elements.LISTS | {"li"} else "\n\n")
        else:
            self.emit_block(_block(frame, held))

    def emit_item(self, held: str) -> None:
        holder = self.frames[-1]
        start = holder.attributes.get("start", "")
        first = int(start) if start.isdecimal() and len(start) < 6 else 1
        marker = f"{first + holder.count}. " if holder.name == "ol" else "- "
        holder.count += bool(held.strip(_BLANKS))
        if self.on_one_line():
            self.emit(f" {marker}{_one_line(held)}")
        elif held.strip(_BLANKS):
            gap = "" if holder.name in elements.LISTS else "\n"
            self.emit(f"{gap}{_prefixed(held, marker, ' ' * len(marker))}\n")

    def emit_code(self, name: str, code: str) -> None:
        runs = [len(run) for run in _TICKS.findall(code)]
        if name == "pre" and not self.on_one_line():
            ticks = "`" * max([3, *(run + 1 for run in runs)])
            lines = [f"{ticks}{self.language}", *code.strip("\n").rstrip().split("\n"), ticks]
            self.emit_block("\n".join(_mask(line, self.codes) for line in lines) if code.strip() else "")
        elif inner := _one_line(code):
            ticks = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
            pad = " " if inner.startswith("`") or inner.endswith("`") else ""
            self.emit(_mask(f"{ticks}{pad}{inner}{pad}{ticks}", self.codes))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tidy(text: str) -> str:
    """``text`` with its line breaks: one ends a line, two in a row end a paragraph, as do several empty lines."""
    text = _BREAKS.sub(lambda match: "  \n" if match[0].count(_BREAK) == 1 else "\n\n", text)
    return _BLANK_LINES.sub("\n\n", text)


def _prefixed(held: str, first: str, others: str) -> str:
    """``held`` with ``first`` before its first line and ``others`` before the others."""
    head, *lines = _tidy(held.strip(_BLANKS)).split("\n")
    return "\n".join([f"{first}{head}", *(f"{others}{line}" if line else others.rstrip() for line in lines)])


def _inline(frame: _Frame, held: str) -> str:
    """``held`` between marks, white space outside."""
    inner = held.strip(_BLANKS)
    mark = elements.MARKS.get(frame.name, "")
    if not inner or "\n\n" in inner or (mark and inner.startswith(mark)):
        return held
    start, end = held.split(inner)
    if frame.name in {"sup", "sub"}:
        inner = _shifted(inner, _RAISED, "^") if frame.name == "sup" else _shifted(inner, _LOWERED, "")
    elif frame.name == "a":
        inner = _link(inner, frame.attributes.get("href", ""))
    return f"{start}{mark}{inner}{mark}{end}"


def _shifted(text: str, table: dict[int, int], mark: str) -> str:
    """``text`` raised or lowered; behind ``mark`` where it cannot be, as it is where it is more than a word."""
    if all(ord(char) in table for char in text):
        return text.translate(table)
    return f"{mark}{text}" if text.isalnum() else text


def _link(text: str, target: str) -> str:
    """``[text](target)``; the text alone where there is no target or it could run something."""
    target = "".join(char for char in target if char.isprintable())
    linked = target and not target.startswith("//") and is_safe_target(target)
    return f"[{_one_line(text)}]({target.translate(_ENCODED)})" if linked else text


def _block(frame: _Frame, held: str) -> str:
    if frame.name in elements.HEADINGS and held.strip():
        return f"{'#' * elements.HEADINGS[frame.name]} {_one_line(held)}"
    if frame.name == "blockquote" and held.strip():
        return _prefixed(held, "> ", "> ")
    if frame.name == "table" and frame.count:
        is_row = [part.startswith("| ") for part in frame.parts]
        heading = is_row.index(True)
        missing = frame.count + 1 - _BARE_PIPE.subn("", frame.parts[heading])[1]
        frame.parts[heading] += f"{'  |' * missing}\n|{' --- |' * frame.count}"
        return "".join(f"{part}\n" if row else part for row, part in zip(is_row, frame.parts, strict=True))
    return held
