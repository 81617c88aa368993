"""The index that an ingest finds: what of it is still good, and what it was made with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.labels import is_whole
from knowledge.build.plan import RECIPE, Previous, embed_key
from knowledge.build.reading import KnownReadings, stored_tokens, texts_of
from knowledge.build.write import Settings
from knowledge.engines.embedded.collection import SQLITE_NAME, Collection, Record
from knowledge.engines.metadata import to_chunk
from knowledge.model.errors import IndexMismatch, IndexUnavailable
from knowledge.model.manifest import MANIFEST_NAME, Manifest, Salvage, loads, salvage
from knowledge.model.values import Chunk, Embedder, TokenEmbedder
from knowledge.open.source import prepare, verify
from knowledge.open.texts import TextStore
from knowledge.search.columns import COLUMNS_FOLDER, Columns
from knowledge.search.late_interaction import TOKENS_FOLDER, TOKENS_RECIPE
from knowledge.search.signals import CALIBRATION_RECIPE
from knowledge.search.terms import LEXICAL_RECIPE
from knowledge.search.vectors import VectorStore

if TYPE_CHECKING:
    from knowledge.model.values import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class OldIndex:
    """The index that is there: ``manifest`` only if it is whole, ``salvage`` also of a damaged one."""

    manifest: Manifest | None = None
    salvage: Salvage = field(default_factory=Salvage)


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
        manifest = loads(text, older=True)
        verify(target / manifest.data, manifest.files)
    except IndexUnavailable:
        return OldIndex(salvage=salvage(text))
    return OldIndex(manifest=manifest, salvage=Salvage(next_number=manifest.next_number, data=manifest.data))


def settings_now(
    embedder: Embedder, *, collection: str, max_chars: int, overlap: int, recipe: int = RECIPE
) -> Settings:
    """What this program would make an index with."""
    late = (TOKENS_RECIPE, CALIBRATION_RECIPE) if isinstance(embedder, TokenEmbedder) else (0, 0)
    return Settings(embedder.model, embedder.dimensions, collection, max_chars, overlap, recipe, LEXICAL_RECIPE, *late)


def settings_of(manifest: Manifest) -> Settings:
    """What an index was made with."""
    m = manifest
    recipes = (_recipe(m.lexical), _recipe(m.tokens), CALIBRATION_RECIPE if is_whole(m) else 0)
    return Settings(m.model, m.dimensions, m.collection, m.max_chars, m.overlap, m.recipe, *recipes)


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
        same_cut=_of_cut(settings_of(manifest)) == _of_cut(settings),
    )


def with_vectors(previous: Previous, target: Path, manifest: Manifest, settings: Settings, *, exact: bool) -> Previous:
    """With what the model said of its chunks, if that was made in the way that it would be now.

    ``exact`` ones are Chroma's; the others are those of ``VectorStore``, rounded, which written again are the same.
    """
    if of_vectors(settings_of(manifest)) != of_vectors(settings):
        return previous
    chunks = sorted((chunk for found in previous.chunks.values() for chunk in found), key=lambda chunk: chunk.number)
    data = target / manifest.data
    if exact:
        by_number = {number: record.vector for number, record in _records(target, manifest, with_vectors=True)}
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
        if (data / COLUMNS_FOLDER).exists():
            columns = Columns(data / COLUMNS_FOLDER, rows=len(texts))
            metadatas: Iterator[Mapping[str, object]] = map(columns.metadata, range(len(texts)))
        else:  # of an index from before there were columns only Chroma knows
            found = {number: record.metadata for number, record in _records(target, manifest)}
            metadatas = map(found.__getitem__, texts)
        for number, metadata in zip(texts, metadatas, strict=True):
            yield to_chunk(metadata, number=number, text=texts.get(number))


def _records(target: Path, manifest: Manifest, *, with_vectors: bool = False) -> Iterator[tuple[int, Record]]:
    """What Chroma holds, with the chunks' numbers."""
    with (
        closing(prepare(target, scratch_root=target, older=True)) as prepared,
        closing(Collection.open(prepared.chroma, manifest.collection)) as collection,
    ):
        for record in collection.scan(with_vectors=with_vectors):
            yield int(record.id.removeprefix("id_")), record


def _recipe(record: Mapping[str, object] | None) -> int:
    recipe = (record or {}).get("recipe")
    return recipe if isinstance(recipe, int) else 0


def of_vectors(settings: Settings) -> Settings:
    """What a text's vector depends on."""
    return settings._replace(
        collection="", max_chars=0, overlap=0, lexical_recipe=0, tokens_recipe=0, calibration_recipe=0
    )


def _of_cut(settings: Settings) -> tuple[int, int, int]:
    return settings.max_chars, settings.overlap, settings.recipe


def _known(data: Path, manifest: Manifest, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> KnownReadings:
    """What the index has of its chunks' tokens, if they were kept in the way that they would be now."""
    if not chunks or _recipe(manifest.tokens) != TOKENS_RECIPE or manifest.tokens is None:
        return KnownReadings()
    projection, stored = stored_tokens(data / TOKENS_FOLDER, rows=len(chunks), dimensions=manifest.dimensions)
    digests = (text.digest() for text in texts_of(chunks))
    return KnownReadings(
        projection=projection,
        fitted_on=int(str(manifest.tokens["fitted_on"])),
        chunks=dict(zip(digests, zip(vectors, stored, strict=True), strict=True)),
    )
