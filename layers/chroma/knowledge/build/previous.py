"""The index before an ingest: its settings, chunks and vectors, and the change of a copy where little changed.

A changed copy keeps all measures and fits of the whole index: the bar of the background questions, the language, and
Chroma's graph. The manifest records the share of the chunks that changed since: above ``UPDATE_SHARE`` everything is
made again.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.labels import LABELS
from knowledge.build.plan import IndexSettings, Plan, PreviousChunks, embed_key
from knowledge.build.reading import ChunkReadings, keeps_projection, load_tokens, texts_of
from knowledge.embedding import embed_text
from knowledge.engines.collection import SQLITE_NAME, Collection
from knowledge.engines.metadata import to_chunk, to_metadata
from knowledge.model.errors import IndexMismatch, IndexUnavailable
from knowledge.model.manifest import DATA_NAME, MANIFEST_NAME, Manifest, loads
from knowledge.model.values import Chunk
from knowledge.open.source import CHROMA_FOLDER, prepare, verify
from knowledge.open.texts import TextStore
from knowledge.search.candidates import chunk_number
from knowledge.search.columns import COLUMNS_FOLDER, Columns
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.lexical import LEXICAL_FOLDER, update_lexical
from knowledge.search.signals import Calibration
from knowledge.search.vectors import VectorStore

if TYPE_CHECKING:
    from knowledge.model.values import Matrix

UPDATE_SHARE = 0.01
"""Of the chunks, with those that changed since the index was made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldIndex:
    """The index in a folder: ``manifest`` only if it is whole and of this format.

    Even of a damaged one no chunk gets a number below ``next_number``, and the folder ``data`` stays until the switch.
    """

    manifest: Manifest | None = None
    next_number: int = 1
    data: str | None = None


def old_index(target: Path) -> OldIndex:
    """Look at the index in ``target``, if there is one; IndexMismatch: it is a Chroma folder made elsewhere."""
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
        # Damaged, or of another format: these two can be found in its text all the same.
        damaged = text.decode("utf-8", "replace")
        numbers = map(int, re.findall(r'"next_number":\s*(\d{1,18})\b', damaged))
        data = re.search(rf'"data":\s*"({DATA_NAME.pattern})"', damaged)
        return OldIndex(next_number=max([1, *numbers]), data=data[1] if data else None)
    return OldIndex(manifest=manifest, next_number=manifest.next_number, data=manifest.data)


def load_chunks(target: Path, manifest: Manifest, settings: IndexSettings) -> PreviousChunks:
    """Return all chunks of the index in ``target``, without their vectors and tokens."""
    data = target / manifest.data
    with closing(TextStore(data)) as texts:
        columns = Columns(data / COLUMNS_FOLDER, rows=len(texts))
        chunks = (
            to_chunk(columns.metadata(row), number=number, text=texts.get(number))
            for row, number in enumerate(texts.numbers.tolist())
        )
        previous = PreviousChunks.of(chunks, manifest.sources, manifest.next_number)
    before = (manifest.max_chars, manifest.overlap, manifest.recipe)
    return replace(previous, same_cut=before == (settings.max_chars, settings.overlap, settings.recipe))


