"""BM25: the match of each chunk's words with a question's words.

bm25s computes, at ingest, what every term adds to the score of every chunk that holds it (Robertson and Zaragoza,
2009, in Lucene's form; Lù, 2024), and saves that as plain arrays. A question's scores are sums of these, so reading
needs numpy alone: ``import bm25s`` takes 150 ms where scipy and tqdm are installed, the arrays are there in 5.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge.model.errors import IndexDamaged
from knowledge.search.arrays import load_array, save_array
from knowledge.search.language import detect_language, is_latin, load_stop_words
from knowledge.search.terms import COMPOUNDING, Terms, WordStatistics, stemmer_name
from knowledge.search.words import count_words, load_words, save_words

LEXICAL_FOLDER = "lexical"

METHOD = "lucene"
K1 = 1.5
B = 0.75

NUMBERS_NAME = "numbers.npy"
# bm25s' own names: BM25.load() reads this folder too.
VOCABULARY_NAME = "vocab.index.json"
SCORES_NAME = "data.csc.index.npy"
ROWS_NAME = "indices.csc.index.npy"
STARTS_NAME = "indptr.csc.index.npy"
COUNTS_NAME = "counts.npy"
"""Term frequencies, uint16 beside the scores: read only to change the index."""
# Of an index too large for these arrays.
HASHES_NAME, HOLDERS_NAME = "hashes.npy", "holders.npy"
SAMPLE = 2000
"""Texts for the detection of its language."""


def write_lexical(
    folder: Path, numbers: Sequence[int], texts: Iterable[str], *, language: str | None = None
) -> Mapping[str, object]:
    """Index ``texts``, with the chunk numbers ``numbers``, into the new ``folder``; return the manifest's record.

    ``language`` is the English name of their language, ``""`` if unknown; None: it is detected.
    """
    texts = list(texts)
    language = detect_language(texts) if language is None else language
    stop_words, stemmer = load_stop_words(language), stemmer_name(language)
    terms, compounds = Terms(stop_words, stemmer), language in COMPOUNDING
    if compounds:
        terms = Terms(stop_words, stemmer, compounds={term for text in texts for term in terms(text)})
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms(text)] for text in texts]
    save_terms(folder, numbers, ids, vocabulary)
    save_words(folder, count_words(texts))
    return {
        "rows": len(numbers),
        "terms": max(1, len(vocabulary)),
        "method": METHOD,
        "k1": K1,
        "b": B,
        "stemmer": stemmer,
        "language": language,
        "stop_words": stop_words,
        "compounds": compounds,
        "latin": is_latin(texts),
    }


def save_terms(
    folder: Path, numbers: Sequence[int], ids: Sequence[Sequence[int]], vocabulary: Mapping[str, int]
) -> None:
    """Write BM25's arrays to the new ``folder``; ``ids`` are each chunk's terms, as ``vocabulary`` numbers them."""
    import bm25s  # late: see above

    index = bm25s.BM25(method=METHOD, k1=K1, b=B)
    with np.errstate(invalid="ignore"):  # texts without a word have a mean length of 0
        # Of texts without a single word bm25s makes no index.
        index.index((ids, dict(vocabulary) or {"": 0}), create_empty_token=False, show_progress=False)
    index.save(folder, show_progress=False)
    save_array(folder / NUMBERS_NAME, np.array(numbers, dtype=np.int64))
    save_array(folder / COUNTS_NAME, _counts(index.scores["indices"], index.scores["indptr"], ids))


def _counts(rows: NDArray[np.int32], starts: NDArray[np.int64], ids: Sequence[Sequence[int]]) -> NDArray[np.uint16]:
    """Return the term frequencies of the postings ``rows``; ``starts`` are the first postings of the terms."""
    terms = len(starts) - 1
    held = np.repeat(np.arange(len(ids), dtype=np.int64), [len(one) for one in ids]) * terms
    held += np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=len(held))
    places, counts = np.unique(held, return_counts=True)
    wanted = rows.astype(np.int64) * terms + np.repeat(np.arange(terms, dtype=np.int64), np.diff(starts))
    return counts[np.searchsorted(places, wanted)].astype(np.uint16) if len(wanted) else np.empty(0, np.uint16)


class Lexical(WordStatistics):
    """The BM25 side of an open index. Safe to use from several threads.

    Row ``i`` is the chunk with the number ``numbers[i]``; numbers ascend.
    """

    def __init__(self, folder: Path, record: Mapping[str, object]) -> None:
        """Map the files in ``folder``; ``record`` is ``write_lexical``'s; IndexDamaged: they cannot be used."""
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
        super().__init__(record, chunks=rows, vocabulary_size=terms, stems=self._vocabulary)

    def count_holders(self, term: str) -> int:
        """See ``WordStatistics``."""
        column = self._vocabulary.get(term)
        return 0 if column is None else int(self._starts[column + 1] - self._starts[column])

    def scores(self, text: str) -> NDArray[np.float32]:
        """Return the BM25 score of every row for the question ``text``: shape (rows,), >= 0, 0 if no term matches.

        A term that the question repeats counts as often.
        """
        scores = np.zeros(self._chunks, dtype=np.float32)
        for term in self.terms(text):
            if (column := self._vocabulary.get(term)) is not None:
                start, end = self._starts[column], self._starts[column + 1]
                scores[self._rows[start:end]] += self._scores[start:end]  # a column names a row once
        return scores

    def best_score(self, text: str) -> float:
        """Return the highest of ``scores``."""
        return float(self.scores(text).max(initial=0))


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


