"""Code in Markdown: hidden from all other steps as markdown-it reads it, and restored byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"  # noncharacters of Unicode: no text holds them
_HIDDEN = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_INLINE = re.compile(r"\\[\\`]|(?<!`)(?P<ticks>`{1,20})(?!`).*?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_INDENTED = re.compile(r"^(?: {4}| {0,3}\t)", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)[^<>]*?(/?)>")
_BLOCKS = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_MDX_BLOCKS = MarkdownIt("commonmark").enable("table").disable(["code", "html_block"])
_MDX_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_STRUCTURES = frozenset({"table", "ul", "ol", "dl"})
_NOT_WRAPPERS = frozenset(
    {"p", "li", "br", "img", "hr", "input", "link", "meta", "source", "track", "wbr", "col", "td"}
)


class HiddenCode:
    """Pieces of a text that are replaced by marks."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def mark(self, piece: str) -> str:
        """Hide ``piece`` and return its mark."""
        self._pieces.append(piece)
        return f"{_OPEN}{len(self._pieces) - 1}{_CLOSE}"

    def restore(self, text: str) -> str:
        """Return ``text`` with all pieces restored, nested ones too."""
        for _ in range(5):
            if _OPEN not in text:
                break
            text = _HIDDEN.sub(lambda match: self._pieces[int(match[1])], text)
        return text

    def restore_inline(self, text: str) -> str:
        """Restore pieces in a line that must stay one, such as a table's row."""
        return _HIDDEN.sub(lambda match: " ".join(self.restore(match[0]).split()), text)

    def hide(self, text: str, *, mdx: bool = False) -> str:
        """Replace each fence, indented block of code and inline code by a mark."""
        lines = text.split("\n")
        tokens = (_MDX_BLOCKS if mdx else _BLOCKS).parse(text)
        out: list[str] = []
        done = 0
        for first, end, is_code in _code_parts(tokens, lines):
            if first < done:
                continue
            out += lines[done:first]
            part = "\n".join(lines[first:end])
            out.append(self.mark(part) if is_code else _INLINE.sub(self._hide_inline, part))
            done = end
        return "\n".join([*out, *lines[done:]])

    def _hide_inline(self, match: re.Match[str]) -> str:
        return self.mark(match[0]) if match["ticks"] else match[0]


def code_lines(text: str) -> set[int]:
    """Return the line numbers (from 0) of indented code that is not within an HTML element."""
    if _INDENTED.search(text) is None:
        return set()
    tokens = _BLOCKS.parse(text)
    blocks = {token.map[0] for token in tokens if token.type == "code_block" and token.map}
    parts = _code_parts(tokens, text.split("\n"))
    return {line for first, end, code in parts if code and first in blocks for line in range(first, end)}


def _code_parts(tokens: list[Token], lines: list[str]) -> Iterator[tuple[int, int, bool]]:
    """Yield each part with code: (first line, end line, whether all of it is code)."""
    depth = lists = 0
    for token in tokens:
        first, end = token.map or (0, 0)
        if token.type == "html_block":
            depth = max(depth + _balance(token.content, lambda name: name not in _NOT_WRAPPERS), 0)
            lists = max(lists + _balance(token.content, _STRUCTURES.__contains__), 0)
            if not token.content.lstrip().startswith(("<!--", "<script", "<style", "<pre")):
                yield first, end, False
        elif token.type == "fence":
            yield first, end, True
        elif token.type == "code_block":
            # In HTML, Python-Markdown, kramdown and MDX read indented tags as tags; below a row kramdown reads rows.
            is_row = first > 0 and token.content.lstrip().startswith("|") and lines[first - 1].lstrip().startswith("|")
            yield first, end, not (lists or is_row or (depth and token.content.lstrip().startswith("<")))
        elif token.type == "inline":
            yield first, end, False


def _balance(html: str, is_counted: Callable[[str], bool]) -> int:
    """Count the elements that ``html`` opens and does not close."""
    tags = (tag for tag in _TAG.findall(html) if not tag[2] and is_counted(tag[1].lower()))
    return sum(-1 if closing else 1 for closing, *_ in tags)
