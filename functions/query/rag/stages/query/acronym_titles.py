"""The header row of an acronyms file, told from a row that holds an acronym."""

from __future__ import annotations

from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHORT_TITLES = frozenset({"acronym", "acronyms", "abbreviation", "abbreviations", "short form"})
SHORT_OR_ACRONYM = _words("abbr abbrev code initialism initials key name short term")
"""Acronyms as well as titles ("Tenant Equity Review Meeting"): beside these the second cell must be a title too."""
LONG_TITLE = _words(
    "definition description expanded expansion explanation for form full long meaning name spelling stands term text "
    "title value version"
)


def is_header(cells: Sequence[str]) -> bool:
    """Whether ``cells`` of a file's first filled row are the titles of its columns."""
    first, second, *_ = (*(cell.lower() for cell in cells), "", "")
    if first in SHORT_TITLES:
        return True
    return first in SHORT_OR_ACRONYM and second != "" and LONG_TITLE.issuperset(second.replace("_", " ").split())
