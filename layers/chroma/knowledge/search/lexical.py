"""BM25: how well each chunk's words match those of a question.

bm25s computes, at ingest, what every term adds to the score of every chunk that holds it (Robertson and Zaragoza,
2009, in Lucene's form; Lù, 2024), and saves that as plain arrays. A question's scores are sums of these, so reading
needs numpy alone: ``import bm25s`` takes 150 ms where scipy and tqdm are installed, the arrays are there in 5.
"""

from __future__ import annotations

import json
import math
import re
import threading
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import Stemmer

from knowledge.model.errors import IndexDamaged
from knowledge.search.arrays import load_array, save_array
from knowledge.search.language import language_of, stop_words_of
from knowledge.search.words import write_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEXICAL_FOLDER = "lexical"

READABLE = (2, 3)
"""Recipes that can be searched: the second one had no words beside its stems."""

LEXICAL_RECIPE = 3
"""Raise it when ``Terms`` or what is stored changes (PyStemmer's algorithm too): the BM25 side is then built anew."""

METHOD = "lucene"
K1 = 1.5
B = 0.75
STEMMER = "english"

NUMBERS_NAME = "numbers.npy"
# bm25s' own names: BM25.load() reads this folder too.
VOCABULARY_NAME = "vocab.index.json"
SCORES_NAME = "data.csc.index.npy"
ROWS_NAME = "indices.csc.index.npy"
STARTS_NAME = "indptr.csc.index.npy"

_WORDS = re.compile(r"\b\w\w+\b|\b\d\b|\b[a-z](?:\+{1,2}|#)(?![\w+#])|(?<!\w['’.])\b[a-zα-ω]\b(?!['’.]\w)")
"""bm25s' words, of two characters or more, and single digits and letters: "Class 3" is not "Class 8", "Plan D" not
"Plan E", "C#" neither "C" nor "C++". What "don't", "Denver's" and "U.S." leave behind is no letter of its own."""


class Terms:
    """Text to terms, the same for chunks and questions: words in lower case, without stop words, stemmed.

    Safe to call from several threads.
    """

    def __init__(self, stop_words: Iterable[str], stemmer: str = STEMMER) -> None:
        """``stop_words`` and the ``stemmer``'s name are the index's own: they are recorded with it."""
        self._stop_words = frozenset(stop_words)
        # Its cache would keep every word that anybody ever asked with, and gains nothing.
        self._stemmer = Stemmer.Stemmer(stemmer, 0)
        self._lock = threading.Lock()  # a stemmer object is not thread-safe

    def __call__(self, text: str) -> list[str]:
        """The terms of ``text`` in their order, repeated as they are there; full-width letters count as letters."""
        words = _WORDS.findall(unicodedata.normalize("NFKC", text).lower())
        words = [word for word in words if word not in self._stop_words]
        with self._lock:
            terms: list[str] = self._stemmer.stemWords(words)
        return terms

    def each(self, words: Sequence[str]) -> list[str]:
        """The stem of each of ``words``, all in lower case; "" for a stop word."""
        with self._lock:
            stems = self._stemmer.stemWords(words)
        return ["" if word in self._stop_words else stem for word, stem in zip(words, stems, strict=True)]


def write_lexical(folder: Path, numbers: Sequence[int], texts: Iterable[str]) -> Mapping[str, object]:
    """Index ``texts``, whose chunk numbers are ``numbers``, into the new ``folder``; returns the manifest's record."""
    import bm25s  # late: see above

    texts = list(texts)
    language = language_of(texts)
    stop_words, stemmer = stop_words_of(language), language.lower() or STEMMER
    terms = Terms(stop_words, stemmer)
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms(text)] for text in texts]
    if not vocabulary:  # of texts without a single word bm25s makes no index
        vocabulary[""] = 0
    index = bm25s.BM25(method=METHOD, k1=K1, b=B)
    with np.errstate(invalid="ignore"):  # texts without a word have a mean length of 0
        index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    index.save(folder, show_progress=False)
    save_array(folder / NUMBERS_NAME, np.array(numbers, dtype=np.int64))
    write_words(folder, texts)
    return {
        "recipe": LEXICAL_RECIPE,
        "rows": len(numbers),
        "terms": len(vocabulary),
        "method": METHOD,
        "k1": K1,
        "b": B,
        "stemmer": stemmer,
        "language": language,
        "stop_words": stop_words,
    }


