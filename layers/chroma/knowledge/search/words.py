"""The words of an index as they are written, to detect foreign questions and to correct misspelt ones.

BM25's vocabulary are stems, which do not show a spelling: the words themselves are in a file beside it, one a
line. A code, letters and then digits, is one word: "GC-999" is no word of an index that has "GC-409" and "999".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from knowledge.cut.scripts import MARKS, UNSPACED, is_unspaced, parts
from knowledge.model.errors import IndexDamaged
from knowledge.search.arrays import load_array, save_array
from knowledge.search.language import is_function_word, languages_of
from knowledge.search.terms import WordStatistics

WORDS_NAME = "words.txt"
WORD_COUNTS_NAME = "words.npy"
"""Read where the index is changed: a word of count 0 is none any more."""

SHORTEST, SWAPPED = 3, 3
"""Letters of a word that is spelt otherwise; one of three is a letter from most others, and must have the same ones."""
KNOWN, LACKING = 0.25, 3
"""A question without a function word of any language is in another language than the index if the index has less than
this share of its words, and lacks so many."""
REMEMBERED_WORDS, REMEMBERED_TEXTS = 256, 16
"""Words and texts that stay looked up: several stages read the same question."""

_LETTER = rf"(?:[^\W_]|[{MARKS}])"
_GROUP = re.compile(rf"{_LETTER}+(?:['’](?!s\b){_LETTER}+|[-./]{_LETTER}+)*")
_PART = re.compile(rf"{_LETTER}{{2,}}|[{UNSPACED}]")
_CODE = re.compile(r"[^\W\d_]+(?:[-./]?\d+)+")
_DIGIT = re.compile(r"\d")
_APART = re.compile(r"[-./]")


@lru_cache(maxsize=REMEMBERED_TEXTS)
def find_words(text: str) -> Sequence[tuple[tuple[int, int], str]]:
    """Return the words of ``text`` with their first and end character: codes as one, pieces of scripts one by one.

    Contractions and single letters are left out.
    """
    return [(place, _normalise_word(word)) for place, word in _written_words(text)]


def _written_words(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    for group in _GROUP.finditer(text):
        if _CODE.fullmatch(group[0]):
            yield group.span(), group[0]
        elif not {"'", "’"} & set(group[0]):
            for part in _PART.finditer(text, *group.span()):
                for at, piece in parts(part[0]):
                    start = part.start() + at
                    yield (start, start + len(piece)), piece


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the texts with each spelling of each word, codes as one and in their parts."""
    written: Counter[str] = Counter()
    for text in texts:
        written.update({word for _, word in _written_words(text)}.union(_PART.findall(text)))
    words: Counter[str] = Counter()
    for word, count in written.items():
        if not is_unspaced(plain := _normalise_word(word)):  # BM25's vocabulary has them as they are
            words[plain] += count
    return words


def save_words(folder: Path, words: Mapping[str, int]) -> None:
    """Write ``words``, each with its count by ``count_words``, to ``folder``; words of count 0 are left out."""
    held = sorted(word for word, count in words.items() if count > 0)
    (folder / WORDS_NAME).write_text("\n".join(held), encoding="utf-8", errors="replace")
    save_array(folder / WORD_COUNTS_NAME, np.array([words[word] for word in held], dtype=np.uint32))


def _read_words(folder: Path) -> str:
    try:
        return (folder / WORDS_NAME).read_text(encoding="utf-8")
    except (OSError, ValueError) as exc:
        raise IndexDamaged(f"The index's {WORDS_NAME} cannot be read: {exc}. Run: ragctl ingest PATH") from exc


def load_words(folder: Path) -> Counter[str]:
    """Load the words that ``save_words`` wrote; IndexDamaged: they cannot be read."""
    text = _read_words(folder)
    held = text.split("\n") if text else []
    counts = load_array(folder / WORD_COUNTS_NAME, dtype=np.uint32, shape=(len(held),))
    return Counter(dict(zip(held, counts.tolist(), strict=True)))


