"""Ask a new index the background questions, so that it knows how questions about nothing fare in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from knowledge.model.engine import VectorEngine
from knowledge.model.values import Evidence, TokenEmbedder, View
from knowledge.search.candidates import Sides, best_rows
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import LEXICAL_FOLDER, Lexical
from knowledge.search.signals import Calibration
from knowledge.search.vectors import VectorStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix, Vector

BACKGROUND = Path(__file__).resolve().parent.parent / "search" / "background.txt"


def background() -> list[str]:
    """The questions that no knowledge base is about, written for this."""
    return BACKGROUND.read_text(encoding="utf-8").splitlines()


def calibrate(
    data: Path, vectors: Matrix, numbers: Sequence[int], lexical: Mapping[str, object], embedder: TokenEmbedder
) -> Mapping[str, object]:
    """The manifest's calibration of the index in the folder ``data``, which has token vectors.

    ``vectors`` are its chunks', in the order of their ``numbers``; ``lexical`` is the record of its BM25 side. The
    nearest chunks come from the matrix in memory: opening Chroma could change files that are to be hashed.
    """
    rows = np.array(numbers, dtype=np.int64)
    store = VectorStore(data, rows=len(rows), dimensions=embedder.dimensions)
    exact = cast(VectorEngine, _Exact(vectors, rows))  # a search without filters asks it for nothing else
    sides = Sides(Lexical(data / LEXICAL_FOLDER, lexical), store, rows)
    late_search = LateInteractionSearch.local(data, sides, exact, embedder)
    return calibration_of(lambda text: late_search.search([View(text)], k=1, where=None).evidence)


def calibration_of(look: Callable[[str], Evidence | None]) -> Mapping[str, object]:
    """The manifest's calibration of an index that knows so much of a text."""
    found = map(look, background())
    observed = [evidence.signals for evidence in found if evidence is not None]
    return Calibration.of(observed).record(len(observed))


@dataclass(frozen=True, slots=True, eq=False)
class _Exact:
    """What of an engine a search without filters asks for: the nearest chunks, here by comparing all."""

    vectors: Matrix
    numbers: NDArray[np.int64]

    def nearest(self, vector: Vector, *, k: int) -> list[str]:
        """The ids of the ``k`` chunks nearest to ``vector``, by number."""
        rows = best_rows(self.vectors @ vector, np.arange(len(self.vectors)), k)
        return [f"id_{number}" for number in self.numbers[rows].tolist()]