def update_lexical(
    folder: Path,
    before: Path,
    record: Mapping[str, object],
    *,
    numbers: Sequence[int],
    fresh: Mapping[int, str],
    gone: Sequence[str],
) -> Mapping[str, object]:
    """Write BM25 of an index of which a few chunks changed to the new ``folder``; return the manifest's record.

    Only changed chunks are tokenized; the scores are computed anew from the counts, as all of them depend on the number
    and the length of all chunks. The result equals ``write_lexical``'s. The index may not split compounds: there a new
    word changes the terms of every chunk. ``before`` is the folder of the BM25 before, whose ``record`` gives language
    and stop words. ``numbers`` are of all chunks, ``fresh`` the texts of new and changed chunks, ``gone`` the earlier
    texts of changed chunks and the texts of removed ones. IndexDamaged: a file of the index before cannot be used.
    """
    terms = Terms.of(record)
    old = _terms_by_chunk(before)
    vocabulary = _vocabulary(before / VOCABULARY_NAME)
    ids = [
        [vocabulary.setdefault(term, len(vocabulary)) for term in terms(fresh[number])]
        if number in fresh
        else old[number]
        for number in numbers
    ]
    held = sorted({term for one in ids for term in one})
    places = {term: place for place, term in enumerate(held)}
    names = {place: name for name, place in vocabulary.items()}
    kept = {names[term]: place for term, place in places.items()}
    save_terms(folder, numbers, [[places[term] for term in one] for one in ids], kept)
    words = load_words(before)
    words.update(count_words(fresh.values()))
    words.subtract(count_words(gone))
    save_words(folder, words)
    return {**record, "rows": len(numbers), "terms": max(1, len(kept))}


def _terms_by_chunk(folder: Path) -> dict[int, list[int]]:
    """Return the terms of each chunk by its number, as the vocabulary numbers them, with repetitions."""
    numbers = load_array(folder / NUMBERS_NAME, dtype=np.int64, shape=(None,))
    starts = load_array(folder / STARTS_NAME, dtype=np.int64, shape=(None,))
    rows = load_array(folder / ROWS_NAME, dtype=np.int32, shape=(int(starts[-1]),))
    counts = load_array(folder / COUNTS_NAME, dtype=np.uint16, shape=rows.shape)
    order = np.argsort(rows, kind="stable")
    columns = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    terms = np.repeat(columns[order], counts[order]).tolist()
    ends = np.cumsum(np.bincount(rows, weights=counts, minlength=len(numbers))).astype(np.int64).tolist()
    return {
        number: terms[start:end] for number, start, end in zip(numbers.tolist(), [0, *ends[:-1]], ends, strict=True)
    }


