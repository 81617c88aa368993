"""How recent a chunk is: a sortable date from its front matter, else from the name of its file or page."""

from __future__ import annotations

import re
from datetime import date

from rag.values.answer import Chunk

FRONT_MATTER_FIELDS = ("date", "updated", "modified", "last_modified", "published", "effective_date")
"""Asked in this order where a document has no ``last_updated``."""
FIRST_YEAR, LAST_YEAR = 1970, 2099
"""Other four-digit numbers in a name are part numbers and standards."""
LAST_MONTH = 12

# A year, and where it is followed by a month (and day) those too: 2024, 2024-03, 2024_03_17, 20240317.
_DATE = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?:(?P<sep>[-_./]?)(?P<month>\d\d)(?:(?P=sep)(?P<day>\d\d))?)?(?![0-9])"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# In front matter, months and days may have one digit, and the year may come last.
_YEAR_FIRST = re.compile(r"(?<!\d)((?:19|20)\d\d)([-/.])(\d{1,2})(?:\2(\d{1,2}))?(?!\d)")
_YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2})([-/.])(\d{1,2})\2((?:19|20)\d\d)(?!\d)")
_MONTH_YEAR = re.compile(r"(?<![\w.])(0?[1-9]|1[0-2])[-/.]((?:19|20)\d\d)(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED_MONTH = f"((?:{'|'.join(_MONTHS)})[a-z]{{0,6}})"
_DAY_FIRST = re.compile(
    r"(?<!\d)(\d{1,2})(?:(?:st|nd|rd|th)(?: +(?:day +)?of)?)?[-./ ]+"
    rf"{_NAMED_MONTH}\.?,?[-/ ]+((?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"\b{_NAMED_MONTH}\.?[-/ ]+(?:(?:the +)?(\d{{1,2}})(?:st|nd|rd|th)?,?[-/ ]+)?((?:19|20)\d\d)(?!\d)", re.IGNORECASE
)


def chunk_date(chunk: Chunk) -> int | None:
    """The chunk's date as the number yyyymmdd, None when nothing tells it.

    An unknown month or day counts as 00: a document of "2024" is older than one of January 2024.
    """
    stated = (chunk.last_updated, *(str(chunk.extra.get(name, "")) for name in FRONT_MATTER_FIELDS))
    dates = (text_date(text) for text in stated)
    stated_date = next((found for found in dates if found is not None), None)
    return stated_date or name_date(chunk.path) or name_date(chunk.url)


def text_date(text: str) -> int | None:
    """The date that ``text`` states: ISO (``2024-03-17T10:00``), ``2024/3/17``, ``17th of March 2024``, ``03/2024`` ...

    With slashes the month comes first (``03/17/2024``), with dots and dashes the day does, unless that is no date.
    """
    if match := _YEAR_FIRST.search(text):
        return _number(match[1], match[3], match[4])
    if match := _YEAR_LAST.search(text):
        month, day = (match[1], match[3]) if match[2] == "/" else (match[3], match[1])
        return _number(match[4], *((month, day) if int(month) <= LAST_MONTH else (day, month)))
    if match := _DAY_FIRST.search(text):
        return _number(match[3], _month(match[2]), match[1])
    if match := _MONTH_FIRST.search(text):
        return _number(match[3], _month(match[1]), match[2])
    if match := _MONTH_YEAR.search(text):
        return _number(match[2], match[1], None)
    return name_date(text.replace("/", "-"))


def name_date(path: str) -> int | None:
    """The newest date in a file's name: ``2024_policy.md``, ``report-2025.pdf``, ``2024-03-17-x.md``.

    Only the name counts, not its folders. What is no day of the calendar (``2024-25``) is read as a year.
    """
    name = path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    full = (_number(match["year"], match["month"], match["day"]) for match in _DATE.finditer(name))
    years = (_number(match[0], None, None) for match in _YEAR.finditer(name))
    return max((found for found in (*full, *years) if found is not None), default=None)


def _number(year: str, month: str | int | None, day: str | None) -> int | None:
    """yyyymmdd of what is a date, the year alone where month and day are not; None for a year out of range."""
    y, m, d = int(year), int(month or 0), int(day or 0)
    if not FIRST_YEAR <= y <= LAST_YEAR:
        return None
    try:
        date(y, m or 1, d or 1)
    except ValueError:
        m = d = 0
    return y * 10_000 + m * 100 + (d if m else 0)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1