def load_vectors(
    previous: PreviousChunks, target: Path, manifest: Manifest, settings: IndexSettings, *, exact: bool
) -> PreviousChunks:
    """Add the chunks' vectors and tokens, if they are of the model of ``settings``.

    ``exact`` ones are Chroma's; the others come rounded from ``VectorStore``, and are the same when written again.
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
            by_number = {chunk_number(record.id): record.vector for record in collection.scan(with_vectors=True)}
        vectors = [vector for chunk in chunks if (vector := by_number[chunk.number]) is not None]
    else:
        store = VectorStore(data, rows=len(chunks), dimensions=manifest.dimensions)
        vectors = list(store.rows(np.arange(len(chunks))))
    keys = (embed_key(chunk.title, chunk.text) for chunk in chunks)
    known = ChunkReadings()
    if manifest.tokens is not None:
        projection, tokens = load_tokens(data / TOKENS_FOLDER, rows=len(chunks), dimensions=manifest.dimensions)
        digests = (text.digest() for text in texts_of(chunks))
        known = ChunkReadings(
            projection=projection,
            fitted_on=int(str(manifest.tokens["fitted_on"])),
            chunks=dict(zip(digests, zip(vectors, tokens, strict=True), strict=True)),
        )
    return replace(previous, vectors=dict(zip(keys, vectors, strict=True)), known=known)


def plan_update(target: Path, before: Manifest, previous: PreviousChunks, planned: Plan) -> IndexUpdate | None:
    """Return the change of the index in ``target`` into that of ``planned``, None where all is to be made again.

    ``before`` is its manifest, with the settings of now, and ``previous`` are its chunks.
    """
    old = {chunk.number: chunk for chunks in previous.chunks.values() for chunk in chunks}
    update = IndexUpdate(before=before, data=target / before.data, old=old)
    is_fitted = keeps_projection(before, len(planned.chunks))
    is_small = update.count_changed(planned.chunks) <= UPDATE_SHARE * before.chunks
    return update if is_fitted and is_small and not before.lexical.get("compounds") else None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class IndexUpdate:
    """The change of a copy of the index ``before``, with its data folder ``data`` and its chunks by number."""

    before: Manifest
    data: Path
    old: Mapping[int, Chunk]

    @property
    def calibration(self) -> Mapping[str, object] | None:
        """The calibration of the index before, without labels."""
        found = self.before.calibration
        return None if found is None else {key: value for key, value in found.items() if key != LABELS}

    def count_changed(self, chunks: Sequence[Chunk]) -> int:
        """Return the number of changed chunks, earlier updates included, where ``chunks`` are the new ones."""
        return self.before.updated + len(self._removed(chunks)) + sum(map(self._is_altered, chunks))

    def write_chroma(self, chroma: Path, chunks: Sequence[Chunk], vectors: Matrix, collection: str) -> None:
        """Copy Chroma's folder to the new folder ``chroma`` and put ``chunks`` with their ``vectors`` there.

        Raises:
            KnowledgeError: Chroma could not write them.
        """
        shutil.copytree(self.data / CHROMA_FOLDER, chroma)
        rows = [row for row, chunk in enumerate(chunks) if self._is_altered(chunk)]
        altered = [chunks[row] for row in rows]
        removed = [chunk.id for chunk in altered if chunk.number in self.old]
        removed += [old.id for old in self._removed(chunks)]
        with closing(Collection.open(chroma, collection)) as opened:
            opened.replace(removed, altered, self._with_exact(vectors[rows], altered, opened))

    def write_lexical(self, folder: Path, chunks: Sequence[Chunk]) -> Mapping[str, object]:
        """Write the BM25 side of ``chunks`` to the new ``folder`` and return the manifest's record."""
        fresh = {chunk.number: chunk for chunk in chunks if self._has_new_text(chunk)}
        gone = [*self._removed(chunks), *(self.old[number] for number in fresh if number in self.old)]
        return update_lexical(
            folder,
            self.data / LEXICAL_FOLDER,
            self.before.lexical,
            numbers=[chunk.number for chunk in chunks],
            fresh={number: embed_text(chunk.title, chunk.text) for number, chunk in fresh.items()},
            gone=[embed_text(chunk.title, chunk.text) for chunk in gone],
        )

    def _with_exact(self, vectors: Matrix, chunks: Sequence[Chunk], collection: Collection) -> Matrix:
        """Replace those ``vectors`` of ``chunks`` that were not computed again by Chroma's, which are not rounded."""
        known = {embed_key(old.title, old.text): old.id for old in self.old.values()}
        ids = [known.get(embed_key(chunk.title, chunk.text), "") for chunk in chunks]
        wanted = list(dict.fromkeys(filter(None, ids)))
        exact = {record.id: record.vector for record in collection.get(wanted, with_vectors=True)} if wanted else {}
        return np.array([vector if exact.get(i) is None else exact[i] for i, vector in zip(ids, vectors, strict=True)])

    def _removed(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        numbers = {chunk.number for chunk in chunks}
        return [old for old in self.old.values() if old.number not in numbers]

    def _is_altered(self, chunk: Chunk) -> bool:
        old = self.old.get(chunk.number)
        return old is not chunk and (old is None or old.text != chunk.text or to_metadata(old) != to_metadata(chunk))

    def _has_new_text(self, chunk: Chunk) -> bool:
        old = self.old.get(chunk.number)
        if old is chunk:
            return False
        return old is None or embed_key(old.title, old.text) != embed_key(chunk.title, chunk.text)
