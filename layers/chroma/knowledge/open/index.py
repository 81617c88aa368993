"""An index in a folder: verified, checked against the embedder, opened with Chroma in this process, and warm."""

from __future__ import annotations

import re
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from knowledge.embedding import embed_text
from knowledge.engines.collection import ChromaRecord, Collection
from knowledge.engines.metadata import merge_types, to_chunk, with_stated_date
from knowledge.model.errors import IndexDamaged, IndexMismatch, SearchFailed
from knowledge.model.manifest import SPACE, Manifest
from knowledge.model.values import Chunk, Embedder, Hit, Scalar, TokenEmbedder, View, Where
from knowledge.open.opened import ChromaIndex, check_manifest, dense_hits
from knowledge.open.place import folder_of
from knowledge.open.source import PreparedIndex, prepare
from knowledge.open.texts import TextStore
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Candidates, HybridIndex, chunk_number
from knowledge.search.columns import COLUMNS_FOLDER, Columns
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import LEXICAL_FOLDER, Lexical, write_lexical
from knowledge.search.signals import Calibration
from knowledge.search.vectors import VectorStore, write_vectors

if TYPE_CHECKING:
    from knowledge.model.values import Vector

DEFAULT_COLLECTION = "waypoint_kb"
VERSION_CHARS = 12
CACHED_CHUNKS = 256
"""Some 2 kB each: a question needs the same chunks when it is searched, answered and checked."""

FOREIGN_DIMENSIONS = 384
"""Of all-MiniLM-L6-v2, which is what Chroma's default embedding function is."""
SAMPLE_VECTORS = 10
UNIT_TOLERANCE = 1e-3

_CHUNK_ID = re.compile(r"id_(\d{1,18})")
_DOCUMENT_KEYS = ("doc_id", "path", "title")


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
    with ExitStack() as undo:
        prepared = prepare(folder_of(uri), scratch_root=scratch, copy_first=copy_first)
        undo.callback(prepared.close)
        manifest = prepared.manifest
        if manifest is not None:
            check_manifest(manifest, embedder, collection)
        opened = Collection.open(prepared.chroma, collection)
        undo.callback(opened.close)
        index: EmbeddedIndex = (
            OwnIndex(prepared, opened, embedder, manifest)
            if manifest is not None
            else ForeignIndex(prepared, opened, embedder)
        )
        undo.callback(index.close)
        if warm:
            _warm(index)
        undo.pop_all()
        return index


class EmbeddedIndex(ChromaIndex):
    """An index in a folder, opened by ``open_index``."""

    lexical: Lexical

    def __init__(self, prepared: PreparedIndex, collection: Collection, embedder: Embedder) -> None:
        self.embedder = embedder
        self._prepared = prepared
        self._collection = collection

    @abstractmethod
    def _sides(self) -> HybridIndex: ...

    def candidates(
        self, text: str, vector: Vector, *, k: int = CANDIDATES_PER_SIDE, where: Where | None = None
    ) -> Candidates:
        return self._sides().candidates(text, vector, k=k, where=where)

    def close(self) -> None:
        self._collection.close()
        self._prepared.close()


