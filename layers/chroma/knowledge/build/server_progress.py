"""The progress of an ingest to a server, kept on this machine's disk, so that a killed one can go on.

Part of it are sums over all chunks, updated as chunks come and go, so that nothing needs all chunks at once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from knowledge.model.errors import IndexDamaged
from knowledge.model.manifest import SourceRecord
from knowledge.model.values import Failure
from knowledge.search.arrays import save_array
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.tokens import IDF_NAME, inverse_frequencies
from knowledge.search.vectors import round_vectors, save_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.engines.server.records import StoredChunk

STATE_NAME = "state.json"
TOTALS_NAME = "totals.npz"


@dataclass(eq=False)
class ChunkTotals:
    """Sums over all chunks: their ``numbers``, the ``vectors``, the outer ``products`` of each with itself, and pieces.

    ``products`` has shape (dimensions, dimensions); ``pieces`` is the number of chunks with each word piece.
    """

    numbers: set[int]
    vectors: NDArray[np.float64]
    products: NDArray[np.float64]
    pieces: NDArray[np.int64]

    @classmethod
    def zero(cls, dimensions: int, vocabulary: int) -> Self:
        """Return the totals of no chunks."""
        square = np.zeros((dimensions, dimensions))
        return cls(set(), np.zeros(dimensions), square, np.zeros(vocabulary, dtype=np.int64))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load the totals that ``save`` wrote to ``folder``; IndexDamaged: they cannot be read."""
        try:
            with np.load(folder / TOTALS_NAME, allow_pickle=False) as saved:
                return cls(set(saved["numbers"].tolist()), saved["first"], saved["second"], saved["pieces"])
        except (OSError, ValueError, KeyError) as exc:
            raise IndexDamaged(f"{TOTALS_NAME} cannot be read: {exc}. Run: ragctl ingest PATH") from exc

    def save(self, folder: Path) -> None:
        """Write the totals to ``folder``."""
        np.savez(
            folder / TOTALS_NAME, numbers=self.ascending, first=self.vectors, second=self.products, pieces=self.pieces
        )

    @property
    def ascending(self) -> NDArray[np.int64]:
        """The numbers in their order."""
        return np.array(sorted(self.numbers), dtype=np.int64)

    def add(self, chunks: Sequence[StoredChunk]) -> None:
        """Add ``chunks``, except those whose numbers are there already."""
        self._sum([one for one in chunks if one.chunk.number not in self.numbers], 1)
        self.numbers.update(one.chunk.number for one in chunks)

    def remove(self, chunks: Sequence[StoredChunk]) -> None:
        """Subtract the ``chunks`` whose numbers are there."""
        self._sum([one for one in chunks if one.chunk.number in self.numbers], -1)
        self.numbers.difference_update(one.chunk.number for one in chunks)

    def write_facts(self, folder: Path) -> None:
        """Write the moments of the vectors and the idf of the pieces as an index's ``folder`` has them."""
        count = max(1, len(self.numbers))
        mean = self.vectors / count
        save_moments(folder, mean, self.products / count - np.outer(mean, mean))
        save_array(folder / TOKENS_FOLDER / IDF_NAME, inverse_frequencies(self.pieces, len(self.numbers)))

    def _sum(self, chunks: Sequence[StoredChunk], sign: int) -> None:
        if not chunks:
            return
        vectors = round_vectors(np.stack([one.vector for one in chunks])).astype(np.float64)
        self.vectors += sign * vectors.sum(axis=0)
        self.products += sign * (vectors.T @ vectors)
        for one in chunks:
            if one.tokens is not None:
                self.pieces[one.tokens.pieces] += sign


@dataclass(eq=False)
class IngestProgress:
    """The written part of one version: ``copied`` records of the version before, and ``slabs`` of documents.

    ``totals`` count all chunks so far; ``kept`` are doc_ids that stay as they were.
    """

    totals: ChunkTotals
    next_number: int
    copied: int = 0
    slabs: int = 0
    embedded: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    sources: list[SourceRecord] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Write the progress to ``folder``, in one step."""
        new = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        self.totals.save(new)
        state = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "totals"}
        state["sources"] = [asdict(source) for source in self.sources]
        state["failed"] = [[failure.path, failure.error] for failure in self.failed]
        (new / STATE_NAME).write_text(json.dumps(state), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Load the progress from ``folder``, None where there is none that can be read."""
        for place in (folder, folder.with_name(f"{folder.name}.new")):
            try:
                state = json.loads((place / STATE_NAME).read_bytes())
                state["sources"] = [SourceRecord(**source) for source in state["sources"]]
                state["failed"] = [Failure(*failure) for failure in state["failed"]]
                return cls(ChunkTotals.load(place), **state)
            except (OSError, ValueError, KeyError, TypeError, IndexDamaged):
                continue
        return None


def remove_progress(work: Path) -> None:
    """Remove the progress of all versions from the folder ``work``, also of those that were never finished."""
    for state in work.glob(f"*/{STATE_NAME}"):
        shutil.rmtree(state.parent, ignore_errors=True)
