"""What a text says in letters: its content stems and which stand together, its names, its numbers, what it negates.

Words are lower case after NFKC. A content stem is that of a word which is no stop word of the index. All negating words
count as one stem, ``NOT``: "is not allowed" and "isn't allowed" have the same neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from knowledge.cut.scripts import MARKS, parts

if TYPE_CHECKING:
    from knowledge.search.terms import Terms

_LETTER = rf"(?:[^\W\d_]|[{MARKS}])"
_TOKEN = re.compile(rf"\d+(?:[.,:]\d+)*|{_LETTER}+(?:['’](?!s\b){_LETTER}+)?|[%°$€£¥]")
_NEGATIONS = frozenset(("no", "not", "never", "none", "neither", "nor", "cannot", "without", "nobody", "nothing"))
_CONTRACTED = ("n't", "n’t")
_CLAUSE_END = re.compile(r"[,;:.!?()|\n\u2013\u2014\u3001\u3002]")
_SENTENCE_END = re.compile(r"[.!?:\n]")
_SMALL = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: str(number) for number, word in enumerate(_SMALL, start=2)}
"""So numbers in words count as numbers. Of sentences of ClapNQ and SQuAD (200 each) with another such word put in, 12
and 9 % are called supported; without this, 99 %."""
_SHORTEST = 3
"""Letters of the last word of a sentence: "Dr." and "U.S." end none."""

NOT = "\0not"
REACH = 2
"""Words of content that stand together in a passage are at most so many places apart."""

type Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Negation:
    """A negating word: the ``start`` of it in the text, and the content stems around it, one before and two after.

    ``after`` is the first one behind it, ``""`` at the end of the text.
    """

    start: int
    around: frozenset[str]
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """A text in letters: ``words`` and ``stems`` (``""``: a stop word) are one a token.

    ``starts`` are the tokens' first characters, ``ends`` says behind which a clause ends.
    """

    words: Sequence[str]
    stems: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[bool]
    negations: tuple[Negation, ...]

    @property
    def keys(self) -> Sequence[str]:
        """What tells the words apart: their stems, or themselves where they are stop words."""
        return [stem or word for stem, word in zip(self.stems, self.words, strict=True)]

    @property
    def numbers(self) -> frozenset[str]:
        """Those of the words that are numbers."""
        return frozenset(word for word in self.words if word[0].isdigit())

    def pairs(self, reach: int = 1) -> frozenset[Pair]:
        """The content stems that are at most ``reach`` places from each other, in their order."""
        stems = [stem for stem in self.stems if stem]
        return frozenset().union(*(zip(stems, stems[step:], strict=False) for step in range(1, reach + 1)))


def wording(text: str, terms: Terms) -> Wording:
    """``text`` in letters; ``terms`` are the index's own. Offsets hold where NFKC and lower case keep its length."""
    text = unicodedata.normalize("NFKC", text).lower()
    tokens = [(token.start() + at, piece) for token in _TOKEN.finditer(text) for at, piece in parts(token[0])]
    found = [word for _, word in tokens]
    words = [word if word.isalpha() and word not in _NUMBERS else _plain(word) for word in found]
    places = [place for place, word in enumerate(words) if word in _NEGATIONS or word.endswith(_CONTRACTED)]
    stems = terms.each(words)
    for place in places:
        stems[place] = NOT
    starts = [start for start, _ in tokens]
    ends = [_CLAUSE_END.search(text, at + len(one), then) is not None for (at, one), (then, _) in pairwise(tokens)]
    negations = tuple(_negation(place, starts[place], stems) for place in places)
    return Wording(words, stems, starts, [*ends, True][: len(words)], negations)


def names(text: str, terms: Terms) -> frozenset[frozenset[str]]:
    """The words of ``text`` with a capital that begin no sentence and are no stop words, each with its stem."""
    text = unicodedata.normalize("NFKC", text)
    words = [match[0].lower() for match in _capitals(text)]
    return frozenset(frozenset(pair) for pair in zip(words, terms.each(words), strict=True) if pair[1])


def _capitals(text: str) -> Iterator[re.Match[str]]:
    for before, match in pairwise(_TOKEN.finditer(text)):
        if match[0][0].isupper():
            ends = _SENTENCE_END.search(text, before.end(), match.start())
            if not ends or (ends[0] == "." and ends.start() == before.end() and len(before[0]) < _SHORTEST):
                yield match


def _plain(word: str) -> str:
    """One spelling of a number: in digits, without a comma between thousands or noughts after the point."""
    if not word[0].isdigit():
        return _NUMBERS.get(word, word)
    if "," in word:
        word = re.sub(r",(?=\d{3}(?!\d))", "", word)
    return word.rstrip("0").rstrip(".") if word.count(".") == 1 else word


def _negation(place: int, start: int, stems: Sequence[str]) -> Negation:
    after = [stem for stem in stems[place + 1 :] if stem and stem != NOT][:2]
    before = [stem for stem in stems[:place] if stem and stem != NOT][-1:]
    return Negation(start, frozenset(after + before), after[0] if after else "")
