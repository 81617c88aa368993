"""A Chroma folder that was made elsewhere: whether it can be searched, and what is in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from knowledge.collection import Collection
from knowledge.errors import IndexMismatch
from knowledge.manifest import SPACE
from knowledge.metadata import merge_types
from knowledge.types import Embedder

DIMENSIONS = 384
"""Of all-MiniLM-L6-v2, which is what Chroma's default embedding function is."""

SAMPLE_VECTORS = 10
UNIT_TOLERANCE = 1e-3

_CHUNK_ID = re.compile(r"id_(\d{1,18})")
_DOCUMENT_KEYS = ("doc_id", "path", "title")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a foreign collection holds: ``ids`` maps chunk numbers to Chroma's ids, ``fields`` names to types.

    ``documents`` is the number of different doc_ids (else paths, else titles) in the metadata.
    """

    ids: Mapping[int, str]
    documents: int
    fields: Mapping[str, str]


def check(collection: Collection, embedder: Embedder) -> None:
    """Refuse a collection whose vectors the embedder's cannot be compared with.

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
    return Survey(ids=numbered(ids), documents=len(documents), fields=fields)


def numbered(ids: list[str]) -> dict[int, str]:
    """Number -> id: the numbers in the ids if all are like ``id_42``, else 1 to n in the order of the sorted ids."""
    matches = [_CHUNK_ID.fullmatch(chunk_id) for chunk_id in ids]
    own = {int(match[1]): match[0] for match in matches if match}
    return own if len(own) == len(ids) else dict(enumerate(sorted(ids), start=1))
