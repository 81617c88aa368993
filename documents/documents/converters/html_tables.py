"""HTML tables: which of them only lay out a page, and the others as rows of cells, what spans several in each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from bs4 import Tag

MAX_SPAN = 100
"""A cell spans no more rows or columns; HTML allows a thousand columns and 65,534 rows."""

_LAYOUT_ROLES = ("presentation", "none")
_PARTS = ("tbody", "thead", "tfoot", "tr", "td", "th", "caption")


def lay_open(part: Tag) -> None:
    """Make blocks of the cells of tables in ``part`` that are no table: those with a table in them, or one column."""
    tables = part.find_all("table")
    around = {id(table.find_parent("table")) for table in tables}
    parts: defaultdict[int, list[Tag]] = defaultdict(list)
    for tag in part.find_all(_PARTS):
        parts[id(tag.find_parent("table"))].append(tag)
    for table in tables:
        own = parts[id(table)]
        rows = Counter(id(tag.parent) for tag in own if tag.name in ("td", "th"))
        if id(table) in around or table.get("role") in _LAYOUT_ROLES or max(rows.values(), default=0) < 2:
            for tag in (table, *own):
                tag.name = "div"


def grid(table: Tag, words: Mapping[int, str]) -> tuple[list[str], list[list[str]]] | None:
    """The header and the rows of ``table``, all of one length; ``words`` has each cell's by the tag's ``id()``.

    A cell that spans several stands in each of them, so that each row can be read alone. The names in several header
    rows are joined. Without a header row the first row is it.
    """
    rows = _rows(table)
    cells: dict[tuple[int, int], str] = {}
    for y, row in enumerate(rows):
        x = 0
        for cell in row:
            while (y, x) in cells:
                x += 1
            across, down = _span(cell, "colspan"), min(_span(cell, "rowspan"), len(rows) - y)
            shown = 1 if len(row) == 1 else across  # what is as wide as the table is said once
            cells |= {(y + j, x + i): words.get(id(cell), "") for j in range(down) for i in range(shown)}
            x += across
    if not cells:
        return None
    width = 1 + max(x for _, x in cells)
    lines = [[cells.get((y, x), "") for x in range(width)] for y in range(len(rows))]
    heads = _header_rows(rows)
    header = [" ".join(dict.fromkeys(filter(None, names))) for names in zip(*lines[:heads], strict=True)]
    return header, [line for line in lines[heads:] if any(line)]


def _rows(table: Tag) -> list[Sequence[Tag]]:
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    return [cells for row in rows if (cells := row.find_all(["td", "th"], recursive=False))]


def _header_rows(rows: Sequence[Sequence[Tag]]) -> int:
    count = 0
    while count < len(rows) and _is_header(rows[count]):
        count += 1
    return count if 0 < count < len(rows) else 1


def _is_header(row: Sequence[Tag]) -> bool:
    return row[0].find_parent("thead") is not None or all(cell.name == "th" for cell in row)


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name) or "")
    return max(1, min(int(value), MAX_SPAN)) if value.isdecimal() else 1
