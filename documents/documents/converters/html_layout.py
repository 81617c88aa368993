"""Lists of HTML that only lay out a page: as old Javadoc has them, with a section and its heading in each item."""

from __future__ import annotations

from bs4 import Tag

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("ul", "ol")


def lay_open(part: Tag) -> None:
    """Make blocks of the lists in ``part`` that have a heading in an item, so that it is a heading of the page.

    An empty ``<a id="...">`` before such a list is the address of the heading that the list begins with.
    """
    for heading in part.find_all(_HEADINGS):
        for around in heading.find_parents(["li", *_LISTS]):
            around.name = "div"
            for other in around.find_all("li", recursive=False):
                other.name = "div"
            before = around.find_previous_sibling()
            if not heading.get("id") and before and before.name == "a" and around.find(_HEADINGS) is heading:
                heading["id"] = str(before.get("id") or before.get("name") or "") if not before.get_text(strip=True) else ""
