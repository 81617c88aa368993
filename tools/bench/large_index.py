"""Benchmarks on AWS documentation: ingest, 10,000 chunks, and filters at 60,000 chunks.

The documentation is not part of this project; ``DOCS`` is a folder beside the repository.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.tables import percentile, table
from emulator.session import ROOT
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM, embed_text
from knowledge.model.values import Document, Matrix, TextEncoding, View, Where
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.read.documents import read
from ragctl.ingest_request import IngestRequest
from ragctl.options import count_cores
from ragctl.sources import cut_documents, map_documents, read_sources

DOCS = ROOT.parent / "shared" / "data" / "docs_aws"
INDEXES = ROOT / ".index" / "bench"
"""Indexes that take minutes to build; later runs update them."""
PAGES = 1_367
"""Of 1,572 pages: about 10,000 chunks."""
INGEST_PAGES = 200
"""Of 1,572 pages: about 1,400 chunks."""

COPIES = 6
FIELD, PARTS = "part", 100
SHARES = (1, 10, 50)
"""Parts of a hundred that a filter admits."""
SEARCHES = 100
K = 10
_WORDS = re.compile(r"\w+")


def read_pages() -> Sequence[Document]:
    """Return the same random pages in each run, or none if ``DOCS`` is missing."""
    if not DOCS.is_dir():
        return ()
    documents = list(read([DOCS]).documents)
    random.Random(1).shuffle(documents)  # noqa: S311 - a sample
    return documents[:PAGES]


def update_index(documents: Sequence[Document]) -> Path:
    """Update the index of ``documents`` and return its folder."""
    folder = INDEXES / "aws"
    ingest(documents, target=folder, embedder=MiniLM(threads=2))
    return folder


def measure_ingest() -> str:
    """Return the table of ``ragctl ingest`` on a sample of ``DOCS`` beside the embedding model alone on its chunks."""
    model = MiniLM()
    pages = sorted(DOCS.rglob("*.md"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "docs"
        for page in random.Random(3).sample(pages, min(INGEST_PAGES, len(pages))):  # noqa: S311 - a sample
            target = folder / page.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
        start = time.perf_counter()
        reading, _ = read_sources(IngestRequest(paths=(str(folder),)), cache=Path(name) / "web")
        read_s = time.perf_counter() - start
        summary = ingest(reading.documents, target=Path(name) / "index", embedder=model, map_documents=map_documents)
        ingest_s = time.perf_counter() - start
    texts = [embed_text(chunk.title, chunk.text) for chunk in cut_documents(reading.documents).chunks]
    tokens_s = _time_over_texts(model.read, texts)
    vectors_s = _time_over_texts(lambda text: model.embed([text]), texts)
    rates = table(
        (f"{len(texts)} chunks", "chunks a second", "of the model's rate"),
        [
            ("the model alone, all tokens of a text", len(texts) / tokens_s, "1.00"),
            ("the model alone, the first 256 tokens", len(texts) / vectors_s, f"{tokens_s / vectors_s:.2f}"),
            ("ragctl ingest, all of it", len(texts) / ingest_s, f"{tokens_s / ingest_s:.2f}"),
        ],
    )
    phases = {"reading": read_s, **summary.phases}
    shares = ", ".join(f"{phase} {seconds / ingest_s:.0%}" for phase, seconds in phases.items())
    return f"{rates}\n\nOf the ingest's time: {shares}"


def _time_over_texts(work: Callable[[str], object], texts: Sequence[str]) -> float:
    """Return the seconds of ``work`` over ``texts``, with as many threads as an ingest has."""
    start = time.perf_counter()
    with ThreadPoolExecutor(count_cores()) as pool:
        for _ in pool.map(work, texts):
            pass
    return time.perf_counter() - start


class WordBank:
    """An embedder without a model: a random vector for each word; the mean of its words for a text."""

    model = "word-bank"
    dimensions = 384
    vocabulary = 8192

    def __init__(self) -> None:
        """Draw the same vectors each time."""
        self._bank = np.random.default_rng(1).normal(size=(self.vocabulary, self.dimensions)).astype(np.float32)

    def read(self, text: str) -> TextEncoding:
        """Encode ``text``; each word is a token."""
        words = list(_WORDS.finditer(text))
        pieces = np.array([zlib.crc32(word[0].lower().encode()) % self.vocabulary for word in words], dtype=np.int32)
        tokens = self._bank[pieces]
        mean = tokens.mean(axis=0) if words else self._bank[0]
        spans = np.array([word.span() for word in words], dtype=np.int32).reshape(-1, 2)
        return TextEncoding(vector=mean / np.linalg.norm(mean), tokens=tokens, pieces=pieces, spans=spans)

    def count(self, text: str) -> int:
        """Count the words."""
        return sum(1 for _ in _WORDS.finditer(text))

    def has(self, word: str) -> bool:
        """Return True for every word."""
        return bool(_WORDS.fullmatch(word))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of ``texts``, shape (texts, dimensions)."""
        return np.stack([self.read(text).vector for text in texts])


def measure_filters(documents: Sequence[Document], questions: Sequence[str]) -> str:
    """Return the table of searches with filters beside unfiltered ones, in copies of ``documents``.

    Filters differ from search to search, and the vectors are random, so that the index is built without the model.
    """
    folder = INDEXES / "filtered"
    ingest(list(_copy_documents(documents)), target=folder, embedder=WordBank())
    with closing(open_index(folder, embedder=WordBank())) as index:
        times = {"unfiltered": _time_searches(index, questions, PARTS)}
        for share in SHARES:
            times[f"a filter that admits {share} %"] = _time_searches(index, questions, share)
        unfiltered = percentile(times["unfiltered"], 0.5)
        rows = ((name, percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items())
        head = (f"{index.chunks:,} chunks", "p50 ms", "p99 ms", "p50 of unfiltered")
        return table(head, [(*row, row[1] / unfiltered) for row in rows])


def _copy_documents(documents: Sequence[Document]) -> Iterator[Document]:
    """Yield ``COPIES`` of each document, each copy in a random one of ``PARTS`` parts."""
    generator = random.Random(3)  # noqa: S311 - a sample
    for copy in range(COPIES):
        for document in documents:
            yield replace(
                document,
                doc_id=f"{copy}-{document.doc_id}",
                title=f"{document.title} {copy}",
                digest=f"{copy}-{document.digest}",
                extra={**document.extra, FIELD: generator.randrange(PARTS)},
            )


def _time_searches(index: EmbeddedIndex, questions: Sequence[str], share: int) -> list[float]:
    """Return the milliseconds of each search but the first, with filters that admit ``share`` parts."""
    times = []
    generator = random.Random(4)  # noqa: S311 - a sample
    for number in range(SEARCHES):
        first = generator.randrange(PARTS - share + 1)
        where: Where = {"$and": [{FIELD: {"$gte": first}}, {FIELD: {"$lt": first + share}}]}
        start = time.perf_counter()
        index.search((View(questions[number % len(questions)]),), k=K, where=None if share == PARTS else where)
        times.append(1000 * (time.perf_counter() - start))
    return times[1:]
