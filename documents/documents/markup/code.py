"""Code in Markdown: hidden from all other steps as markdown-it reads it, and restored byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"  # noncharacters of Unicode: no text holds them
_HIDDEN = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_BACKTICKS = re.compile(r"`+")
_INDENTED = re.compile(r"^(?: {4}| {0,3}\t)", re.MULTILINE)
_ESCAPES = re.compile(r"\\*$")
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
        """Restore pieces in a line that must stay one, such as a table's row: a block of code becomes inline code."""
        return _HIDDEN.sub(lambda match: _flatten_block(self.restore(match[0])), text)

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
            out.append(self.mark(part) if is_code else self._hide_in_line(part))
            done = end
        return "\n".join([*out, *lines[done:]])

    def _hide_in_line(self, text: str) -> str:
        runs = list(_BACKTICKS.finditer(text))
        out, done = [], 0
        closing: dict[int, list[int]] = {}
        for number in range(len(runs) - 1, -1, -1):
            closing.setdefault(len(runs[number][0]), []).append(number)
        for number, run in enumerate(runs):
            same = closing[len(run[0])]
            while same and same[-1] <= number:
                same.pop()
            if run.start() < done or not same or _is_escaped(text, run.start()):
                continue
            end = runs[same[-1]].end()
            out += [text[done : run.start()], self.mark(text[run.start() : end])]
            done = end
        return "".join([*out, text[done:]])


def code_lines(text: str) -> set[int]:
    """Return the line numbers (from 0) of indented code that is not within an HTML element."""
    if _INDENTED.search(text) is None:
        return set()
    tokens = _BLOCKS.parse(text)
    lines = text.split("\n")
    blocks = {token.map[0] for token in tokens if token.type == "code_block" and token.map}
    return {
        line
        for first, end, code in _code_parts(tokens, lines)
        if code and first in blocks
        for line in range(first, end)
    }


def _code_parts(tokens: list[Token], lines: list[str]) -> Iterator[tuple[int, int, bool]]:
    """Yield each part with code: (first line, end line, whether all of it is code)."""
    depth = lists = 0
    for token in tokens:
        first, end = token.map or (0, 0)
        if token.type == "html_block":
            depth = max(depth + _balance(token.content), 0)
            lists = max(lists + _balance(token.content, _STRUCTURES), 0)
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


def _balance(html: str, names: frozenset[str] = frozenset()) -> int:
    """Count the elements (of ``names``, or all that wrap blocks) that ``html`` opens and does not close."""
    tags = [tag for tag in _TAG.findall(html) if not tag[2] and _is_wrapper(tag[1].lower(), names)]
    return sum(-1 if closing else 1 for closing, *_ in tags)


def _is_wrapper(name: str, names: frozenset[str]) -> bool:
    return name in names if names else name not in _NOT_WRAPPERS


def _is_escaped(text: str, at: int) -> bool:
    before = _ESCAPES.search(text[max(at - 20, 0) : at])
    return before is not None and len(before[0]) % 2 == 1


def _flatten_block(code: str) -> str:
    lines = [line.strip() for line in code.strip().split("\n")]
    if len(lines) > 2 and lines[0].startswith(("```", "~~~")):
        return " ".join(f"`{line}`" for line in lines[1:-1] if line)
    return " ".join(lines)
