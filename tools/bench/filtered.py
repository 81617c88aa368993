"""Searches within a filter beside searches without one, at 60,000 chunks: the pages six times over, vectors made up."""

from __future__ import annotations

import random
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.tables import percentile, table
from knowledge.build.ingest import ingest
from knowledge.model.values import Document, Matrix, TextEncoding, View, Where
from knowledge.open.index import EmbeddedIndex, open_index

COPIES = 6
FIELD, PARTS = "part", 100
SHARES = (1, 10, 50)
"""Parts of a hundred that a filter admits."""
SEARCHES = 100
K = 10
_WORDS = re.compile(r"\w+")


class WordBank:
    """An embedder without a model: a random vector for each word, a text's is their mean."""

    model = "word-bank"
    dimensions = 384
    vocabulary = 8192

    def __init__(self) -> None:
        """The same vectors each time."""
        self._bank = np.random.default_rng(1).normal(size=(self.vocabulary, self.dimensions)).astype(np.float32)

    def read(self, text: str) -> TextEncoding:
        """Each word is a token."""
        words = list(_WORDS.finditer(text))
        pieces = np.array([zlib.crc32(word[0].lower().encode()) % self.vocabulary for word in words], dtype=np.int32)
        tokens = self._bank[pieces]
        mean = tokens.mean(axis=0) if words else self._bank[0]
        spans = np.array([word.span() for word in words], dtype=np.int32).reshape(-1, 2)
        return TextEncoding(vector=mean / np.linalg.norm(mean), tokens=tokens, pieces=pieces, spans=spans)

    def count(self, text: str) -> int:
        """Each word is a piece."""
        return sum(1 for _ in _WORDS.finditer(text))

    def has(self, word: str) -> bool:
        """Every word is one token."""
        return bool(_WORDS.fullmatch(word))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """The vectors of ``texts``."""
        return np.stack([self.read(text).vector for text in texts])


def build(documents: Sequence[Document], folder: Path) -> Path:
    """Make the index of copies of ``documents``, each in one of PARTS parts, in ``folder``, once."""
    ingest(list(_copies(documents)), target=folder, embedder=WordBank())
    return folder


def filtered(folder: Path, questions: Sequence[str]) -> str:
    """Return the table. Filters differ from search to search: none has been seen before."""
    with closing(open_index(folder, embedder=WordBank())) as index:
        times = {f"a filter that admits {share} %": _times(index, questions, share) for share in SHARES}
        times = {"unfiltered": _times(index, questions, PARTS), **times}
        plain = percentile(times["unfiltered"], 0.5)
        rows = ((name, percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items())
        heads = (f"{index.chunks:,} chunks", "p50 ms", "p99 ms", "p50 of unfiltered")
        return table(heads, [(*row, row[1] / plain) for row in rows])


def _copies(documents: Sequence[Document]) -> Iterator[Document]:
    part = random.Random(3)  # noqa: S311 - a sample
    for copy in range(COPIES):
        for document in documents:
            name = f"{copy}-{document.doc_id}"
            extra = {**document.extra, FIELD: part.randrange(PARTS)}
            yield replace(
                document, doc_id=name, title=f"{document.title} {copy}", digest=f"{copy}-{document.digest}", extra=extra
            )


def _times(index: EmbeddedIndex, questions: Sequence[str], share: int) -> list[float]:
    times = []
    start_of = random.Random(4)  # noqa: S311
    for number in range(SEARCHES):
        first = start_of.randrange(PARTS - share + 1)
        where: Where = {"$and": [{FIELD: {"$gte": first}}, {FIELD: {"$lt": first + share}}]}
        start = time.perf_counter()
        index.search((View(questions[number % len(questions)]),), k=K, where=None if share == PARTS else where)
        times.append(1000 * (time.perf_counter() - start))
    return times[1:]
