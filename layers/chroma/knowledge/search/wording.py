"""The wording of a text: its words and content stems, its names and its numbers; and the test for verbatim claims.

Words are lower case after NFKC. A content stem is the stem of a word that is no stop word of the index. All negating
words have one stem, ``NOT``.

A claim is verbatim if its words stand in one unit of a chunk, in the same order: the sentence, list item or table row
that shares most words with it. Words are compared by letters, since cosines do not separate a falsehood with one
changed word from a true paraphrase. The claim may also use words of the unit's headings and lead-in, in any order,
unless it leaves out the same word elsewhere in the unit.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knowledge.cut.scripts import MARKS, parts
from knowledge.cut.units import END, KIND, LEAD_END, LEAD_START, START, UnitKind
from knowledge.search.terms import Terms

_LETTER = rf"(?:[^\W\d_]|[{MARKS}])"
_TOKEN = re.compile(rf"\d+(?:[.,:]\d+)*|{_LETTER}+(?:['’](?!s\b){_LETTER}+)?|[%°$€£¥]")
_NEGATIONS = frozenset(("no", "not", "never", "none", "neither", "nor", "cannot", "without", "nobody", "nothing"))
_CONTRACTED = ("n't", "n’t")
_CLAUSE_END = re.compile(r"[,;:.!?()|\n\u2013\u2014\u3001\u3002]")
_SENTENCE_END = re.compile(r"[.!?:\n]")
_LABEL = re.compile(r"[^.!?:\n]+:")
_ORDER = re.compile(r"(?:^|(?<=[.:!?]\s))\d{1,2}\\?[.)](?=\s|$)|\[\d{1,3}\]")
"""The number of a step within a paragraph, and of a reference within code: no claim. Of MTRAG's faithful answers 7 %
have one that stands nowhere in the passages."""
_ISO_DATE = re.compile(r"\b\d{4}-(\d\d)-\d\d\b")
_MONTHS = [name.lower() for name in calendar.month_name]
_SMALL = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
          "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")  # fmt: skip
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {word: str(number) for number, word in enumerate(_SMALL, start=2)}
_NUMBERS |= {word: str(10 * number) for number, word in enumerate(_TENS, start=3)}
"""Numbers in words. Of sentences of ClapNQ and SQuAD (200 each) with another such word put in, 12 and 9 % are called
supported; without this, 99 %."""
_NUMBER = r"\d+(?:[.,]\d+)*"
_BETWEEN = r"[^\d=+*×·−–.;:!?\n]{0,20}?"
_CALCULATION = re.compile(rf"{_NUMBER}(?:{_BETWEEN}[-+*×·−–x]{_BETWEEN}{_NUMBER})+{_BETWEEN}={_BETWEEN}{_NUMBER}")
_PART = re.compile(rf"[+*×·=x]|(?<=\s)[-−–](?=\s)|{_NUMBER}")
_SHORTEST = 3
"""Letters of the last word of a sentence: "Dr." and "U.S." end none."""

NOT = "\0not"
REACH = 2
"""Words of content that stand together in a passage are at most so many places apart."""

type Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """A text in letters: ``words`` and ``stems`` (``""``: a stop word) are one a token.

    ``starts`` are the tokens' first characters, ``ends`` says behind which a clause ends.
    """

    words: Sequence[str]
    stems: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[bool]

    @property
    def keys(self) -> Sequence[str]:
        """A key for each word: its stem, or the word itself if it is a stop word."""
        return [stem or word for stem, word in zip(self.stems, self.words, strict=True)]

    def pairs(self, reach: int = 1) -> frozenset[Pair]:
        """Return the content stems that are at most ``reach`` places from each other, in their order."""
        stems = [stem for stem in self.stems if stem and stem != NOT]
        return frozenset().union(*(zip(stems, stems[step:], strict=False) for step in range(1, reach + 1)))


def parse_wording(text: str, terms: Terms) -> Wording:
    """Parse ``text`` with the index's ``terms``; offsets hold where NFKC and lower case keep its length."""
    text = unicodedata.normalize("NFKC", text).lower()
    tokens = [(token.start() + at, piece) for token in _TOKEN.finditer(text) for at, piece in parts(token[0])]
    found = [word for _, word in tokens]
    words = _by_24_hours(
        [word if word.isalpha() and word not in _NUMBERS else _normalise_number(word) for word in found]
    )
    stems = [
        NOT if word in _NEGATIONS or word.endswith(_CONTRACTED) else stem
        for word, stem in zip(words, terms.stems(words), strict=True)
    ]
    starts = [start for start, _ in tokens]
    ends = [_CLAUSE_END.search(text, at + len(one), then) is not None for (at, one), (then, _) in pairwise(tokens)]
    return Wording(words, stems, starts, [*ends, True][: len(words)])