class OwnIndex(EmbeddedIndex):
    """An index that this program wrote."""

    def __init__(self, prepared: PreparedIndex, collection: Collection, embedder: Embedder, manifest: Manifest) -> None:
        """Raise IndexDamaged or IndexMismatch if the parts of the index do not fit each other."""
        if collection.space != manifest.space:
            raise IndexMismatch(f"The collection's space is {collection.space!r}, its manifest says {manifest.space!r}")
        super().__init__(prepared, collection, embedder)
        self._describe(manifest)
        self._texts = TextStore(prepared.data)
        self.numbers = self._texts.numbers.tolist()
        try:
            for what, count in (("vectors", collection.count()), ("texts", len(self._texts))):
                if count != manifest.chunks:
                    raise IndexDamaged(
                        f"The index has {count} {what} for {manifest.chunks} chunks. Run: ragctl ingest PATH"
                    )
            data, rows = prepared.data, len(self._texts)
            self._columns = Columns(data / COLUMNS_FOLDER, rows=rows)
            self.lexical = Lexical(data / LEXICAL_FOLDER, manifest.lexical)
            vectors = VectorStore(data, rows=rows, dimensions=manifest.dimensions)
            self._hybrid = HybridIndex(self.lexical, vectors, self._texts.numbers, collection, columns=self._columns)
            if manifest.tokens is not None and isinstance(embedder, TokenEmbedder):
                calibration = Calibration.load(manifest.calibration)
                self._late_search = LateInteractionSearch.local(data, self._hybrid, embedder, calibration)
        except IndexDamaged:
            self._texts.close()
            raise
        self._chunk = lru_cache(maxsize=CACHED_CHUNKS)(partial(_read_chunk, self._columns, self._texts))

    def nearest(self, vector: Vector, *, k: int, where: Where | None = None) -> tuple[Hit, ...]:
        records = self._collection.query(vector, k=k, where=where)
        return dense_hits((self._chunk(chunk_number(one.id)), one.cosine, one.vector) for one in records)

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        return tuple(map(self._chunk, numbers))

    def values(self, field: str) -> Sequence[Scalar]:
        return self._columns.values(field)

    def close(self) -> None:
        super().close()
        self._texts.close()

    def _sides(self) -> HybridIndex:
        return self._hybrid


class ForeignIndex(EmbeddedIndex):
    """A Chroma folder that was made elsewhere; its BM25 and its matrix are made at the first question by words."""

    def __init__(self, prepared: PreparedIndex, collection: Collection, embedder: Embedder) -> None:
        """Read all metadata once: about half a second for 10,000 chunks.

        Raises:
            IndexMismatch: the vectors cannot be compared with the embedder's.
        """
        _check_collection(collection, embedder)
        super().__init__(prepared, collection, embedder)
        ids: list[str] = []
        documents: set[str] = set()
        fields: dict[str, str] = {}
        for record in collection.scan():
            ids.append(record.id)
            fields = merge_types(fields, record.metadata)
            documents.add(next((str(record.metadata[key]) for key in _DOCUMENT_KEYS if key in record.metadata), ""))
        # The numbers in the ids if all are like "id_42", else 1 to n in the order of the sorted ids.
        matches = [_CHUNK_ID.fullmatch(chunk_id) for chunk_id in ids]
        by_number = {int(match[1]): match[0] for match in matches if match}
        if len(by_number) != len(ids):
            by_number = dict(enumerate(sorted(ids), start=1))
        self._ids = by_number
        self.numbers = sorted(by_number)
        self._numbers = {chunk_id: number for number, chunk_id in by_number.items()}
        self.manifest, self.built_at = None, None
        self.version = prepared.digest[:VERSION_CHARS]
        self.documents, self.chunks, self.fields = len(documents), len(ids), MappingProxyType(fields)
        self._lock = threading.Lock()
        self._made: HybridIndex | None = None

    def nearest(self, vector: Vector, *, k: int, where: Where | None = None) -> tuple[Hit, ...]:
        found = self._collection.query(vector, k=k, where=where)
        return dense_hits((self._chunk(record), record.cosine, record.vector) for record in found)

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        wanted = list(numbers)
        ids = [self._ids.get(number, f"id_{number}") for number in wanted]
        records = self._collection.get(ids) if ids else ()  # Chroma takes no ids for no condition
        found = {chunk.number: chunk for chunk in map(self._chunk, records)}
        try:
            return tuple(found[number] for number in wanted)
        except KeyError as exc:
            raise SearchFailed(f"The index has no chunk id_{exc}") from exc

    @cached_property
    def lexical(self) -> Lexical:  # type: ignore[override]
        return self._sides().lexical

    def _chunk(self, record: ChromaRecord) -> Chunk:
        try:
            number = self._numbers[record.id]
        except KeyError as exc:
            raise SearchFailed(f"The index knows no text for {record.id!r}") from exc
        return with_stated_date(to_chunk(record.metadata, number=number, text=record.document or ""))

    def _sides(self) -> HybridIndex:
        with self._lock:  # of several threads one makes them
            if self._made is None:
                self._made = self._make_sides()
            return self._made

    def _make_sides(self) -> HybridIndex:
        """Write BM25, over each text below its title as in our own indexes, and the matrix to the private folder."""
        numbers = self.numbers
        row_of = {self._ids[number]: row for row, number in enumerate(numbers)}
        texts = [""] * len(numbers)
        vectors = np.zeros((len(numbers), FOREIGN_DIMENSIONS), dtype=np.float32)
        for record in self._collection.scan(with_vectors=True):
            row = row_of[record.id]
            title = record.metadata.get("title")
            texts[row] = embed_text(title if isinstance(title, str) else "", record.document or "")
            vectors[row] = record.vector
        try:
            # A new folder each time: an earlier try may have failed half-way.
            folder = Path(tempfile.mkdtemp(prefix="sides-", dir=self._prepared.chroma))
            # The detection of languages is no part of the layer: 4.5 MB.
            lexical = write_lexical(folder / LEXICAL_FOLDER, numbers, texts, language="")
            write_vectors(folder, vectors)
        except OSError as exc:
            raise SearchFailed(f"No place for the BM25 side of the index: {exc}") from exc
        return HybridIndex(
            Lexical(folder / LEXICAL_FOLDER, lexical),
            VectorStore(folder, rows=len(numbers), dimensions=FOREIGN_DIMENSIONS),
            np.array(numbers, dtype=np.int64),
            self._collection,
            number_of=self._numbers.__getitem__,
        )


