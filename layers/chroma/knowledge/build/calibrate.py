"""Calibration of a new index by the scores of background questions, which are about other subjects.

They are English: in an index of another language each of its own questions is far above them. There its sentences take
their place, each asked of all other documents. Of 150 questions of XQuAD, and 100 of articles that are left out,
the bar then lets .59 through in German (.87 with those that it doubts) and declines all, in Chinese .94 (.98) and .78.
That of the English questions lets all through in both, and declines .08 and none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from knowledge.cut.quotable import quotable_units
from knowledge.cut.units import UnitKind
from knowledge.model.errors import IndexMismatch
from knowledge.model.values import Chunk, Evidence, TokenEmbedder, VectorEngine, View, Where
from knowledge.search.candidates import HybridIndex, best_rows
from knowledge.search.columns import COLUMNS_FOLDER, Columns
from knowledge.search.language import ENGLISH
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import LEXICAL_FOLDER, Lexical
from knowledge.search.signals import LEXICAL_SHARE, Calibration
from knowledge.search.vectors import VectorStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix, Vector
    from knowledge.open.opened import ChromaIndex

BACKGROUND = Path(__file__).resolve().parent.parent / "search" / "background.txt"
OWN = 400
"""Sentences of an index that are asked, of as many chunks."""
LEAST_DOCUMENTS, LEAST_OWN = 10, 50
"""An index with fewer of them is asked the background questions in whatever language."""
COPIED = 0.5
"""A sentence half of whose words (by idf) another document has in one place is in both, and so is no background. So
are .2 of XQuAD's words at most at a median of .06."""

type Search = Callable[[str, Where | None], Evidence | None]
"""Returns the evidence for a text in an index, or in the part of it within a filter."""


def background() -> list[str]:
    """Return the background questions, which were written for this."""
    return BACKGROUND.read_text(encoding="utf-8").splitlines()


def background_scores(index: ChromaIndex) -> list[float]:
    """Return the joined score of each background question in ``index`` now; IndexMismatch: it has no bar."""
    if not index.late or index.manifest is None or index.manifest.calibration is None:
        raise IndexMismatch(
            "The index has no bar of its own: it was made elsewhere, or with a remote embedding model. "
            "Run: ragctl ingest PATH"
        )
    found = [index.search([View(text)], k=1).evidence for text in background()]
    return [evidence.score for evidence in found if evidence is not None]


def calibrate(
    data: Path, vectors: Matrix, chunks: Sequence[Chunk], lexical: Mapping[str, object], embedder: TokenEmbedder
) -> Mapping[str, object]:
    """Return the manifest's calibration of the index of ``chunks`` in the folder ``data``, which has token vectors.

    ``vectors`` belong to the chunks; ``lexical`` is the record of its BM25 side. The nearest chunks come from the
    matrix in memory: opening Chroma could change files that are to be hashed.
    """
    rows = np.array([chunk.number for chunk in chunks], dtype=np.int64)
    store = VectorStore(data, rows=len(rows), dimensions=embedder.dimensions)
    exact = cast(VectorEngine, _ExactEngine(vectors, rows))  # the columns answer the filters here
    columns = Columns(data / COLUMNS_FOLDER, rows=len(rows))
    sides = HybridIndex(Lexical(data / LEXICAL_FOLDER, lexical), store, rows, exact, columns=columns)
    late_search = LateInteractionSearch.local(data, sides, embedder)
    by_number = {chunk.number: chunk for chunk in chunks}

    def search(text: str, where: Where | None) -> Evidence | None:
        return late_search.search([View(text)], lambda found: [by_number[n] for n in found], k=1, where=where).evidence

    return calibration_of(search, chunks if is_foreign(lexical) else ())


def is_foreign(lexical: Mapping[str, object]) -> bool:
    """Return whether the index with this record of BM25 is in another language than the background questions."""
    return lexical.get("language", "") not in {"", ENGLISH}


def calibration_of(search: Search, own: Sequence[Chunk]) -> Mapping[str, object]:
    """Return the manifest's calibration of an index, measured by ``search``.

    ``own`` are chunks of it whose sentences are asked in place of the background questions, if there are enough.
    """
    observed = [signals for signals in _signals(search, _sentences(own)) if signals[LEXICAL_SHARE] < COPIED]
    if len(observed) < LEAST_OWN:
        observed = list(_signals(search, ((text, None) for text in background())))
    return Calibration.of(observed).record(len(observed))


def _signals(search: Search, questions: Iterator[tuple[str, Where | None]]) -> Iterator[Mapping[str, float]]:
    for text, where in questions:
        if (evidence := search(text, where)) is not None:
            yield evidence.signals


def _sentences(chunks: Sequence[Chunk]) -> Iterator[tuple[str, Where | None]]:
    """Yield a sentence from the middle of each of ``OWN`` chunks, with a filter that excludes its own document."""
    if len({chunk.doc_id for chunk in chunks}) < LEAST_DOCUMENTS:
        return
    for place in np.random.default_rng(0).permutation(len(chunks))[:OWN].tolist():
        chunk = chunks[place]
        units = [unit for unit in quotable_units(chunk.text) if unit.kind is UnitKind.SENTENCE]
        if units:
            middle = units[len(units) // 2]
            yield chunk.text[middle.start : middle.end], {"doc_id": {"$ne": chunk.doc_id}}


@dataclass(frozen=True, slots=True, eq=False)
class _ExactEngine:
    """A vector engine that compares all vectors; columns answer the filters."""

    vectors: Matrix
    numbers: NDArray[np.int64]

    def nearest(self, vector: Vector, *, k: int) -> list[str]:
        """Return the ids of the ``k`` chunks nearest to ``vector``, by number."""
        rows = best_rows(self.vectors @ vector, np.arange(len(self.vectors)), k)
        return [f"id_{number}" for number in self.numbers[rows].tolist()]
