"""The corpus of the benchmarks at scale: AWS documentation, about 10,000 chunks. It is no part of this project."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import Document
from knowledge.open.opened import ChromaIndex
from knowledge.read.documents import read

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".index" / "bench"
"""Indexes that take minutes to make: kept, and brought up to date."""
DOCS = ROOT.parent / "shared" / "data" / "docs_aws"
PAGES = 1_367
"""Of 1,572: those cut to 10,000 chunks."""
QUESTIONS = 200


def pages() -> Sequence[Document]:
    """Return the same pages at each call; none where the documentation is not beside the repository."""
    if not DOCS.is_dir():
        return ()
    documents = list(read([DOCS]).documents)
    random.Random(1).shuffle(documents)  # noqa: S311 - a sample
    return documents[:PAGES]


def build(documents: Sequence[Document], folder: Path) -> Path:
    """Bring the index of ``documents`` in ``folder`` up to date, and return ``folder``."""
    ingest(documents, target=folder, embedder=MiniLM(threads=2))
    return folder


def questions_about(index: ChromaIndex) -> list[str]:
    """Return a question about each of some sections, in the words of its heading."""
    headed = [chunk for chunk in index.iter_chunks() if chunk.section]
    chosen = random.Random(2).sample(headed, min(QUESTIONS, len(headed)))  # noqa: S311
    return [f"What is {chunk.section.split(' > ')[-1]} and how do I use it?" for chunk in chosen]