def write_term_counts(folder: Path, sample: Sequence[str], texts: Iterable[str]) -> Mapping[str, object]:
    """Count the terms of ``texts``, which are read once, into the new ``folder``; return the manifest's record.

    The language is detected in ``sample``, some of them. Files: ``hashes.npy``, uint64, ascending, of terms;
    ``holders.npy``, uint32, the number of chunks with each.
    """
    language = detect_language(sample)
    stop_words, stemmer = load_stop_words(language), stemmer_name(language)
    terms = Terms(stop_words, stemmer)
    holders: Counter[int] = Counter()
    rows = length = 0
    for text in texts:
        found = terms(text)
        holders.update({_hash(term) for term in found})
        rows, length = rows + 1, length + len(found)
    hashes = np.array(sorted(holders), dtype=np.uint64)
    folder.mkdir(parents=True)
    save_array(folder / HASHES_NAME, hashes)
    save_array(folder / HOLDERS_NAME, np.array([holders[one] for one in hashes.tolist()], dtype=np.uint32))
    return {
        "counted": True,
        "rows": rows,
        "terms": len(hashes),
        "length": length / max(1, rows),
        "stemmer": stemmer,
        "language": language,
        "stop_words": stop_words,
        "latin": is_latin(sample),
    }


class TermCounts(WordStatistics):
    """BM25 without a table of all chunks: document frequencies of terms, to score texts that are at hand.

    For an index that is too large for ``Lexical`` to be in memory: 12 bytes a term. Compounds stay whole, as their
    parts would take a second look at all chunks. Safe to use from several threads.
    """

    def __init__(self, folder: Path, record: Mapping[str, object]) -> None:
        """Map the files in ``folder``; ``record`` is the manifest's; IndexDamaged: it cannot be used."""
        try:
            chunks, terms = int(str(record["rows"])), int(str(record["terms"]))
            self._length = float(str(record["length"]))
        except (KeyError, ValueError) as exc:
            raise IndexDamaged("The index's record of its words is not whole. Run: ragctl ingest PATH") from exc
        self._hashes = load_array(folder / HASHES_NAME, dtype=np.uint64, shape=(terms,))
        self._holders = load_array(folder / HOLDERS_NAME, dtype=np.uint32, shape=(terms,))
        super().__init__(record, chunks=chunks, vocabulary_size=terms)

    def count_holders(self, term: str) -> int:
        """See ``WordStatistics``."""
        wanted = np.uint64(_hash(term))
        place = int(np.searchsorted(self._hashes, wanted))
        found = place < len(self._hashes) and self._hashes[place] == wanted
        return int(self._holders[place]) if found else 0

    def best_score(self, text: str) -> float:
        """See ``WordStatistics``: the idf of the words that the index has."""
        return sum(self.idf(term) for term in self.terms(text) if self.count_holders(term))

    def scores(self, text: str, of: Sequence[str]) -> NDArray[np.float32]:
        """Return the BM25 scores of the texts ``of`` for the question ``text``: shape (len(of),).

        A score is the sum over terms of idf x tf / (tf + k1 x (1 - b + b x length / mean length)), as ``Lexical``'s.
        """
        asked = Counter(self.terms(text))
        idf = {term: self.idf(term) for term in asked}
        scores = np.zeros(len(of), dtype=np.float32)
        for place, one in enumerate(of):
            found = self.terms(one)
            held, norm = Counter(found), K1 * (1 - B + B * len(found) / self._length)
            scores[place] = sum(n * idf[t] * held[t] / (held[t] + norm) for t, n in asked.items() if held[t])
        return scores

    def moments(self, text: str) -> tuple[float, float]:
        """Estimate the mean and deviation of the scores of all chunks for ``text``.

        Each chunk with a term counts as if it had it once and were of mean length: its score is ``idf / (1 + k1)``.
        Terms count as independent.
        """
        mean = variance = 0.0
        for term, repeated in Counter(self.terms(text)).items():
            share, score = self.count_holders(term) / max(1, self._chunks), repeated * self.idf(term) / (1 + K1)
            mean += share * score
            variance += share * (1 - share) * score**2
        return mean, variance**0.5


def _hash(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode(errors="replace"), digest_size=8).digest(), "little")
