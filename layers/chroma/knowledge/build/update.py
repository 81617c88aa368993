"""Change a copy of an index of which little changed, instead of making it anew.

A copy keeps what was measured or fitted on all chunks: the bar of the background questions, the language, and Chroma's
graph. The share of the chunks that changed since is in the manifest: above ``UPDATE_SHARE`` all is made anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.labels import LABELS
from knowledge.build.plan import Plan, Previous, embed_key
from knowledge.build.reading import still_fits
from knowledge.cut.embedding_text import embed_text
from knowledge.engines.embedded.collection import Collection
from knowledge.engines.metadata import to_metadata
from knowledge.model.manifest import Manifest
from knowledge.model.values import Chunk
from knowledge.open.source import CHROMA_FOLDER
from knowledge.search.lexical import LEXICAL_FOLDER
from knowledge.search.lexical_update import update_lexical

if TYPE_CHECKING:
    from knowledge.model.values import Matrix

UPDATE_SHARE = 0.01
"""Of the chunks, with those that changed since the index was made anew."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Update:
    """The index ``before``, whose data is in the folder ``data``, and its chunks by number."""

    before: Manifest
    data: Path
    old: Mapping[int, Chunk]

    @property
    def calibration(self) -> Mapping[str, object] | None:
        """That of the index before, without what labels gave."""
        found = self.before.calibration
        return None if found is None else {key: value for key, value in found.items() if key != LABELS}

    def changed(self, chunks: Sequence[Chunk]) -> int:
        """How many chunks were changed, with those of the updates before, where ``chunks`` are those to be."""
        now = {chunk.number for chunk in chunks}
        return self.before.updated + len(self.old.keys() - now) + len(self._altered(chunks))

    def is_small(self, chunks: Sequence[Chunk]) -> bool:
        """Whether so little changed that a copy may be changed."""
        return self.changed(chunks) <= UPDATE_SHARE * self.before.chunks

    def write_chroma(self, chroma: Path, chunks: Sequence[Chunk], vectors: Matrix, collection: str) -> None:
        """Copy Chroma's folder to the new folder ``chroma`` and put ``chunks`` with their ``vectors`` there.

        Raises:
            KnowledgeError: Chroma could not write them.
        """
        shutil.copytree(self.data / CHROMA_FOLDER, chroma)
        altered = self._altered(chunks)
        rows = [row for row, chunk in enumerate(chunks) if chunk.number in altered]
        gone = [old.id for old in self.old.values() if old.number in altered] + self._gone(chunks)
        with closing(Collection.open(chroma, collection)) as made:
            taken = self._with_exact(vectors[rows], [chunks[row] for row in rows], made)
            made.replace(gone, [chunks[row] for row in rows], taken)

    def _with_exact(self, vectors: Matrix, chunks: Sequence[Chunk], collection: Collection) -> Matrix:
        """The ``vectors`` of ``chunks``; of those that were not read anew Chroma's, which are not rounded."""
        known = {embed_key(old.title, old.text): old.id for old in self.old.values()}
        ids = [known.get(embed_key(chunk.title, chunk.text), "") for chunk in chunks]
        wanted = list(dict.fromkeys(filter(None, ids)))
        exact = {record.id: record.vector for record in collection.get(wanted, with_vectors=True)} if wanted else {}
        return np.array([vector if exact.get(i) is None else exact[i] for i, vector in zip(ids, vectors, strict=True)])

    def write_lexical(self, folder: Path, chunks: Sequence[Chunk]) -> Mapping[str, object]:
        """Write the BM25 side of ``chunks`` to the new ``folder``; returns the manifest's record."""
        now = {chunk.number for chunk in chunks}
        anew = {chunk.number: chunk for chunk in chunks if self._is_read_anew(chunk)}
        gone = [old for old in self.old.values() if old.number not in now or old.number in anew]
        return update_lexical(
            folder,
            self.data / LEXICAL_FOLDER,
            self.before.lexical,
            numbers=[chunk.number for chunk in chunks],
            fresh={number: embed_text(chunk.title, chunk.text) for number, chunk in anew.items()},
            gone=[embed_text(chunk.title, chunk.text) for chunk in gone],
        )

    def _gone(self, chunks: Sequence[Chunk]) -> list[str]:
        now = {chunk.number for chunk in chunks}
        return [old.id for old in self.old.values() if old.number not in now]

    def _altered(self, chunks: Sequence[Chunk]) -> dict[int, Chunk]:
        """Those of ``chunks`` that are new or other ones than before, by number."""
        return {chunk.number: chunk for chunk in chunks if self._is_other(chunk)}

    def _is_other(self, chunk: Chunk) -> bool:
        old = self.old.get(chunk.number)
        return old is not chunk and (old is None or old.text != chunk.text or to_metadata(old) != to_metadata(chunk))

    def _is_read_anew(self, chunk: Chunk) -> bool:
        old = self.old.get(chunk.number)
        if old is chunk:
            return False
        return old is None or embed_key(old.title, old.text) != embed_key(chunk.title, chunk.text)


def update_of(target: Path, before: Manifest, previous: Previous, planned: Plan) -> Update | None:
    """How to change the index in ``target`` into that of ``planned``; None where it is to be made anew.

    ``before`` is its manifest, of an index made as it would be now, and ``previous`` its chunks.
    """
    data = target / before.data
    old = {chunk.number: chunk for chunks in previous.chunks.values() for chunk in chunks}
    update = Update(before=before, data=data, old=old)
    fits = before.tokens is None or still_fits(int(str(before.tokens["fitted_on"])), len(planned.chunks))
    return update if fits and not before.lexical.get("compounds") and update.is_small(planned.chunks) else None
