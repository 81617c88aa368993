"""Opening an index: verified, checked against the embedder, warm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from knowledge.engines.embedded.collection import Collection
from knowledge.model.errors import IndexDamaged, IndexMismatch, SearchFailed
from knowledge.model.values import Embedder, TokenEmbedder, View
from knowledge.open.compatible import check_manifest
from knowledge.open.foreign import check, late_sides, survey
from knowledge.open.opened import Index as Index
from knowledge.open.source import PreparedIndex, folder_of, prepare
from knowledge.open.texts import TextStore
from knowledge.search.candidates import Sides
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.signals import Calibration

DEFAULT_COLLECTION = "waypoint_kb"


def open_index(
    uri: str | Path,
    *,
    embedder: Embedder,
    collection: str = DEFAULT_COLLECTION,
    scratch: Path | None = None,
    apart: bool = False,
    warm: bool = True,
) -> Index:
    """Open the index in the folder (or ``file://`` URI) ``uri`` for questions embedded by ``embedder``.

    The source is only read; with ``apart`` it is copied first, and may then be removed or cut short. With ``warm`` a
    first query is made, so that no request pays for loading the vectors.
    A Chroma folder without our manifest opens when its unit vectors have 384 dimensions and its embedding function
    is Chroma's default or none; its texts are Chroma's documents.

    Raises:
        IndexMissing, IndexDamaged, IndexUnavailable: see ``source.prepare``.
        IndexMismatch: another model, dimensions, space, collection name or format; the message names both sides.
    """
    prepared = prepare(folder_of(uri), scratch_root=scratch, apart=apart)
    closers: list[Callable[[], None]] = [prepared.close]
    try:
        if prepared.manifest is not None:
            check_manifest(prepared.manifest, embedder, collection)
        opened = Collection.open(prepared.chroma, collection)
        closers.append(opened.close)
        index = _own(prepared, opened, embedder) if prepared.manifest else _foreign(prepared, opened, embedder)
        closers.append(index.close)
        if warm:
            _warm(index)
    except BaseException:
        for close in reversed(closers):
            close()
        raise
    return index


def _own(prepared: PreparedIndex, collection: Collection, embedder: Embedder) -> Index:
    manifest = prepared.manifest
    assert manifest is not None  # noqa: S101 - the caller asked
    if collection.space != manifest.space:
        raise IndexMismatch(f"The collection's space is {collection.space!r}, its manifest says {manifest.space!r}")
    texts = TextStore(prepared.data)
    try:
        for what, count in (("vectors", collection.count()), ("texts", len(texts))):
            if count != manifest.chunks:
                raise IndexDamaged(
                    f"The index has {count} {what} for {manifest.chunks} chunks. Run: ragctl ingest PATH"
                )
        sides = Sides.open(prepared.data, manifest, texts.numbers)
        late_search = None
        if manifest.tokens is not None and isinstance(embedder, TokenEmbedder):
            calibration = Calibration.load(manifest.calibration)
            late_search = LateInteractionSearch.local(prepared.data, sides, collection, embedder, calibration)
    except IndexDamaged:
        texts.close()
        raise
    return Index(
        prepared=prepared,
        collection=collection,
        embedder=embedder,
        texts=texts,
        sides=lambda: sides,
        late_search=late_search,
        columns=sides.columns,
        ids={},
        documents=manifest.documents,
        fields=manifest.fields,
    )


def _foreign(prepared: PreparedIndex, collection: Collection, embedder: Embedder) -> Index:
    check(collection, embedder)
    found = survey(collection)
    return Index(
        prepared=prepared,
        collection=collection,
        embedder=embedder,
        texts=None,
        sides=late_sides(collection, found.ids, prepared.chroma),
        ids=found.ids,
        documents=found.documents,
        fields=found.fields,
    )


def _warm(index: Index) -> None:
    """The first query loads the vectors; a failure here is one that every request would meet."""
    vector = np.zeros(index.embedder.dimensions, dtype=np.float32)
    vector[0] = 1
    try:
        if index.late:
            index.search([View("warm")], k=1)
        else:
            index.nearest(vector, k=1)
    except SearchFailed as exc:
        raise IndexDamaged(f"The index does not answer: {exc}. Run: ragctl ingest PATH") from exc