class Words:
    """The words of an open index. Safe to use from several threads."""

    def __init__(self, folder: Path, lexical: WordStatistics, is_piece: Callable[[str], bool]) -> None:
        """Read the words in ``folder``; IndexDamaged: they cannot be read.

        An index that only counts its terms has no such file, and knows all words.

        ``is_piece`` says whether the embedding model has a word whole: such a one is not misspelt. Of 844 questions of
        ClapNQ, SQuAD and COVID FAQ 19 more would be spelt otherwise without it, all wrongly ("fail" as "fall").
        """
        self._knows_all = not (folder / WORDS_NAME).exists()
        self._text = "" if self._knows_all else _read_words(folder)
        self._lexical = lexical
        self._is_piece = is_piece
        self._nearly = lru_cache(maxsize=REMEMBERED_WORDS)(self._spelt_nearly)
        self.is_foreign = lru_cache(maxsize=REMEMBERED_TEXTS)(self._is_foreign)

    def _is_foreign(self, text: str) -> bool:
        """Return whether ``text`` is in another language than most of the index, by its function words.

        The index must lack one of its words, codes and numbers aside. If half of the lacking words are spelt nearly as
        words of the index, the text is misspelt, not foreign.
        """
        words = [word for _, word in find_words(text) if not _DIGIT.search(word)]
        lacking = [word for word in words if not self._has(word)]
        languages = languages_of(text)
        if languages and self._lexical.language:
            may_be = bool(lacking) and self._lexical.language not in languages
        else:
            may_be = len(lacking) >= LACKING and len(lacking) > (1 - KNOWN) * len(words)
        return may_be and 2 * sum(bool(self._nearly(word)) for word in lacking) < len(lacking)

    def find_unknown(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return the places of words of three letters or more that the index has in no similar spelling."""
        words = [(at, word) for at, word in find_words(text) if len(word) >= SHORTEST and not is_unspaced(word)]
        return tuple(place for place, word in words if not self._has(word) and not self._nearly(word))

    def correct_spelling(self, text: str) -> str:
        """Return ``text`` with each unknown word replaced by a word of the index that differs in one letter.

        Of several the one counts with the best BM25 score of a chunk, times the similarity of the two in letters. No
        function word is replaced, or replaces another, nor a word that differs in its first letter: "hoch" is not
        "noch". Of 150 right Spanish questions of XQuAD 4 are then changed instead of 36; of those with a letter amiss
        .88 instead of .91 are answered, .76 unchanged (German .89, .90, .78, English .97, .98, .82).
        """
        languages = languages_of(text)
        for (start, end), word in () if self.is_foreign(text) else reversed(find_words(text)):
            alike = {} if self._has(word) or is_function_word(word, languages) else self._nearly(word)
            near_words = (near for near in alike if near[1:] != word[1:] and not is_function_word(near, languages))
            if alike := {near: alike[near] for near in near_words}:
                texts = {near: f"{text[:start]}{near}{text[end:]}" for near in alike}
                text = texts[max(alike, key=lambda near: alike[near] * self._lexical.best_score(texts[near]))]
        return text

    def _has(self, word: str) -> bool:
        return (not _DIGIT.search(word) and self._lexical.has(word)) or word in self._all or self._knows_all

    def _spelt_nearly(self, word: str) -> Mapping[str, float]:
        """Return the index's words that differ from ``word`` by one letter added, left out, replaced or swapped.

        Each has its similarity to ``word`` (Jaro and Winkler, 0..1).
        """
        if len(word) < SHORTEST or not word.isalpha() or self._is_piece(word):
            return {}
        from jellyfish import damerau_levenshtein_distance, jaro_winkler_similarity  # late: few questions need it

        half = (len(word) - 1) // 2  # a single change leaves the first or the last letters as they are
        begins, ends = word[:half], word[-half:]
        near = (
            other
            for length in (len(word) - 1, len(word), len(word) + 1)
            for other in self._by_length.get(length, ())
            if (other.startswith(begins) or other.endswith(ends)) and damerau_levenshtein_distance(word, other) == 1
            if len(word) > SWAPPED or sorted(word) == sorted(other)
        )
        return {other: jaro_winkler_similarity(word, other) for other in near}

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self._text.split("\n"))

    @cached_property
    def _by_length(self) -> Mapping[int, Sequence[str]]:
        found: dict[int, list[str]] = {}
        for word in sorted(filter(str.isalpha, self._all)):
            found.setdefault(len(word), []).append(word)
        return found


def _normalise_word(word: str) -> str:
    return _APART.sub("", unicodedata.normalize("NFKC", word).lower())
