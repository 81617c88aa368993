"""Tables of AsciiDoc: cells begin with a bar anywhere, and a row ends when all columns have theirs."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

from documents.converters.asciidoc_inline import cell
from documents.converters.tables import table

MAX_COLUMNS = 100

_SPEC = r"(?:(\d+)?(?:\.(\d+))?([+*]))?[<^>.]*[adehlmsv]?"
_COLUMNS = re.compile(r"cols=(?:\"([^\"]*)\"|'([^']*)'|([^\s,]+))")
_REPEAT = re.compile(r"(\d+)\*")


def markdown(lines: Sequence[str], mark: str, style: str, attributes: Mapping[str, str]) -> str:
    """The table between two lines that begin with ``mark``, with the block attributes ``style``, as Markdown."""
    if mark in ",:":
        rows = [list(row) for row in csv.reader(lines, delimiter=mark) if row]
        width = max(map(len, rows), default=0)
        return _made([row + [""] * (width - len(row)) for row in rows], attributes)
    text = "\n".join(lines).strip("\n")
    begin = re.compile(rf"(?:^|(?<=\s)){_SPEC}(?<!\\)\{mark}", re.MULTILINE)
    marks = list(begin.finditer(text))
    if not marks:
        return ""
    ends = [*(match.start() for match in marks[1:]), len(text)]
    cells = [(match, text[match.end() : end].strip()) for match, end in zip(marks, ends, strict=True)]
    first_line = sum(1 for match in marks if "\n" not in text[: match.start()].strip("\n"))
    width = min(_columns(style) or sum(_across(match) for match in marks[:first_line]), MAX_COLUMNS)
    return _made(_rows(cells, width), attributes)


def _made(rows: Sequence[Sequence[str]], attributes: Mapping[str, str]) -> str:
    shown = [[cell(text, attributes).replace("\\|", "|") for text in row] for row in rows]
    return table(shown[0], shown[1:]) if shown else ""


def _columns(style: str) -> int:
    found = _COLUMNS.search(style)
    if not found:
        return 0
    value = found[1] or found[2] or found[3]
    return sum(int(many[1]) if (many := _REPEAT.match(part.strip())) else 1 for part in re.split("[,;]", value))


def _across(match: re.Match[str]) -> int:
    return int(match[1] or 1) if match[3] else 1


def _rows(cells: Sequence[tuple[re.Match[str], str]], width: int) -> list[list[str]]:
    """The grid, with a cell that spans several in each of them."""
    grid: dict[tuple[int, int], str] = {}
    x = y = 0
    for match, text in cells:
        while (y, x) in grid or x >= width:
            x, y = (x + 1, y) if x + 1 < width else (0, y + 1)
        across, down = min(_across(match), width - x), min(int(match[2] or 1), MAX_COLUMNS)
        grid |= {(y + j, x + i): text for j in range(down) for i in range(across)}
    height = 1 + max(row for row, _ in grid)
    return [[grid.get((row, column), "") for column in range(width)] for row in range(height)]