class WordStatistics(Protocol):
    """What is known of the words of an index as a whole. Safe to use from several threads."""

    @property
    def terms(self) -> Terms:
        """How texts become terms in this index."""
        ...

    @property
    def language(self) -> str:
        """The English name of the language that the chunks are in, ``""`` where nobody knows."""
        ...

    @property
    def vocabulary_size(self) -> int:
        """How many different terms the chunks hold."""
        ...

    def has(self, word: str) -> bool:
        """Whether some chunk has the stem of ``word``; a stop word counts as one that it has."""
        ...

    def idf(self, term: str) -> float:
        """How rare ``term`` is in the chunks, >= 0: BM25's idf; highest for an unknown one."""
        ...

    def attainable(self, text: str) -> float:
        """The most that a chunk could score for the question ``text``: the idf of its terms in sum, unknown ones too.

        The score of a term is its idf times a saturated frequency below 1.
        """
        ...

    def best_score(self, text: str) -> float:
        """What the best of all chunks scores for ``text``, or a number that orders texts as that does."""
        ...


class Lexical:
    """The BM25 side of an open index. Safe to use from several threads.

    Row ``i`` is the chunk with the number ``numbers[i]``; numbers ascend.
    """

    def __init__(self, folder: Path, record: Mapping[str, object]) -> None:
        """Map what ``write_lexical`` wrote to ``folder``; ``record`` is what it returned.

        Raises:
            IndexDamaged: a file is missing or unreadable, or does not fit ``record`` or the others.
        """
        rows, terms, stop_words = record.get("rows"), record.get("terms"), record.get("stop_words")
        if not (isinstance(rows, int) and isinstance(terms, int) and isinstance(stop_words, list)):
            raise _damaged("the manifest's record of it is not complete")
        self._vocabulary = _vocabulary(folder / VOCABULARY_NAME)
        self._starts = load_array(folder / STARTS_NAME, dtype=np.int64, shape=(terms + 1,))
        postings = int(self._starts[-1])
        self._scores = load_array(folder / SCORES_NAME, dtype=np.float32, shape=(postings,))
        self._rows = load_array(folder / ROWS_NAME, dtype=np.int32, shape=(postings,))
        self.numbers: NDArray[np.int64] = load_array(folder / NUMBERS_NAME, dtype=np.int64, shape=(rows,))
        if len(self._vocabulary) != terms or (postings and int(self._rows.max()) >= rows):
            raise _damaged("its files do not fit each other")
        self.terms = Terms(map(str, stop_words), str(record.get("stemmer", STEMMER)))
        """How texts become terms in this index."""
        self.language = str(record.get("language", ""))
        """The English name of the language that the chunks are in, ``""`` where nobody knows."""

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def vocabulary_size(self) -> int:
        """See ``WordStatistics``."""
        return len(self._vocabulary)

    def has(self, word: str) -> bool:
        """See ``WordStatistics``."""
        return all(term in self._vocabulary for term in self.terms(word))

    def scores(self, text: str) -> NDArray[np.float32]:
        """The BM25 score of every row for the question ``text``: shape (rows,), >= 0, 0 where no term matches.

        A term that the question repeats counts as often.
        """
        scores = np.zeros(len(self), dtype=np.float32)
        for term in self.terms(text):
            if (column := self._vocabulary.get(term)) is not None:
                start, end = self._starts[column], self._starts[column + 1]
                scores[self._rows[start:end]] += self._scores[start:end]  # a column names a row once
        return scores

    def best_score(self, text: str) -> float:
        """The highest of ``scores``."""
        return float(self.scores(text).max(initial=0))

    def attainable(self, text: str) -> float:
        """See ``WordStatistics``."""
        return sum(map(self.idf, self.terms(text)))

    def idf(self, term: str) -> float:
        """See ``WordStatistics``."""
        column = self._vocabulary.get(term)
        holders = 0 if column is None else int(self._starts[column + 1] - self._starts[column])
        return math.log1p((len(self) - holders + 0.5) / (holders + 0.5))


def _vocabulary(path: Path) -> dict[str, int]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise _damaged(f"{path.name} cannot be read ({exc})") from exc
    if not isinstance(found, dict) or sorted(found.values()) != list(range(len(found))):
        raise _damaged(f"{path.name} does not number its terms")
    return found


def _damaged(what: str) -> IndexDamaged:
    return IndexDamaged(f"The index's BM25 side is damaged: {what}. Run: ragctl ingest PATH")
