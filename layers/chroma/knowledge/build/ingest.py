"""Documents in, an index on disk out: incremental, atomic, one writer at a time.

Everything is built in a data folder of its own and flushed to the disk; then ``manifest.json`` is replaced in one
step. A process that is killed at any moment leaves the index that there was.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.build.labels import carried, is_whole, labels_older
from knowledge.build.lock import locked
from knowledge.build.plan import RECIPE, Previous, embed_key, plan
from knowledge.build.reading import Known, stored_tokens, texts_of
from knowledge.build.write import Settings, describe, embed_chunks, switch, write_data
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS
from knowledge.errors import IndexMismatch, IndexUnavailable, SourceUnreadable
from knowledge.open.collection import SQLITE_NAME, Collection
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.manifest import MANIFEST_NAME, Manifest, Salvage, loads, salvage
from knowledge.open.metadata import to_chunk
from knowledge.open.source import SCRATCH_PREFIX, prepare, verify
from knowledge.open.texts import TextStore
from knowledge.search.lexical import LEXICAL_RECIPE
from knowledge.search.look import TOKENS_FOLDER, TOKENS_RECIPE
from knowledge.search.signals import CALIBRATION_RECIPE
from knowledge.types import Chunk, Document, Embedder, Failure, TokenEmbedder

if TYPE_CHECKING:
    from knowledge.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What an ingest did. All counts but ``chunks`` and ``embedded`` (texts) are of documents that hold text.

    ``changed`` are those whose digest is another one; ``empty`` are the paths of documents without any text;
    ``failed`` names documents that could not be cut, which the index does not hold. ``labels_older`` says whether the
    owner's calibration was kept from another version of the index.
    """

    documents: int
    chunks: int
    added: int
    changed: int
    removed: int
    unchanged: int
    embedded: int
    empty: tuple[str, ...]
    failed: tuple[Failure, ...]
    version: str
    seconds: float
    labels_older: bool = False


