"""An index in a folder: verified, checked against the embedder, opened with Chroma in this process, and warm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from knowledge.engines.collection import ChromaRecord, Collection
from knowledge.engines.metadata import to_chunk, with_stated_date
from knowledge.model.errors import IndexDamaged, IndexMismatch, SearchFailed
from knowledge.model.values import Chunk, Embedder, Hit, Scalar, TokenEmbedder, View, Where
from knowledge.open.foreign import check_collection, late_sides, survey
from knowledge.open.opened import ChromaIndex, check_manifest, dense_hits
from knowledge.open.place import folder_of
from knowledge.open.source import PreparedIndex, prepare
from knowledge.open.texts import TextStore
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Candidates, HybridIndex
from knowledge.search.columns import Columns
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import Lexical
from knowledge.search.signals import Calibration

if TYPE_CHECKING:
    from knowledge.model.values import Vector

DEFAULT_COLLECTION = "waypoint_kb"
VERSION_CHARS = 12


def open_index(
    uri: str | Path,
    *,
    embedder: Embedder,
    collection: str = DEFAULT_COLLECTION,
    scratch: Path | None = None,
    copy_first: bool = False,
    warm: bool = True,
) -> EmbeddedIndex:
    """Open the index in the folder (or ``file://`` URI) ``uri`` for questions embedded by ``embedder``.

    The source is only read; with ``copy_first`` it is copied, and may then be removed or cut short. With ``warm`` a
    first query is made, so that no request pays for loading the vectors.
    A Chroma folder without our manifest opens when its unit vectors have 384 dimensions and its embedding function
    is Chroma's default or none; its texts are Chroma's documents.

    Raises:
        IndexMissing, IndexDamaged, IndexUnavailable: see ``source.prepare``.
        IndexMismatch: another model, dimensions, space, collection name or format; the message names both sides.
    """
    prepared = prepare(folder_of(uri), scratch_root=scratch, copy_first=copy_first)
    closers: list[Callable[[], None]] = [prepared.close]
    try:
        if prepared.manifest is not None:
            check_manifest(prepared.manifest, embedder, collection)
        opened = Collection.open(prepared.chroma, collection)
        closers.append(opened.close)
        index = (
            _open_own(prepared, opened, embedder) if prepared.manifest else _open_foreign(prepared, opened, embedder)
        )
        closers.append(index.close)
        if warm:
            _warm(index)
    except BaseException:
        for close in reversed(closers):
            close()
        raise
    return index


class EmbeddedIndex(ChromaIndex):
    """An index in a folder, opened by ``open_index``."""

    def __init__(
        self,
        *,
        prepared: PreparedIndex,
        collection: Collection,
        embedder: Embedder,
        texts: TextStore | None,
        sides: Callable[[], HybridIndex],
        ids: Mapping[int, str],
        documents: int,
        fields: Mapping[str, str],
        late_search: LateInteractionSearch | None = None,
        columns: Columns | None = None,
    ) -> None:
        """Use ``open_index``. ``texts`` is None for a foreign folder, where ``ids`` maps numbers to Chroma's ids."""
        manifest = prepared.manifest
        self.manifest = manifest
        self.version = manifest.version if manifest else prepared.digest[:VERSION_CHARS]
        self.built_at = manifest.built_at if manifest else None
        self.embedder = embedder
        self.documents = documents
        self.chunks = len(texts) if texts is not None else len(ids)
        self.fields = MappingProxyType(dict(fields))
        self._prepared = prepared
        self._collection = collection
        self._texts = texts
        self._sides = sides
        self._late_search = late_search
        self._columns = columns
        self._ids = ids
        self._numbers = {chunk_id: number for number, chunk_id in ids.items()}

    @property
    def numbers(self) -> Sequence[int]:
        """See ``ChromaIndex``."""
        return list(self._texts) if self._texts is not None else sorted(self._ids)

    @property
    def lexical(self) -> Lexical:
        """BM25 over all chunks."""
        return self._sides().lexical

    def nearest(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """See ``ChromaIndex``."""
        records = self._collection.query(
            vector, k=k, where=where, with_vectors=with_vectors, with_documents=self._texts is None
        )
        return dense_hits((self._chunk(record), record.cosine, record.vector) for record in records)

    def candidates(
        self, text: str, vector: Vector, *, k: int = CANDIDATES_PER_SIDE, where: Where | None = None
    ) -> Candidates:
        """See ``ChromaIndex``."""
        return self._sides().candidates(self._collection, text, vector, k=k, where=where)

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """See ``ChromaIndex``."""
        wanted = [int(number) for number in numbers]
        if self._columns is not None and self._texts is not None:
            return tuple(self._stored_chunk(self._columns, self._texts, number) for number in wanted)
        ids = [self._ids.get(number, f"id_{number}") for number in wanted]
        records = self._collection.get(ids) if ids else ()  # Chroma takes no ids for no condition
        found = {chunk.number: chunk for chunk in map(self._chunk, records)}
        try:
            return tuple(found[number] for number in wanted)
        except KeyError as exc:
            raise SearchFailed(f"The index has no chunk id_{exc}") from exc

    def has(self, number: int) -> bool:
        """See ``ChromaIndex``."""
        return number in (self._ids if self._texts is None else self._texts)

    def values(self, field: str) -> Sequence[Scalar]:
        """See ``ChromaIndex``."""
        return self._columns.values(field) if self._columns is not None else ()

    def check_reachable(self) -> None:
        """Do nothing: it has no server."""

    def disconnect(self) -> None:
        """Do nothing: it has no connections."""

    def close(self) -> None:
        """See ``ChromaIndex``."""
        self._collection.close()
        if self._texts is not None:
            self._texts.close()
        self._prepared.close()

    def _stored_chunk(self, columns: Columns, texts: TextStore, number: int) -> Chunk:
        """Read a chunk from our own files, in a tenth of the time that Chroma takes to read metadata."""
        row = texts.row(number)
        if row is None:
            raise SearchFailed(f"The index has no chunk id_{number}")
        return to_chunk(columns.metadata(row), number=number, text=texts.get(number))

    def _chunk(self, record: ChromaRecord) -> Chunk:
        try:
            if self._texts is None:
                text = record.document or ""
                return with_stated_date(to_chunk(record.metadata, number=self._numbers[record.id], text=text))
            number = int(record.id.removeprefix("id_"))
            return to_chunk(record.metadata, number=number, text=self._texts.get(number))
        except (KeyError, ValueError) as exc:
            raise SearchFailed(f"The index knows no text for {record.id!r}") from exc


def _open_own(prepared: PreparedIndex, collection: Collection, embedder: Embedder) -> EmbeddedIndex:
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
        sides = HybridIndex.open(prepared.data, manifest, texts.numbers)
        late_search = None
        if manifest.tokens is not None and isinstance(embedder, TokenEmbedder):
            calibration = Calibration.load(manifest.calibration)
            late_search = LateInteractionSearch.local(prepared.data, sides, collection, embedder, calibration)
    except IndexDamaged:
        texts.close()
        raise
    return EmbeddedIndex(
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


def _open_foreign(prepared: PreparedIndex, collection: Collection, embedder: Embedder) -> EmbeddedIndex:
    check_collection(collection, embedder)
    found = survey(collection)
    return EmbeddedIndex(
        prepared=prepared,
        collection=collection,
        embedder=embedder,
        texts=None,
        sides=late_sides(collection, found.ids, prepared.chroma),
        ids=found.ids,
        documents=found.documents,
        fields=found.fields,
    )


def _warm(index: EmbeddedIndex) -> None:
    """Make a first query, which loads the vectors; if it fails, so would every request."""
    vector = np.zeros(index.embedder.dimensions, dtype=np.float32)
    vector[0] = 1
    try:
        if index.late:
            index.search([View("warm")], k=1)
        else:
            index.nearest(vector, k=1)
    except SearchFailed as exc:
        raise IndexDamaged(f"The index does not answer: {exc}. Run: ragctl ingest PATH") from exc