def _read_chunk(columns: Columns, texts: TextStore, number: int) -> Chunk:
    """Read a chunk from our own files, in a tenth of the time that Chroma takes to read metadata."""
    row = texts.row(number)
    if row is None:
        raise SearchFailed(f"The index has no chunk id_{number}")
    return to_chunk(columns.metadata(row), number=number, text=texts.get(number))


def _check_collection(collection: Collection, embedder: Embedder) -> None:
    """Raise IndexMismatch for another embedding function, other dimensions, vectors not of unit length, or none."""
    if collection.embedding_function not in (None, "default"):
        raise IndexMismatch(
            f"The collection's embedding function is {collection.embedding_function!r}, not Chroma's default or none"
        )
    sample = collection.peek(SAMPLE_VECTORS)
    if not len(sample):
        raise IndexMismatch("The collection is empty. Run: ragctl ingest PATH")
    dimensions = sample.shape[1]
    if dimensions != FOREIGN_DIMENSIONS or embedder.dimensions != FOREIGN_DIMENSIONS:
        raise IndexMismatch(
            f"The collection's vectors have {dimensions} dimensions and {embedder.model!r} makes"
            f" {embedder.dimensions}: a folder without a manifest opens with {FOREIGN_DIMENSIONS} only"
        )
    # Cosine follows from l2 and ip distances for unit vectors only.
    if collection.space != SPACE and np.abs(np.linalg.norm(sample, axis=1) - 1).max() > UNIT_TOLERANCE:
        raise IndexMismatch(f"The collection's vectors are not of unit length and its space is {collection.space!r}")


def _warm(index: EmbeddedIndex) -> None:
    """Make a first query, which loads the vectors; if it fails, so would every request."""
    try:
        if index.late:
            index.search([View("warm")], k=1)
        else:
            index.nearest(np.eye(1, index.embedder.dimensions, dtype=np.float32)[0], k=1)
    except SearchFailed as exc:
        raise IndexDamaged(f"The index does not answer: {exc}. Run: ragctl ingest PATH") from exc