def ingest(
    documents: Sequence[Document],
    *,
    target: Path,
    embedder: Embedder,
    collection: str = DEFAULT_COLLECTION,
    max_chars: int = MAX_CHARS,
    overlap: int = OVERLAP_CHARS,
    on_progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Make the index in the folder ``target`` mirror ``documents`` exactly.

    Only texts that the index does not hold are embedded; when nothing changed it is not touched. ``on_progress`` is
    told how many texts are embedded, and of how many. The data folder replaced last is kept until the next ingest,
    for readers that are about to open it.

    Raises:
        IndexLocked: another process is writing this index.
        IndexMismatch: ``target`` is a Chroma folder that was made elsewhere.
        SourceUnreadable: the documents hold no text, or two have the same doc_id; the index is as it was.
    """
    started = time.perf_counter()
    target.mkdir(parents=True, exist_ok=True)
    with locked(target):
        old = _read(target)
        before = old.manifest
        settings = _wanted(embedder, collection, max_chars, overlap)
        if before is not None and _settings(before) == settings and _same_documents(before, documents):
            return _summary(before, before, embedded=0, started=started)
        previous = _previous(target, old, settings)
        planned = plan(documents, previous=previous, max_chars=max_chars, overlap=overlap)
        if not planned.chunks:
            failed = f", {len(planned.failed)} could not be cut" if planned.failed else ""
            raise SourceUnreadable(
                f"Nothing to index: {len(documents)} documents{failed}, and no text in any of them", planned.failed
            )
        _remove_data(target, keep=old.salvage.data)
        embedded = embed_chunks(planned.chunks, previous, embedder, on_progress)
        data = target / f"data-{secrets.token_hex(6)}"
        try:
            written = write_data(data, planned.chunks, embedded, collection, embedder)
            manifest = carried(describe(data, planned, settings, written), before)
        except BaseException:
            shutil.rmtree(data, ignore_errors=True)
            raise
        switch(target, manifest)
        return _summary(manifest, before, embedded=embedded.fresh, started=started, failed=planned.failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Old:
    """The index that is there: ``manifest`` only if it is whole, ``salvage`` also of a damaged one."""

    manifest: Manifest | None
    salvage: Salvage


def _read(target: Path) -> _Old:
    try:
        text = (target / MANIFEST_NAME).read_bytes()
    except FileNotFoundError:
        if (target / SQLITE_NAME).exists():
            raise IndexMismatch(
                f"{str(target)!r} holds a Chroma database made elsewhere: choose another folder for the index"
            ) from None
        return _Old(manifest=None, salvage=Salvage())
    try:
        manifest = loads(text)
        verify(target / manifest.data, manifest.files)
    except IndexUnavailable:
        return _Old(manifest=None, salvage=salvage(text))
    return _Old(manifest=manifest, salvage=Salvage(next_number=manifest.next_number, data=manifest.data))


def _wanted(embedder: Embedder, collection: str, max_chars: int, overlap: int) -> Settings:
    late = (TOKENS_RECIPE, CALIBRATION_RECIPE) if isinstance(embedder, TokenEmbedder) else (0, 0)
    return Settings(embedder.model, embedder.dimensions, collection, max_chars, overlap, RECIPE, LEXICAL_RECIPE, *late)


def _settings(manifest: Manifest) -> Settings:
    m = manifest
    recipes = (_recipe(m.lexical), _recipe(m.tokens), CALIBRATION_RECIPE if is_whole(m) else 0)
    return Settings(m.model, m.dimensions, m.collection, m.max_chars, m.overlap, m.recipe, *recipes)


def _recipe(record: Mapping[str, object] | None) -> int:
    recipe = (record or {}).get("recipe")
    return recipe if isinstance(recipe, int) else 0


def _of_vectors(settings: Settings) -> Settings:
    """What a text's vector depends on."""
    return settings._replace(
        collection="", max_chars=0, overlap=0, lexical_recipe=0, tokens_recipe=0, calibration_recipe=0
    )


def _same_documents(before: Manifest, documents: Sequence[Document]) -> bool:
    return sorted((s.doc_id, s.path, s.digest) for s in before.sources) == sorted(
        (d.doc_id, d.path, d.digest) for d in documents
    )


def _previous(target: Path, old: _Old, settings: Settings) -> Previous:
    """Numbers of all chunks, and their vectors if they were made in the way that they would be now."""
    if old.manifest is None:
        return Previous(next_number=old.salvage.next_number)
    reusable = _of_vectors(_settings(old.manifest)) == _of_vectors(settings)
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    vectors: dict[bytes, Vector] = {}
    by_number: dict[int, Vector] = {}
    chunks: list[Chunk] = []
    with (
        closing(prepare(target, scratch_root=target)) as prepared,
        closing(Collection.open(prepared.chroma, old.manifest.collection)) as collection,
        closing(TextStore(prepared.data)) as texts,
    ):
        for record in collection.scan(with_vectors=reusable):
            number = int(record.id.removeprefix("id_"))
            text = texts.get(number)
            numbers[str(record.metadata.get("doc_id", "")), text].append(number)
            if record.vector is not None:
                chunk = to_chunk(record.metadata, number=number, text=text)
                vectors[embed_key(chunk.title, text)] = by_number[number] = record.vector
                chunks.append(chunk)
        chunks.sort(key=lambda chunk: chunk.number)
        known = _known(prepared.data, old.manifest, chunks, [by_number[chunk.number] for chunk in chunks])
    return Previous(next_number=old.manifest.next_number, numbers=numbers, vectors=vectors, known=known)


def _known(data: Path, manifest: Manifest, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> Known:
    """What the index has of its chunks' tokens, if they were kept in the way that they would be now."""
    if not chunks or _recipe(manifest.tokens) != TOKENS_RECIPE or manifest.tokens is None:
        return Known()
    projection, stored = stored_tokens(data / TOKENS_FOLDER, rows=len(chunks), dimensions=manifest.dimensions)
    digests = (text.digest() for text in texts_of(chunks))
    return Known(
        projection=projection,
        fitted_on=int(str(manifest.tokens["fitted_on"])),
        chunks=dict(zip(digests, zip(vectors, stored, strict=True), strict=True)),
    )


def _remove_data(target: Path, *, keep: str | None) -> None:
    """Remove what killed runs left, and the data folder before the current one."""
    for path in (*target.glob("data-*"), *target.glob(f"{SCRATCH_PREFIX}*")):
        if path.name != keep:
            shutil.rmtree(path, ignore_errors=True)


def _summary(
    now: Manifest, before: Manifest | None, *, embedded: int, started: float, failed: tuple[Failure, ...] = ()
) -> Summary:
    new, old = _digests(now), _digests(before) if before else {}
    unchanged = sum(1 for doc_id, digest in new.items() if old.get(doc_id) == digest)
    both = len(new.keys() & old.keys())
    return Summary(
        documents=now.documents,
        chunks=now.chunks,
        added=len(new) - both,
        changed=both - unchanged,
        removed=len(old) - both,
        unchanged=unchanged,
        embedded=embedded,
        empty=tuple(source.path for source in now.sources if not source.chunks),
        failed=failed,
        version=now.version,
        seconds=time.perf_counter() - started,
        labels_older=labels_older(now),
    )


def _digests(manifest: Manifest) -> dict[str, str]:
    return {source.doc_id: source.digest for source in manifest.sources if source.chunks}