def find_names(text: str, terms: Terms) -> frozenset[frozenset[str]]:
    """Return the words with a capital that begin no sentence and are no stop words, each with its stem.

    A label in title case ("Market Fluctuations: ...") has no names: there capitals tell nothing. Of MTRAG's faithful
    answers 4 % have no other word that would be called missing.
    """
    text = unicodedata.normalize("NFKC", text)
    labels = [match.span() for match in _LABEL.finditer(text) if _is_title_case(match[0], terms)]
    words = [
        match[0].lower() for match in _capitals(text) if not any(start <= match.start() < end for start, end in labels)
    ]
    return frozenset(frozenset(pair) for pair in zip(words, terms.stems(words), strict=True) if pair[1])


def find_numbers(text: str, terms: Terms) -> frozenset[str]:
    """Return the numbers of a text, each in one spelling, without numbers of steps and of references in code."""
    return frozenset(word for word in parse_wording(_ORDER.sub("", text), terms).words if word[0].isdigit())


def find_results(text: str) -> frozenset[str]:
    """Return the results of the right calculations in a text, such as ``108`` of "3 × 36 EUR = 108 EUR".

    The prompt asks for sums, differences and products that are shown. None of 261 rated answers has one; six of a
    person who played the model, all right, were "not found" without this.
    """
    results = set()
    for match in _CALCULATION.finditer(text):
        *parts, _, result = map(_normalise_number, _PART.findall(match[0]))
        with suppress(InvalidOperation, ValueError):  # "1.2.3", or an "x" within a word
            if _value(parts[::2], parts[1::2]) == Decimal(result):
                results.add(result)
    return frozenset(results)


def other_spellings(text: str) -> frozenset[str]:
    """Return words and numbers by which a claim may mean what ``text`` says: the months of dates, "1" for "one"."""
    words = set(_TOKEN.findall(text.lower()))
    months = {str(number) for number, name in enumerate(_MONTHS) if name and name in words}
    dates = {_MONTHS[int(match[1])] for match in _ISO_DATE.finditer(text) if int(match[1]) < len(_MONTHS)}
    return frozenset(months | dates | ({"1"} if "one" in words else set()))


def _value(values: Sequence[str], signs: Sequence[str]) -> Decimal:
    """Return the value of numbers with signs between them, products first."""
    terms = [Decimal(values[0])]
    for sign, value in zip(signs, values[1:], strict=True):
        if sign in "*×·x":
            terms[-1] *= Decimal(value)
        else:
            terms.append(Decimal(value) * (1 if sign == "+" else -1))
    return sum(terms, Decimal(0))


def _is_title_case(label: str, terms: Terms) -> bool:
    words = [word for word in _TOKEN.findall(label) if word[0].isalpha()]
    content = [word for word, stem in zip(words, terms.stems([word.lower() for word in words]), strict=True) if stem]
    return all(word[0].isupper() for word in content)


def _capitals(text: str) -> Iterator[re.Match[str]]:
    for before, match in pairwise(_TOKEN.finditer(text)):
        if match[0][0].isupper():
            ends = _SENTENCE_END.search(text, before.end(), match.start())
            if not ends or (ends[0] == "." and ends.start() == before.end() and len(before[0]) < _SHORTEST):
                yield match


