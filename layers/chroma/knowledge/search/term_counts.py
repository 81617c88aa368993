"""BM25 without a table of all chunks: document frequencies of terms, and scores of texts that are at hand.

For an index that is too large for ``knowledge.search.lexical`` to be in memory: 12 bytes a term. The formula is the
same, ``sum over terms of idf x tf / (tf + k1 x (1 - b + b x length / mean length))``. Compounds stay whole, as their
parts would take a second look at all chunks. Files: ``hashes.npy``, uint64, ascending, of terms; ``holders.npy``,
uint32, the number of chunks with each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge.model.errors import IndexDamaged
from knowledge.search.arrays import load_array, save_array
from knowledge.search.language import detect_language, is_latin, load_stop_words
from knowledge.search.lexical import K1, B
from knowledge.search.terms import Terms, WordStatistics, stemmer_name

HASHES_NAME, HOLDERS_NAME = "hashes.npy", "holders.npy"
SAMPLE = 2000
"""Texts for the detection of the language."""


def write_term_counts(folder: Path, sample: Sequence[str], texts: Iterable[str]) -> Mapping[str, object]:
    """Count the terms of ``texts``, which are read once, into the new ``folder``; return the manifest's record.

    The language is detected in ``sample``, some of them.
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
    """The counts that ``write_term_counts`` wrote. Safe to use from several threads."""

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
        """Return the BM25 scores of the texts ``of`` for the question ``text``: shape (len(of),)."""
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
