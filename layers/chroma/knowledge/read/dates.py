"""The date of a document, from its front matter or else from its file's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime

FRONT_MATTER_FIELDS = ("date", "updated", "modified", "last_modified", "published", "effective_date")
"""Fields with a date, in this order, for a document without ``last_updated``."""

# A year, and where a month (and day) follow it those too: 2024, 2024-3-7, 2024_03_17, 20240317, 2024-03-17T10:00. In
# front matter of real sites dates are of these forms, as YAML and TOML give them: 24 of 24 in docs_jekyll and
# docs_nuxt_content.
_DATE = re.compile(r"(?<!\d)((?:19[7-9]|20\d)\d)(?:([-_./]?)(\d\d?)(?:\2(\d\d?))?)?(?!\d)")
_DAY_FIRST = re.compile(r"(?<!\d)(\d\d?)\.(\d\d?)\.(\d{4})(?!\d)")  # 17.03.2024
# A day, and perhaps a time and a zone: "2016-2-6", "2016-02-06 9:32:10 -0800", "2016-02-06T19:32:10.5 Z". On
# digital.gov's site all 536 times are written with a space before the zone, 36 with an hour of one digit.
_MOMENT = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)"
    r"(?:(?:[Tt]|\s+)(\d\d?)(:\d\d)(:\d\d)?(\.\d{1,6})?\d*\s*(Z|z|UTC|GMT|[+-]\d\d?(?::?\d\d)?)?)?"
)


def to_iso(text: str) -> str:
    """Return a date or time in ISO 8601; any other text is returned as it is."""
    match = _MOMENT.fullmatch(text.strip())
    if not match:
        return text
    year, month, day, hour, minute, second, part, zone = match.groups()
    written = f"{year}-{int(month):02}-{int(day):02}"
    try:
        if hour is None:
            return date.fromisoformat(written).isoformat()
        written += f"T{int(hour):02}{minute}{second or ':00'}{part or ''}{_zone(zone or '')}"
        return datetime.fromisoformat(written).isoformat()
    except ValueError:  # the 31st of April
        return text


def _zone(zone: str) -> str:
    if not zone or zone[0] not in "+-":
        return "+00:00" if zone else ""
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "00")
    return f"{zone[0]}{int(hours):02}:{minutes}"


def document_date(*, last_updated: str, extra: Mapping[str, object], path: str, url: str) -> int:
    """Return the date as the number yyyymmdd, 0 if there is none.

    An unknown month or day counts as 00: a document of "2024" is older than one of January 2024.
    """
    stated = (last_updated, *(str(extra.get(name, "")) for name in FRONT_MATTER_FIELDS))
    names = (place.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] for place in (path, url))
    return next((found for text in (*stated, *names) if (found := newest_date(text))), 0)


def newest_date(text: str) -> int:
    """Return the newest date in ``text`` as yyyymmdd, 0 for none; an impossible date (``2024-25``) counts as a year."""
    newest = 0
    for match in _DATE.finditer(_DAY_FIRST.sub(r"\3-\2-\1", text)):
        year, month, day = int(match[1]), int(match[3] or 0), int(match[4] or 0)
        try:
            date(year, month or 1, day or 1)
        except ValueError:
            month = day = 0
        newest = max(newest, year * 10_000 + month * 100 + (day if month else 0))
    return newest
