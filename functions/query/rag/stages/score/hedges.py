"""Words by which an answer takes back what it says."""

from __future__ import annotations

import re

# "May" by itself gives leave ("you may export it") or is a month, and so does "may be" in what is quoted ("a period may
# be 31 days long", "keys may not be shared"): it hedges only before what is said of the truth of an answer.
_DOUBT = (
    r"(?:accurate|applicable|correct|complete|exact|incorrect|inaccurate|incomplete|outdated|possible|right|true|wrong)"
)
_HEDGE = re.compile(
    rf"""\b(?:might|perhaps|possibly|probably|presumably
    |may\ (?:not\ )?(?:also\ )?be\ (?:(?:due|because|that|the\ case|able|related)\b|{_DOUBT}\b)
    |may\ (?:not\ )?have\ (?:been|had|changed|\w+ed)|may\ (?:not\ )?(?:vary|differ|depend)
    |i\ (?:think|believe|guess|assume)
    |(?:i(?:['’]m|\ am)\ |^\W*)not\ (?:\w+\ )?(?:sure|certain)|(?:it\ is|it['’]s)\ not\ (?:\w+\ )?clear
    |unclear|(?:it|this|that)\ (?:seems|appears)\ (?:that|to\ be|as\ if|like)|could\ be|as\ far\ as\ i\ know)\b""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


def count_hedges(answer: str) -> int:
    """How many hedging words ("might", "I am not sure" ...) ``answer`` holds."""
    return sum(1 for _ in _HEDGE.finditer(answer))
