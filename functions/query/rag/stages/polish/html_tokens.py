"""Markdown with HTML in it as a sequence of code, tags and text. Every step is linear in the text's length."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import html5
from typing import Literal

from rag.stages.polish import html_names as names
from rag.stages.polish.html_indents import Span, indented_runs

type Kind = Literal["code", "open", "close", "text"]

_FENCE = re.compile(r"^[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TICKS = re.compile(r"`+")
# Attributes end at the first angle bracket, quoted or not: that keeps every scan from one bracket to the next.
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)(\s[^<>]*|/)?>|<!--|<[!?][^<>]*>")
_ATTRIBUTE = re.compile(r"""([A-Za-z][\w:-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
_ENTITY = re.compile(
    r"&((?:(?:amp|\#0{0,5}38|\#[xX]0{0,5}26);)*)([A-Za-z][A-Za-z0-9]{1,31}|\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6});"
)
_CLOSING = re.compile(r"</([A-Za-z][A-Za-z0-9-]*)")
_LOOK_BACK_CHARS = 200
_MAX_OPEN = 40
_HOLDING = names.FRAMED | names.BLOCKS
# Decoded, these would be Markdown, part of a tag or of another reference: any renderer shows the reference as well.
_ACTIVE = frozenset("#;*_`[]\\~|!/?\n\t\r")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: ``raw`` as it stands; ``name`` (lower case) and ``attributes`` of a tag."""

    kind: Kind
    raw: str
    name: str = ""
    attributes: str = ""


def tokens(text: str) -> Iterator[Token]:
    """``text`` in order: code (fenced, inline or indented), tags, and the text between. Comments and declarations are
    left out."""
    fences = list(_fences(text))
    blocks = [(span, False) for span in fences] + [(span, True) for span in indented_runs(text, fences)]
    elements = _OpenElements(text)
    position = 0
    for (start, end), indented in sorted(blocks):
        yield from map(elements.seen, _tokens(text[position:start]))
        if indented and elements.open:
            yield from map(elements.seen, _tokens(text[start:end]))
        else:
            yield Token("code", text[start:end])
        position = end
    yield from _tokens(text[position:])


def has_html_attributes(tag: Token) -> bool:
    """Whether the attributes of ``tag`` may be HTML's: those of a reader's "<your name>" are not."""
    return "=" in tag.attributes or names.BOOLEANS.issuperset(tag.attributes.split())


def attribute(tag: Token, name: str) -> str:
    """The value of an attribute of ``tag``, ``""`` when it has none."""
    for match in _ATTRIBUTE.finditer(tag.attributes):
        if match[1].lower() == name:
            return html.unescape(match[2].strip("\"'")).strip()
    return ""


def decode(text: str) -> str:
    """``text`` with its character references as characters, escaped ones ("&amp;lt;") included.

    References to what would be read as Markdown or as a tag stay references.
    """
    return _ENTITY.sub(_character, text) if "&" in text else text


def segments(text: str) -> Iterator[tuple[bool, str]]:
    """Fenced blocks, inline code and the rest of ``text``, in order, each with whether it is code."""
    position = 0
    for start, end in _fences(text):
        yield from _inline(text[position:start])
        yield True, text[start:end]
        position = end
    yield from _inline(text[position:])


class _OpenElements:
    """The elements that are open at a place of ``text``, in which an indented line is HTML's, not code."""

    def __init__(self, text: str) -> None:
        self.closed = {name.lower() for name in _CLOSING.findall(text)}
        self.open: list[str] = []

    def seen(self, token: Token) -> Token:
        """``token``, which is the next of the text."""
        if token.kind == "close" and token.name in self.open:
            while self.open.pop() != token.name:
                pass
        elif token.kind == "open" and has_html_attributes(token):
            while self.open and self.open[-1] in names.CLOSES.get(token.name, ()):
                self.open.pop()
            holds = token.name in _HOLDING
            wraps = token.name in self.closed and token.name not in names.UNWRAPPED
            if (holds or wraps) and len(self.open) < _MAX_OPEN:
                self.open.append(token.name)
        return token


def _fences(text: str) -> Iterator[Span]:
    position = 0
    while opening := _FENCE.search(text, position):
        mark = opening[1]
        closing = re.compile(rf"^[ \t]*(?:>[ \t]?)*{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        end = closing.search(text, opening.end())
        position = end.end() if end else len(text)
        yield opening.start(), position


def _tokens(text: str) -> Iterator[Token]:
    for is_code, piece in _inline(text):
        if is_code:
            yield Token("code", piece)
        else:
            yield from _tags(piece)


def _inline(text: str) -> Iterator[tuple[bool, str]]:
    """Inline code spans of ``text``, which do not reach over a blank line, and what is between."""
    start = 0
    for blank in (*_BLANK_LINE.finditer(text), None):
        end = blank.end() if blank else len(text)
        yield from _spans(text[start:end])
        start = end


def _spans(paragraph: str) -> Iterator[tuple[bool, str]]:
    runs = list(_TICKS.finditer(paragraph))
    partner: dict[int, int] = {}
    last: dict[int, int] = {}
    for i in range(len(runs) - 1, -1, -1):
        length = len(runs[i][0])
        if length in last:
            partner[i] = last[length]
        last[length] = i
    position = i = 0
    while i < len(runs):
        escaped = paragraph[runs[i].start() - 1 : runs[i].start()] == "\\"
        if i not in partner or escaped:
            i += 1
            continue
        yield False, paragraph[position : runs[i].start()]
        position = runs[partner[i]].end()
        yield True, paragraph[runs[i].start() : position]
        i = partner[i] + 1
    yield False, paragraph[position:]


def _tags(text: str) -> Iterator[Token]:
    position = 0
    comments_end = True
    while found := _TAG.search(text, position):
        if found.start() > position:
            yield Token("text", text[position : found.start()])
        position = found.end()
        if found[0] == "<!--":
            end = text.find("-->", position) if comments_end else -1
            comments_end = end >= 0
            position = end + 3 if comments_end else position
        elif found[2]:
            kind: Kind = "close" if found[1] else "open"
            yield Token(kind, found[0], found[2].lower(), (found[3] or "").rstrip("/"))
    if position < len(text):
        yield Token("text", text[position:])


def _character(match: re.Match[str]) -> str:
    escapes, name = match[1], match[2]
    kept = f"&{name};" if escapes else match[0]
    value = _value(name)
    if value is None or any(char in _ACTIVE or (char.isascii() and char.isalnum()) for char in value):
        return kept
    if value == "<":
        following = match.string[match.end() : match.end() + 1]
        return kept if not following or following in "/!?&" or following.isalpha() else value
    if value == ">":
        before = match.string[max(0, match.start() - _LOOK_BACK_CHARS) : match.start()].rpartition("\n")[2]
        return value if before.strip() and "&lt;" not in before else kept
    return " " if value == "\u00a0" else value


def _value(name: str) -> str | None:
    """What the reference ``name`` stands for; None for a name that is none, and for controls and surrogates."""
    if not name.startswith("#"):
        return html5.get(f"{name};")
    code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    printable = code >= 0x20 and not 0x7F <= code < 0xA0 and not 0xD800 <= code < 0xE000 and code < 0x110000
    return chr(code) if printable else None