def _by_24_hours(words: list[str]) -> list[str]:
    """Return ``words`` with "6 pm" and "6:30 p.m." as "18" and "18:30"."""
    for place, word in enumerate(words[:-1]):
        after = words[place + 1] if words[place + 1] in {"am", "pm"} else "".join(words[place + 1 : place + 3])
        hour, colon, minutes = word.partition(":")
        if after in {"am", "pm"} and hour.isdecimal() and int(hour) <= 12:
            words[place] = f"{int(hour) % 12 + 12 * (after == 'pm')}{colon}{minutes}"
    return words


def _normalise_number(word: str) -> str:
    """Return one spelling of a number: digits, no comma between thousands, no noughts before or after."""
    if not word[0].isdigit():
        return _NUMBERS.get(word, word)
    word = re.sub(r",(?=\d{3}(?!\d))|^0+(?=\d)|:00$", "", word)
    return word.rstrip("0").rstrip(".") if word.count(".") == 1 else word


@dataclass(frozen=True, slots=True)
class UnitWording:
    """The words of a unit, one entry each.

    ``keys`` are stems, or stop words as they are; ``light`` marks stop words except negations; ``ends`` marks the last
    word of a clause. ``around`` has the keys of the unit's title, headings and lead-in.
    """

    keys: Sequence[str]
    light: Sequence[bool]
    ends: Sequence[bool]
    around: frozenset[str]


def nearest_unit(own: Sequence[str], places: Sequence[UnitWording]) -> UnitWording:
    """Return the unit of ``places`` (at least one) with most of the words ``own``; of equals the shortest."""
    words = set(own)
    return max(places, key=lambda place: (len(words.intersection(place.keys)), -len(place.keys)))


def unit_wordings(chunk: Wording, head: int, table: NDArray[np.int64]) -> Sequence[UnitWording]:
    """Return the units in ``table`` of a ``chunk`` whose title and section are the first ``head`` characters."""
    keys, light = chunk.keys, [not stem for stem in chunk.stems]

    def words(first: int, end: int) -> slice:
        return slice(bisect_left(chunk.starts, first + head), bisect_left(chunk.starts, end + head))

    rows = table.tolist()
    headings = [row for row in rows if row[KIND] == UnitKind.HEADING]
    above = frozenset(keys[words(-head, 0)]).union(*(keys[words(row[START], row[END])] for row in headings))
    wordings = []
    for row in [row for row in rows if row[KIND] != UnitKind.HEADING] or headings:
        own, lead = words(row[START], row[END]), keys[words(row[LEAD_START], row[LEAD_END])]
        wordings.append(UnitWording(keys[own], light[own], [*chunk.ends[own][:-1], True], above.union(lead)))
    return wordings


def is_verbatim(own: Sequence[str], place: UnitWording) -> bool:
    """Return whether a claim with the keys ``own`` is verbatim in ``place``; it may omit clauses and stop words."""
    if not place.around.union(place.keys).issuperset(own):  # ten times as fast as an alignment
        return False
    blocks = SequenceMatcher(None, place.keys, own, autojunk=False).get_matching_blocks()
    at = {here + step: there + step for there, here, size in blocks for step in range(size)}
    if not at or any(n not in at and key not in place.around for n, key in enumerate(own)):
        return False
    gaps = list(_gaps(sorted(at.values()), len(place.keys)))
    if not all(_is_omissible(place, *gap) for gap in gaps):
        return False
    # A word of the heading that the unit has where it was left out: two names were exchanged.
    omitted = {place.keys[n] for first, end in gaps for n in range(first, end) if not place.light[n]}
    return not any(n not in at and key in omitted for n, key in enumerate(own))


def _gaps(taken: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Yield the gaps before, between and behind the words ``taken`` of ``size``; the outer ones may be empty."""
    yield 0, taken[0]
    yield from ((one + 1, other) for one, other in pairwise(taken) if other > one + 1)
    yield taken[-1] + 1, size


def _is_omissible(place: UnitWording, first: int, end: int) -> bool:
    """Return whether a claim may omit the words ``first`` to ``end``: stop words, headings' words or whole clauses."""
    if all(place.light[n] or place.keys[n] in place.around for n in range(first, end)):
        return True
    return (first == 0 or place.ends[first - 1]) and place.ends[end - 1]
