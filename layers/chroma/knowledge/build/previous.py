"""The index that an ingest finds: what of it is still good, and what it was made with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.build.labels import is_whole
from knowledge.build.plan import RECIPE, Previous, embed_key
from knowledge.build.reading import KnownReadings, stored_tokens, texts_of
from knowledge.build.write import Settings
from knowledge.engines.embedded.collection import SQLITE_NAME, Collection
from knowledge.engines.metadata import to_chunk
from knowledge.model.errors import IndexMismatch, IndexUnavailable
from knowledge.model.manifest import MANIFEST_NAME, Manifest, Salvage, loads, salvage
from knowledge.model.values import Chunk, Embedder, TokenEmbedder
from knowledge.open.source import prepare, verify
from knowledge.open.texts import TextStore
from knowledge.search.late_interaction import TOKENS_FOLDER, TOKENS_RECIPE
from knowledge.search.lexical import LEXICAL_RECIPE
from knowledge.search.signals import CALIBRATION_RECIPE

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
    """All its chunks, and their vectors if they were made in the way that they would be now."""
    reusable = of_vectors(settings_of(manifest)) == of_vectors(settings)
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    vectors: dict[bytes, Vector] = {}
    by_number: dict[int, Vector] = {}
    chunks: list[Chunk] = []
    with (
        closing(prepare(target, scratch_root=target, older=True)) as prepared,
        closing(Collection.open(prepared.chroma, manifest.collection)) as collection,
        closing(TextStore(prepared.data)) as texts,
    ):
        for record in collection.scan(with_vectors=reusable):
            number = int(record.id.removeprefix("id_"))
            text = texts.get(number)
            chunk = to_chunk(record.metadata, number=number, text=text)
            numbers[chunk.doc_id, text].append(number)
            chunks.append(chunk)
            if record.vector is not None:
                vectors[embed_key(chunk.title, text)] = by_number[number] = record.vector
        chunks.sort(key=lambda chunk: chunk.number)
        known = KnownReadings()
        if reusable:
            known = _known(prepared.data, manifest, chunks, [by_number[chunk.number] for chunk in chunks])
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_document[chunk.doc_id].append(chunk)
    return Previous(
        next_number=manifest.next_number,
        numbers=numbers,
        vectors=vectors,
        known=known,
        sources={source.doc_id: source for source in manifest.sources},
        chunks={doc_id: tuple(found) for doc_id, found in by_document.items()},
    )


def _recipe(record: Mapping[str, object] | None) -> int:
    recipe = (record or {}).get("recipe")
    return recipe if isinstance(recipe, int) else 0


def of_vectors(settings: Settings) -> Settings:
    """What a text's vector depends on."""
    return settings._replace(
        collection="", max_chars=0, overlap=0, lexical_recipe=0, tokens_recipe=0, calibration_recipe=0
    )


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
