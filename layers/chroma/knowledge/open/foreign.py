"""A Chroma folder that was made elsewhere: checks, a survey of its records, and a BM25 side."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from knowledge.embedding import embed_text
from knowledge.engines.collection import Collection
from knowledge.engines.metadata import merge_types
from knowledge.model.errors import IndexMismatch, SearchFailed
from knowledge.model.manifest import SPACE
from knowledge.model.values import Embedder
from knowledge.search.candidates import HybridIndex
from knowledge.search.lexical import LEXICAL_FOLDER, Lexical, write_lexical
from knowledge.search.vectors import VectorStore, write_vectors

DIMENSIONS = 384
"""Of all-MiniLM-L6-v2, which is what Chroma's default embedding function is."""

SAMPLE_VECTORS = 10
UNIT_TOLERANCE = 1e-3

_CHUNK_ID = re.compile(r"id_(\d{1,18})")
_DOCUMENT_KEYS = ("doc_id", "path", "title")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The contents of a foreign collection: ``ids`` maps chunk numbers to Chroma's ids, ``fields`` names to types.

    ``documents`` is the number of different doc_ids (else paths, else titles) in the metadata.
    """

    ids: Mapping[int, str]
    documents: int
    fields: Mapping[str, str]


def check_collection(collection: Collection, embedder: Embedder) -> None:
    """Refuse a collection whose vectors cannot be compared with the embedder's.

    Raises:
        IndexMismatch: another embedding function, other dimensions, not of unit length, or empty.
    """
    if collection.embedding_function not in (None, "default"):
        raise IndexMismatch(
            f"The collection's embedding function is {collection.embedding_function!r}, not Chroma's default or none"
        )
    sample = collection.peek(SAMPLE_VECTORS)
    if not len(sample):
        raise IndexMismatch("The collection is empty. Run: ragctl ingest PATH")
    dimensions = sample.shape[1]
    if dimensions != DIMENSIONS or embedder.dimensions != DIMENSIONS:
        raise IndexMismatch(
            f"The collection's vectors have {dimensions} dimensions and {embedder.model!r} makes"
            f" {embedder.dimensions}: a folder without a manifest opens with {DIMENSIONS} only"
        )
    # Cosine follows from l2 and ip distances for unit vectors only.
    if collection.space != SPACE and np.abs(np.linalg.norm(sample, axis=1) - 1).max() > UNIT_TOLERANCE:
        raise IndexMismatch(f"The collection's vectors are not of unit length and its space is {collection.space!r}")


def survey(collection: Collection) -> Survey:
    """Read all metadata once: about half a second for 10,000 chunks."""
    ids: list[str] = []
    documents: set[object] = set()
    fields: dict[str, str] = {}
    for record in collection.scan():
        ids.append(record.id)
        fields = merge_types(fields, record.metadata)
        names = [record.metadata[key] for key in _DOCUMENT_KEYS if key in record.metadata]
        documents.add(str(names[0]) if names else "")
    # The numbers in the ids if all are like "id_42", else 1 to n in the order of the sorted ids.
    matches = [_CHUNK_ID.fullmatch(chunk_id) for chunk_id in ids]
    by_number = {int(match[1]): match[0] for match in matches if match}
    if len(by_number) != len(ids):
        by_number = dict(enumerate(sorted(ids), start=1))
    return Survey(ids=by_number, documents=len(documents), fields=fields)


def late_sides(collection: Collection, ids: Mapping[int, str], scratch: Path) -> Callable[[], HybridIndex]:
    """Return a function that makes both sides of a collection below the folder ``scratch`` at its first call.

    ``ids`` maps chunk numbers to Chroma's ids. Safe to call from several threads: one makes them. As in our own
    indexes BM25 reads the text under its title.
    """
    lock = threading.Lock()
    cached: list[HybridIndex] = []

    def sides() -> HybridIndex:
        with lock:
            if not cached:
                cached.append(_make_sides(collection, ids, scratch))
            return cached[0]

    return sides


def _make_sides(collection: Collection, ids: Mapping[int, str], scratch: Path) -> HybridIndex:
    numbers = sorted(ids)
    number_of = {chunk_id: number for number, chunk_id in ids.items()}
    row_of = {ids[number]: row for row, number in enumerate(numbers)}
    texts = [""] * len(ids)
    vectors = np.zeros((len(ids), DIMENSIONS), dtype=np.float32)
    for record in collection.scan(with_vectors=True):
        row = row_of[record.id]
        title = record.metadata.get("title")
        texts[row] = embed_text(title if isinstance(title, str) else "", record.document or "")
        vectors[row] = record.vector
    try:
        # A folder of its own each time: an earlier try may have failed half-way.
        folder = Path(tempfile.mkdtemp(prefix="sides-", dir=scratch))
        # What tells a language is no part of the layer: 4.5 MB.
        lexical = write_lexical(folder / LEXICAL_FOLDER, numbers, texts, language="")
        write_vectors(folder, vectors)
    except OSError as exc:
        raise SearchFailed(f"No place for the BM25 side of the index: {exc}") from exc
    return HybridIndex(
        Lexical(folder / LEXICAL_FOLDER, lexical),
        VectorStore(folder, rows=len(numbers), dimensions=DIMENSIONS),
        np.array(numbers, dtype=np.int64),
        number_of.__getitem__,
    )
