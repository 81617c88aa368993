"""BM25 of an index of which a few chunks changed: their terms are counted anew, those of the others are known.

The scores are computed anew from the counts, as all of them depend on how many chunks there are and how long they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from knowledge.model.errors import IndexDamaged
from knowledge.search.arrays import load_array
from knowledge.search.lexical import (
    COUNTS_NAME,
    NUMBERS_NAME,
    ROWS_NAME,
    STARTS_NAME,
    VOCABULARY_NAME,
    save_terms,
)
from knowledge.search.terms import Terms
from knowledge.search.words import count_words, load_words, save_words


def update_lexical(
    folder: Path,
    before: Path,
    record: Mapping[str, object],
    *,
    numbers: Sequence[int],
    fresh: Mapping[int, str],
    gone: Sequence[str],
) -> Mapping[str, object]:
    """Write what ``write_lexical`` would to the new ``folder``; returns the manifest's record.

    The index may not take compounds apart: there a new word changes the terms of every chunk.
    ``before`` holds the BM25 side of the index before, whose ``record`` names language and stop words: they are kept.
    ``numbers`` are those of all chunks, ``fresh`` the texts of those that are new or were changed, ``gone`` the texts
    that these were instead, and those of removed chunks.

    Raises:
        IndexDamaged: a file of the index before cannot be used.
    """
    terms = Terms.of(record)
    old = _terms_of(before)
    try:
        vocabulary: dict[str, int] = json.loads((before / VOCABULARY_NAME).read_bytes())
    except (OSError, ValueError) as exc:
        raise IndexDamaged(f"{VOCABULARY_NAME} cannot be read: {exc}. Run: ragctl ingest PATH") from exc
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


def _terms_of(folder: Path) -> dict[int, list[int]]:
    """The terms of each chunk by its number, as the vocabulary numbers them, repeated as they are there."""
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
