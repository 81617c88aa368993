"""An HTML table as a Markdown table, by markdownify: header row first, spanned cells repeated."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag

from ragctl.converters.from_html import markdown
from ragctl.markup.code import Hidden

MAX_CELLS = 20_000
_SPAN_LIMIT = 100


def table(source: str, hidden: Hidden) -> str:
    """The Markdown of ``source``, a whole ``<table>``; its code is put back, in the line."""
    page = BeautifulSoup(source, "html.parser")
    top = page.find("table")
    if not isinstance(top, Tag):
        return ""
    try:
        for inner in [found for found in top.find_all("table") if found.find_parent("table") is top]:
            inner.replace_with(inner.get_text(" ", strip=True))  # a cell cannot hold a table
        for image in top.find_all("img"):
            image.replace_with(str(image.get("alt") or ""))
        for link in top.find_all("a", href=True):
            _as_markdown(link)
        if len(top.find_all(("td", "th"))) <= MAX_CELLS:
            _spread(page, top)
        rows = markdown(top)
    except RecursionError:
        rows = "\n".join(row.get_text(" ", strip=True) for row in top.find_all("tr"))
    lines = rows.strip().split("\n")
    kept = lines[:2] + [row for row in lines[2:] if row.strip(" |")]  # a loop without data leaves empty rows
    return "\n\n" + hidden.mark("\n".join(hidden.back_in_line(row) for row in kept)) + "\n\n"


def _as_markdown(link: Tag) -> None:
    words, address = " ".join(link.get_text(" ").split()), str(link["href"])
    if words and address and not re.search(r"[\s()|]", address) and not re.search(r"[\[\]]", words):
        link.replace_with(f"[{words}]({address})")


def _spread(page: BeautifulSoup, top: Tag) -> None:
    """Repeat a cell that spans rows or columns in each of them: a row is read without the others."""
    below: dict[int, tuple[int, Tag]] = {}
    for row in top.find_all("tr"):
        column = 0
        for cell in [*row.find_all(("td", "th"), recursive=False), None]:
            while column in below:
                left, above = below.pop(column)
                copy = _copy(page, above)
                cell.insert_before(copy) if cell is not None else row.append(copy)
                if left > 1:
                    below[column] = (left - 1, above)
                column += 1
            if cell is None:
                break
            wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
            for more in range(wide):
                if more:
                    cell.insert_after(_copy(page, cell))
                if high > 1:
                    below[column + more] = (high - 1, cell)
            column += wide


def _span(cell: Tag, name: str) -> int:
    value = str(cell.attrs.pop(name, "1"))
    return min(int(value), _SPAN_LIMIT) if value.isdecimal() and 0 < len(value) < 6 and int(value) else 1


def _copy(page: BeautifulSoup, cell: Tag) -> Tag:
    copy = page.new_tag(cell.name)
    copy.string = " ".join(cell.get_text(" ").split())
    return copy
