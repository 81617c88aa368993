"""Terms of chunks and questions: words in lower case, without stop words, stemmed; and their statistics."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Self

import Stemmer

from knowledge.cut.scripts import MARKS, UNSPACED, parts

STEMMER = "english"
COMPOUNDING = ("German",)
"""Languages whose compounds are searched by their parts too. On XQuAD German by BM25 alone nDCG@10 is .948 instead of
.939, recall@1 .902 instead of .891. Parts of three or five letters at least give .947 and .945, instead of the halves
that are most alike in length the most frequent ones .947; pieces of six letters of every long word .909."""
SHORTEST_PART = 4
REMEMBERED = 1 << 14
"""Words whose parts stay cached."""
_LETTER = r"\b[a-z](?:\+{1,2}|#)(?![\w+#])|(?<!\w['’.])\b[a-zα-ω]\b(?!['’.]\w)"
_WORD = re.compile(rf"[\w{MARKS}]{{2,}}|\b\d\b|{_LETTER}|[{UNSPACED}]")
"""A word of two characters or more, a single digit or letter, or a character of a script without blanks.

"Class 3" is not "Class 8", "Plan D" not "Plan E", "C#" neither "C" nor "C++". What "don't", "Denver's" and "U.S."
leave behind is no letter of its own.
"""


class Terms:
    """How an index reads text. Safe to call from several threads."""

    def __init__(self, stop_words: Iterable[str], stemmer: str = STEMMER, *, compounds: Container[str] = ()) -> None:
        """``stop_words`` and the ``stemmer``'s name are recorded with the index.

        A word that is made of two whose stems are in ``compounds`` is followed by these stems.
        """
        self._stop_words = frozenset(stop_words)
        # Its cache would keep every word of every question, and gains nothing.
        self._stemmer = Stemmer.Stemmer(stemmer, 0)
        self._lock = threading.Lock()  # a stemmer object is not thread-safe
        self._compounds = compounds
        self._split_compound = lru_cache(maxsize=REMEMBERED)(self._halves) if compounds else None

    @classmethod
    def of(cls, record: Mapping[str, object], stems: Container[str] = ()) -> Self:
        """Return the terms of the index with this ``record``; ``stems`` are all that it has, if they are in memory."""
        stop_words = record.get("stop_words")
        return cls(
            map(str, stop_words if isinstance(stop_words, list) else ()),
            str(record.get("stemmer", STEMMER)),
            compounds=stems if record.get("compounds") else (),
        )

    def __call__(self, text: str) -> list[str]:
        """Return the terms of ``text`` in its order, with repetitions; full-width letters count as letters."""
        found = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
        if not text.isascii():
            found = [piece for word in found for _, piece in parts(word)]
        words = [word for word in found if word not in self._stop_words]
        with self._lock:
            terms: list[str] = self._stemmer.stemWords(words)
            if self._split_compound is not None:
                halves = map(self._split_compound, words)
                return [one for term, pair in zip(terms, halves, strict=True) for one in (term, *pair)]
        return terms

    def _halves(self, word: str) -> tuple[str, ...]:
        """Return the stems of the two words that ``word`` is made of, as alike in length as possible; else none."""
        middle = len(word) / 2
        ends = range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
        for end in sorted(ends, key=lambda end: abs(end - middle)):
            first, second = self._stemmer.stemWords([word[:end], word[end:]])
            if first in self._compounds and second in self._compounds:
                return first, second
        return ()

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each of ``words``, all in lower case; "" for a stop word."""
        with self._lock:
            stems = self._stemmer.stemWords(words)
        return ["" if word in self._stop_words else stem for word, stem in zip(words, stems, strict=True)]


def stemmer_name(language: str) -> str:
    """Return the name of the stemmer of ``language``, else that of English, whose words are in many texts."""
    name = language.lower()
    return name if name in Stemmer.algorithms() else STEMMER


class WordStatistics(ABC):
    """The words of a whole index. Safe to use from several threads."""

    def __init__(
        self, record: Mapping[str, object], *, chunks: int, vocabulary_size: int, stems: Container[str] = ()
    ) -> None:
        """``record`` is the manifest's; ``stems`` are all terms of the index, if they are in memory."""
        self._chunks = chunks
        self.vocabulary_size = vocabulary_size
        """Number of different terms in the chunks."""
        self.terms = Terms.of(record, stems)
        self.language = str(record.get("language", ""))
        """The English name of the chunks' language, ``""`` if unknown."""
        self.latin = record.get("latin") is not False
        """Whether most of the chunks are in Latin script; True if unknown."""

    @abstractmethod
    def count_holders(self, term: str) -> int:
        """Return the number of chunks with ``term``."""

    @abstractmethod
    def best_score(self, text: str) -> float:
        """Return the highest score of a chunk for ``text``, or a number that orders texts in the same way."""

    def has(self, word: str) -> bool:
        """Return whether some chunk has the stem of ``word`` or of its parts; True for a stop word."""
        terms = self.terms(word)
        return not terms or any(map(self.count_holders, terms))

    def idf(self, term: str) -> float:
        """Return the BM25 idf of ``term``, >= 0; highest for an unknown one."""
        holders = self.count_holders(term)
        return math.log1p((self._chunks - holders + 0.5) / (holders + 0.5))

    def max_score(self, text: str) -> float:
        """Return the upper bound of scores for the question ``text``: the sum of its terms' idf, unknown ones too.

        The score of a term is its idf times a saturated frequency below 1.
        """
        return sum(map(self.idf, self.terms(text)))
