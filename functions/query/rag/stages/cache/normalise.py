"""One form for all spellings of a question, in which every sign that carries meaning is still there."""

from __future__ import annotations

import re
import unicodedata

# Every dash (Unicode's Pd) and the minus sign: to a reader they are one.
_DASHES = re.compile(
    "[\u058a\u05be\u1400\u1806\u2010-\u2015\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0\U00010ead]"
)
# Behind a number a quotation mark is a unit, as a prime is anywhere: 6' is six feet, 6" and 6'' are six inches.
_UNITS = re.compile("(?<=\\d)\\s*['\"\uff07\uff02\u2018-\u201f\u2032-\u2037\u2057]+|[\u2032-\u2037\u2057]+")
_MINUTES = frozenset("'\uff07\u2018\u2019\u201a\u201b\u2032\u2035")
_PRIMES = {"\u2034": 3, "\u2037": 3, "\u2057": 4}
# Between words with blanks around it, a dash is a range beside a number, a letter or the name of a day or month.
_POINT = (
    r"\b(?:[^\W\d]*\d\w*|[^\W\d_]|(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6})"
    r"\b"
)
_SPACED_RANGE = re.compile(rf"{_POINT}[^\w\s]{{0,3}}\s+-+\s+(?=\S)|(?<=\S)\s+-+\s+(?=[^\w\s]{{0,3}}{_POINT})")
_MEANINGFUL = re.compile(
    "[#%&*@\u00a7\u2030\u2031]"
    r"|(?<=[^\s-])-+(?=[^\s-])"  # "Q1-Q3" is not "Q1, Q3"
    r"|(?<=\w)(?::|\.{2,})(?=\w)"  # "A1:B2" is not "A1, B2", "1..5" not "1, 5"
    r"|(?<=\d)\s*(?:[-/]|\.{2,})\s*(?=\d)"  # "5 - 3" is not "5 3"
    r"|(?<=\d)[.,](?=\d)"  # "1.5" is not "15"
    r"|(?<![\w.,])[.,](?=\d)|(?<![\w.,])\.(?=\w)"  # ".5" is not "5", ".NET" is not "NET"
    r"|(?<!\w)-(?=\s?\d)|(?<!\w)[-/](?=\w)"  # "-5" is not "5"
    r"|(?<=\w)-+(?!\w)"  # "A-" is not "A"
    r"|(?<=\d)!|!(?=[\w=])"  # "5!" is not "5", "!=" is not "="
)


def normalise(text: str) -> str:
    """``text`` for comparison: Unicode-normalised (NFKC), lower case, no punctuation, white space collapsed.

    Signs that carry meaning stay, as words: "C++" is not "C", "-5" is not "5", "50 %" is not "50", "10\u00b2" is not
    "102", 6' is not 6", and a dash in a word or a range ("Q1-Q3", "Mon - Fri", "follow-up") is neither a comma nor a
    blank. When in doubt a sign counts: what is kept apart for nothing costs a search, what is not a wrong answer.
    """
    plain = _DASHES.sub("-", unicodedata.normalize("NFKC", _UNITS.sub(_primes, with_raised_spelt(text))).lower())
    plain = _SPACED_RANGE.sub(lambda match: match[0].replace("-", _spelt("-")), plain)
    plain = _MEANINGFUL.sub(lambda match: "".join(map(_spelt, match[0].strip())), plain)
    return " ".join("".join(map(_comparable, plain)).split())


def with_raised_spelt(text: str) -> str:
    """``text`` with what NFKC would let run into the digits beside it as words: superscripts, fractions."""
    return "".join(_spelt(char) if _raised(char) else char for char in text)


def _primes(match: re.Match[str]) -> str:
    """As many primes as the unit has: one for feet and minutes, two for inches and seconds."""
    return _spelt("'") * sum(1 if sign in _MINUTES else _PRIMES.get(sign, 2) for sign in match[0].strip())


def _raised(char: str) -> bool:
    return unicodedata.decomposition(char).startswith(("<super>", "<sub>", "<fraction>"))


def _comparable(char: str) -> str:
    """Letters, digits and their marks (a vowel sign makes another word) as they are; symbols spelt; else a space."""
    kind = unicodedata.category(char)[0]
    return char if kind in "LMN" or char == "_" else _spelt(char) if kind == "S" else " "


def _spelt(sign: str) -> str:
    return f" sign{ord(sign)} "
