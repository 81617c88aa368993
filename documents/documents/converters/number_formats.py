"""Numbers, dates and times as a sheet shows them, by the number formats of ECMA-376 part 1, 18.8.30.

Dates are ISO, because the order of day and month may depend on the reader's machine. Of the libraries, openpyxl applies
no formats, and ssf has had no release since 2020.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

_NOT_CODE = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[(?![hms]+\])[^\]]*\]|_.|\*.', re.IGNORECASE)
"""Text, and what is not shown: colours, and conditions, which choose a section in none of 59 public sheets."""
_PLACES = re.compile(r"[0#?](?:.*[0#?])?")
_THOUSANDS = re.compile(r"(?<=[0#?]),+(?![0#?,])")
_GENERAL = re.compile(r"general|@|[0#?].*(?:/|e[+-]).*[\d#?]", re.IGNORECASE)
"""Also fractions and powers of ten, which none of 13 real workbooks has: they are shown as decimals."""
_SHIFT = 0xF0000  # moves literal text to a private plane, where no character is a sign of a format
_SIGNS = {"-", "(", chr(ord("-") + _SHIFT), chr(ord("(") + _SHIFT)}
_MAX_CODE_CHARS = 255  # Excel's limit
_PRECISION = 15  # digits that a sheet keeps: 0.1 + 0.2 is 0.3


def shown_value(value: Any, code: str) -> str:
    """Return the text that a cell shows by the number format ``code``; ``""`` if it shows nothing."""
    sections = _sections(code if len(code) <= _MAX_CODE_CHARS else "General")
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        return _date(value, sections[0].lower())
    if isinstance(value, int | float):
        try:
            shown = _number(value, sections)
        except InvalidOperation:  # more digits than any sheet has
            shown = str(value)
    elif "@" in sections[-1] or len(sections) > 3:
        shown = sections[-1].replace("@", str(value))
    else:
        return str(value)
    return "".join(chr(ord(char) - _SHIFT) if ord(char) >= _SHIFT else char for char in shown).strip()


@lru_cache(maxsize=1024)
def _sections(code: str) -> list[str]:
    def protect(found: re.Match[str]) -> str:
        return "".join(chr(ord(char) % _SHIFT + _SHIFT) for char in found[1] or found[2] or found[3] or "")

    return _NOT_CODE.sub(protect, code).split(";")


def _number(value: float, sections: list[str]) -> str:
    numbers = [section for section in sections[:3] if "@" not in section] or sections[:1]
    chosen = 1 if value < 0 else 2 if value == 0 else 0
    section = numbers[chosen] if chosen < len(numbers) else numbers[0]
    text = str(abs(value)) if isinstance(value, int) else f"{abs(value):.{_PRECISION}g}"
    thousands = sum(map(len, _THOUSANDS.findall(section)))
    places = _PLACES.search(_THOUSANDS.sub("", section))
    if _GENERAL.search(section) or not places:
        shown = _GENERAL.sub(lambda _: text, section)
    else:
        number = Decimal(text).scaleb(2 * section.count("%") - 3 * thousands)
        shown = places.string[: places.start()] + _in_places(number, places[0]) + places.string[places.end() :]
    return f"-{shown}" if value < 0 and not _SIGNS & set(section) and re.search("[1-9]", shown) else shown


def _in_places(number: Decimal, pattern: str) -> str:
    """Return ``number`` in the places ``0``, ``#`` and ``?`` of ``pattern``."""
    whole, _, decimals = pattern.partition(".")
    number = number.quantize(Decimal(1).scaleb(-sum(map(decimals.count, "0#?"))), ROUND_HALF_UP)
    digits, _, rest = f"{number:f}".partition(".")
    rest = rest.rstrip("0").ljust(decimals.count("0"), "0")
    width = whole.count("0")
    digits = digits.lstrip("0").zfill(width)
    if "," in whole and digits:
        digits = f"{int(digits):0{width + max(width - 1, 0) // 3},}"
    left = list(digits)
    shown = re.sub("[0#?]", lambda _: left.pop() if left else "", whole.replace(",", "")[::-1])[::-1]
    return "".join(left) + shown + "." * bool(rest) + rest


def _date(value: Any, code: str) -> str:
    """Return the shown parts of a date, as ISO or with the month's name, and of a time."""
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        clock = f"{minutes // 60:02}:{minutes % 60:02}" if "h" in code else f"{minutes:02}"
        return f"{clock}:{seconds:02}" if "s" in code or "h" not in code else clock
    has_time = isinstance(value, dt.time) or bool(set("hs") & set(code))
    if isinstance(value, dt.time) or (has_time and not set("yd") & set(code)):
        return _time(value, code)
    if re.search("(?<!d)dd?(?!d)", code):
        date = f"{value:%Y-%m-%d}"
    elif "m" in code.replace("am/pm", ""):
        date = f"{value:%B %Y}" if "mmm" in code else f"{value:%Y-%m}"
    else:
        date = f"{value:%A}" if "d" in code else f"{value:%Y}"
    return f"{date} {_time(value, code)}" if has_time else date


def _time(value: dt.time | dt.datetime, code: str) -> str:
    if re.search("am?/", code):
        return f"{value:%I:%M %p}".lstrip("0")
    if "s" in code and "h" not in code:
        return f"{value:%M:%S}"
    return f"{value:%H:%M:%S}" if "s" in code and value.second else f"{value:%H:%M}"
