"""An HTML table as a Markdown table, by markdownify: header row first, spanned cells repeated."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag

from documents.converters.from_html import markdown
from documents.markup.code import Hidden


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
