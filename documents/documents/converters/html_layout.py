"""Lists and tables of HTML as they are meant: lists that only lay out a page, definitions that nobody closed, grids."""

from __future__ import annotations

from bs4 import Tag

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("ul", "ol")


def lay_open(part: Tag) -> None:
    """Make blocks of the lists in ``part`` that have a heading in an item, so that it is a heading of the page.

    Old Javadoc has a section with its heading in each item. An empty ``<a id="...">`` before such a list is the address
    of the heading that the list begins with.
    """
    for heading in part.find_all(_HEADINGS):
        for around in heading.find_parents(["li", *_LISTS]):
            around.name = "div"
            for other in around.find_all("li", recursive=False):
                other.name = "div"
            before = around.find_previous_sibling()
            is_address = before is not None and before.name == "a" and not before.get_text(strip=True)
            if before is not None and is_address and not heading.get("id") and around.find(_HEADINGS) is heading:
                heading["id"] = str(before.get("id") or before.get("name") or "")


def close_definitions(part: Tag) -> None:
    """Take terms and definitions out of the one before, whose end tag HTML lets writers leave out."""
    for tag in part.find_all(["dt", "dd"]):
        while (around := tag.find_parent(["dt", "dd", "dl"])) is not None and around.name != "dl":
            for node in [tag, *tag.next_siblings][::-1]:
                around.insert_after(node.extract())


def draw_tables(part: Tag) -> None:
    """Make tables of the grids of ``<div>`` that Javadoc has had in their place since Java 16.

    On 120 pages of the JDK's own documentation, version 17, are 855, with 7,355 names and descriptions: all are then in
    a row together, and 186 are without this.
    """
    for grid in part.select("div.summary-table"):
        cells = grid.find_all("div", recursive=False)
        width = sum(_is_header(cell) for cell in cells)
        if not width or len(cells) % width:
            continue
        rows = [cells[at : at + width] for at in range(0, len(cells), width)]
        grid.clear()
        grid.name = "table"
        for row in rows:
            line = Tag(name="tr")
            for cell in row:
                cell.name = "th" if _is_header(cell) else "td"
                line.append(cell)
            grid.append(line)


def _is_header(cell: Tag) -> bool:
    return "table-header" in cell.get_attribute_list("class")
