"""Ingest beside the embedding model alone: how much of the model's own rate is left for documents."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.tables import table
from knowledge.build.ingest import ingest
from knowledge.build.plan import PreviousChunks, plan
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS
from knowledge.embedding import MiniLM, embed_text
from knowledge.model.values import Document
from ragctl.ingest_request import IngestRequest
from ragctl.options import count_cores
from ragctl.sources import map_documents, read_sources

PAGES = 200
"""Of 1,572, chosen at random: about 1,400 chunks."""


def ingesting(docs: Path) -> str:
    """Return the table for a sample of the Markdown files below ``docs``, whose texts the model then reads alone."""
    model = MiniLM()
    with tempfile.TemporaryDirectory() as name:
        folder = _sample(docs, Path(name) / "docs")
        started = time.perf_counter()
        reading, _ = read_sources(IngestRequest(paths=(str(folder),)), cache=Path(name) / "web")
        read_s = time.perf_counter() - started
        summary = ingest(reading.documents, target=Path(name) / "index", embedder=model, map_documents=map_documents)
        ingest_s = time.perf_counter() - started
    texts = _texts(reading.documents)
    model_s, vectors_s = (_seconds(work, texts) for work in (model.read, lambda text: model.embed([text])))
    phases = {"reading": read_s, **summary.phases}
    return (
        table(
            (f"{len(texts)} chunks", "chunks a second", "of the model's rate"),
            [
                ("the model alone, all tokens of a text", len(texts) / model_s, "1.00"),
                ("the model alone, the first 256 tokens", len(texts) / vectors_s, f"{model_s / vectors_s:.2f}"),
                ("ragctl ingest, all of it", len(texts) / ingest_s, f"{model_s / ingest_s:.2f}"),
            ],
        )
        + "\n\nOf the ingest's time: "
        + ", ".join(f"{what} {took / ingest_s:.0%}" for what, took in phases.items())
    )


def _texts(documents: Sequence[Document]) -> list[str]:
    """Return what is embedded of ``documents``."""
    planned = plan(
        documents, previous=PreviousChunks(), max_chars=MAX_CHARS, overlap=OVERLAP_CHARS, map_documents=map_documents
    )
    return [embed_text(chunk.title, chunk.text) for chunk in planned.chunks]


def _sample(docs: Path, folder: Path) -> Path:
    pages = sorted(docs.rglob("*.md"))
    for page in random.Random(3).sample(pages, min(PAGES, len(pages))):  # noqa: S311 - a sample
        target = folder / page.relative_to(docs)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, target)
    return folder


def _seconds(work: Callable[[str], object], texts: Sequence[str]) -> float:
    """Return how long it takes with as many threads as an ingest has."""
    started = time.perf_counter()
    with ThreadPoolExecutor(count_cores()) as pool:
        for _ in pool.map(work, texts):
            pass
    return time.perf_counter() - started
