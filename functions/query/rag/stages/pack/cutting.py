"""Cutting a text to a token budget without leaving half a sentence behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from unicodedata import normalize

ELLIPSIS = "..."
"""Says that a text goes on. ASCII, as it is one token in every vocabulary; U+2026 is three in some."""

# After a line; after a sentence and what closes it, before white space; after a sentence of a script without spaces.
_END = re.compile(r"\n|(?<=[.!?])[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f]")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


def cut_to(text: str, budget: int, count: Callable[[str], int], *, anywhere: bool = False) -> str:
    """``text`` if it fits, else its longest beginning of whole sentences or lines that does, with an ellipsis.

    Args:
        text: what is to be cut.
        budget: tokens that the result may have, its ellipsis included.
        count: tokens of a text; asked only about a text that could exceed ``budget``, which takes more bytes of
            UTF-8 than that: no token is shorter than a byte.
        anywhere: where no sentence or line fits, cut at a word, and where no word does, at a character.

    Returns:
        At most ``budget`` tokens; ``""`` when nothing fits.
    """
    if _fits(text, budget, count):
        return text
    cut = _longest(text, [match.end() for match in _END.finditer(text)], budget, count)
    if not cut and anywhere:
        cut = _longest(text, [match.end() for match in _WORD_END.finditer(text)], budget, count)
        cut = cut or _longest(text, range(len(text)), budget, count)
    return cut


def _longest(text: str, ends: Sequence[int], budget: int, count: Callable[[str], int]) -> str:
    """The longest beginning that fits, by bisection: a longer text has as many tokens or more, but for a few."""
    best = ""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        beginning = text[: ends[middle]].rstrip()
        cut = f"{beginning} {ELLIPSIS}" if beginning else ""
        if _fits(cut, budget, count):
            best, low = cut, middle + 1
        else:
            high = middle
    return best


def _fits(text: str, budget: int, count: Callable[[str], int]) -> bool:
    return _bytes(text) <= budget or count(text) <= budget


def _bytes(text: str) -> int:
    """At least the tokens of ``text``. A few characters become more bytes when a tokenizer normalises them to NFC."""
    return max(len(form.encode("utf-8", "surrogatepass")) for form in (text, normalize("NFC", text)))
