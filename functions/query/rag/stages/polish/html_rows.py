"""HTML within the cells of a Markdown pipe table: a row must stay one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from rag.stages.polish import html_names as names
from rag.stages.polish.html_tokens import Token, has_html_attributes

_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_DASHES = re.compile("-+")
_PIPE = re.compile(r"(?<!\\)\|")
_NOT_NEWLINE = re.compile(r"[^\n]")
_BREAKING = names.BLOCKS | names.LISTS | names.HEADINGS.keys() | {"br", "hr", "blockquote", "li"}
_LITERAL = names.CODES | {"pre"}

type _Span = tuple[int, int]


def flat_rows(tokens: Sequence[Token]) -> list[Token]:
    """``tokens`` with a blank for each tag that would break the line of a pipe table's row, a dash for a list's item
    and inline code for preformatted text."""
    cells = _cells("".join(token.raw if token.kind == "text" else _hidden(token.raw) for token in tokens))
    first, end = next(cells, (-1, -1))
    literal = ""
    flat: list[Token] = []
    for token, start in zip(tokens, accumulate((len(token.raw) for token in tokens), initial=0), strict=False):
        while -1 < end <= start:
            first, end = next(cells, (-1, -1))
        new = _flat(token, literal, flat) if first <= start < end else token
        if new.kind == "open" and new.name in _LITERAL and not literal:
            literal = new.name
        elif new.kind == "close" and new.name == literal:
            literal = ""
        if new.raw:
            flat.append(new)
    return flat


def _flat(token: Token, literal: str, before: Sequence[Token]) -> Token:
    """``token`` of a cell as what keeps to its line; within the element ``literal`` tags are no blocks."""
    if token.kind not in {"open", "close"} or not has_html_attributes(token):
        return token
    if token.name == "pre" and literal != "pre":
        return replace(token, name="code")
    if token.name not in _BREAKING or literal:
        return token
    blank = "" if before and before[-1].kind == "text" and before[-1].raw.endswith(" ") else " "
    return Token("text", f"{blank}- " if token.kind == "open" and token.name == "li" else blank)


def _cells(text: str) -> Iterator[_Span]:
    """From where to where the cells of each row of each pipe table in ``text`` reach, in order."""
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    columns = 0
    for i, line in enumerate(lines):
        if "|" not in line:
            columns = 0
        elif columns:
            yield _row(line, starts[i], columns)
        elif i and "|" in lines[i - 1] and _RULE.fullmatch(line):
            columns = len(_DASHES.findall(line))
            yield _row(lines[i - 1], starts[i - 1], columns)


def _row(line: str, start: int, columns: int) -> _Span:
    """The cells of one row; what follows its last pipe is in none of them."""
    pipes = [match.start() for match in _PIPE.finditer(line)]
    leads = line.lstrip(" \t>").startswith("|")
    last = columns if leads else columns - 1
    return start + (pipes[0] if leads and pipes else 0), start + (pipes[last] if last < len(pipes) else len(line) + 1)


def _hidden(raw: str) -> str:
    """Code or a tag, in which a pipe divides nothing, as so many other characters."""
    return _NOT_NEWLINE.sub("x", raw)
