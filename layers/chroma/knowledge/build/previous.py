"""The index that an ingest finds: what of it is still good, and what it was made with."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.plan import Previous, embed_key
from knowledge.build.reading import KnownReadings, stored_tokens, texts_of
from knowledge.build.write import Settings
from knowledge.engines.embedded.collection import SQLITE_NAME, Collection
from knowledge.engines.metadata import to_chunk
from knowledge.model.errors import IndexMismatch, IndexUnavailable
from knowledge.model.manifest import DATA_NAME, MANIFEST_NAME, Manifest, loads
from knowledge.model.values import Chunk, Embedder, TokenEmbedder
from knowledge.open.source import prepare, verify
from knowledge.open.texts import TextStore
from knowledge.search.candidates import number_in
from knowledge.search.columns import COLUMNS_FOLDER, Columns
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.signals import Calibration
from knowledge.search.vectors import VectorStore

if TYPE_CHECKING:
    from knowledge.model.values import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class OldIndex:
    """The index that is there: ``manifest`` only if it is whole and of this format.

    Whatever it is, no chunk gets a number below ``next_number``, and the folder ``data`` stays until the switch.
    """

    manifest: Manifest | None = None
    next_number: int = 1
    data: str | None = None


def old_index(target: Path) -> OldIndex:
    """Look at the index in the folder ``target``, which may not be there.

    Raises:
        IndexMismatch: it is a Chroma folder that was made elsewhere.
    """
    try:
        text = (target / MANIFEST_NAME).read_bytes()
    except FileNotFoundError:
        if (target / SQLITE_NAME).exists():
            raise IndexMismatch(
                f"{str(target)!r} holds a Chroma database made elsewhere: choose another folder for the index"
            ) from None
        return OldIndex()
    try:
        manifest = loads(text)
        Calibration.load(manifest.calibration)
        verify(target / manifest.data, manifest.files)
    except IndexUnavailable:
        return _unusable(text.decode("utf-8", "replace"))
    return OldIndex(manifest=manifest, next_number=manifest.next_number, data=manifest.data)


def _unusable(text: str) -> OldIndex:
    """What can be read from the ``text`` of a manifest that is damaged or of another format."""
    numbers = map(int, re.findall(r'"next_number":\s*(\d{1,18})\b', text))
    data = re.search(rf'"data":\s*"({DATA_NAME.pattern})"', text)
    return OldIndex(next_number=max([1, *numbers]), data=data[1] if data else None)


def settings_now(embedder: Embedder, *, collection: str, max_chars: int, overlap: int, recipe: int) -> Settings:
    """What this program would make an index with."""
    has_tokens = isinstance(embedder, TokenEmbedder)
    return Settings(embedder.model, embedder.dimensions, collection, max_chars, overlap, recipe, has_tokens)


def settings_of(manifest: Manifest) -> Settings:
    """What an index was made with."""
    m = manifest
    return Settings(
        m.model, m.dimensions, m.collection, m.max_chars, m.overlap, m.recipe, has_tokens=m.tokens is not None
    )


def previous_of(target: Path, manifest: Manifest, settings: Settings) -> Previous:
    """All its chunks, without what the model said of them."""
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in _chunks(target, manifest):
        numbers[chunk.doc_id, chunk.text].append(chunk.number)
        by_document[chunk.doc_id].append(chunk)
    return Previous(
        next_number=manifest.next_number,
        numbers=numbers,
        sources={source.doc_id: source for source in manifest.sources},
        chunks={doc_id: tuple(found) for doc_id, found in by_document.items()},
        same_cut=(manifest.max_chars, manifest.overlap, manifest.recipe)
        == (settings.max_chars, settings.overlap, settings.recipe),
    )


def with_vectors(previous: Previous, target: Path, manifest: Manifest, settings: Settings, *, exact: bool) -> Previous:
    """With what the model said of its chunks, if it is the model of ``settings``.

    ``exact`` ones are Chroma's; the others are those of ``VectorStore``, rounded, which written again are the same.
    """
    if (manifest.model, manifest.dimensions) != (settings.model, settings.dimensions):
        return previous
    chunks = sorted((chunk for found in previous.chunks.values() for chunk in found), key=lambda chunk: chunk.number)
    data = target / manifest.data
    if exact:
        with (
            closing(prepare(target, scratch_root=target)) as prepared,
            closing(Collection.open(prepared.chroma, manifest.collection)) as collection,
        ):
            by_number = {number_in(record.id): record.vector for record in collection.scan(with_vectors=True)}
        vectors = [vector for chunk in chunks if (vector := by_number[chunk.number]) is not None]
    else:
        store = VectorStore(data, rows=len(chunks), dimensions=manifest.dimensions)
        vectors = list(store.rows(np.arange(len(chunks))))
    keys = (embed_key(chunk.title, chunk.text) for chunk in chunks)
    return replace(
        previous, vectors=dict(zip(keys, vectors, strict=True)), known=_known(data, manifest, chunks, vectors)
    )


def _chunks(target: Path, manifest: Manifest) -> Iterator[Chunk]:
    """All chunks, by number."""
    data = target / manifest.data
    with closing(TextStore(data)) as texts:
        columns = Columns(data / COLUMNS_FOLDER, rows=len(texts))
        for row, number in enumerate(texts):
            yield to_chunk(columns.metadata(row), number=number, text=texts.get(number))


def _known(data: Path, manifest: Manifest, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> KnownReadings:
    """What the index has of its chunks' tokens."""
    if manifest.tokens is None:
        return KnownReadings()
    projection, stored = stored_tokens(data / TOKENS_FOLDER, rows=len(chunks), dimensions=manifest.dimensions)
    digests = (text.digest() for text in texts_of(chunks))
    return KnownReadings(
        projection=projection,
        fitted_on=int(str(manifest.tokens["fitted_on"])),
        chunks=dict(zip(digests, zip(vectors, stored, strict=True), strict=True)),
    )
