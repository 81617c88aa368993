"""Calibration of a new index by the scores of background questions, which are about other subjects.

They are in the language of most documents: to a model that knows English alone, all questions in another language are
alike. Of 66 German questions to the German part of COVID FAQ the bar of German ones lets .64 through (.85 with those
that it doubts), of 30 about other subjects one (six). That of English ones lets all German questions of XQuAD through,
with an answer or without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from knowledge.model.errors import IndexMismatch
from knowledge.model.values import Chunk, Evidence, TokenEmbedder, VectorEngine, View
from knowledge.search.candidates import HybridIndex, best_rows
from knowledge.search.language import ENGLISH, other_languages
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import LEXICAL_FOLDER, Lexical
from knowledge.search.signals import OTHERS, Calibration
from knowledge.search.vectors import VectorStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix, Vector
    from knowledge.open.opened import ChromaIndex

BACKGROUND = Path(__file__).resolve().parent / "background"
"""Questions that were written for this: a file for each language."""


def background(language: str = ENGLISH) -> list[str]:
    """Return the background questions in ``language``, an English name; in English if there are none in it."""
    file = BACKGROUND / f"{language}.txt"
    return (file if file.exists() else BACKGROUND / f"{ENGLISH}.txt").read_text(encoding="utf-8").splitlines()


def background_scores(index: ChromaIndex) -> list[float]:
    """Return the joined score of each background question in ``index`` now; IndexMismatch: it has no bar."""
    if not index.late or index.manifest is None or index.manifest.calibration is None:
        raise IndexMismatch(
            "The index has no bar of its own: it was made elsewhere, or with a remote embedding model. "
            "Run: ragctl ingest PATH"
        )
    language = str((index.manifest.lexical or {}).get("language", ""))
    found = [index.search([View(text)], k=1).evidence for text in background(language)]
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
    exact = cast(VectorEngine, _ExactEngine(vectors, rows))
    sides = HybridIndex(Lexical(data / LEXICAL_FOLDER, lexical), store, rows, exact)
    late_search = LateInteractionSearch.local(data, sides, embedder)
    by_number = {chunk.number: chunk for chunk in chunks}

    def search(text: str) -> Evidence | None:
        return late_search.search([View(text)], lambda found: [by_number[n] for n in found], k=1, where=None).evidence

    return calibration_of(search, lexical, [chunk.text for chunk in chunks])


def calibration_of(
    search: Callable[[str], Evidence | None], lexical: Mapping[str, object], texts: Sequence[str]
) -> Mapping[str, object]:
    """Return the manifest's calibration of the index of ``texts``, or of a sample, measured by ``search``.

    ``lexical`` is its record of BM25. Each language of whole texts has a calibration, if there are questions in it.
    """
    language = str(lexical.get("language", ""))
    others = [name for name in sorted(other_languages(texts, language)) if (BACKGROUND / f"{name}.txt").exists()]
    own, *other = [_measure(search, background(name)) for name in (language, *others)]
    return {**own, OTHERS: dict(zip(others, other, strict=True))}


def _measure(search: Callable[[str], Evidence | None], questions: Sequence[str]) -> Mapping[str, object]:
    observed = [evidence.signals for evidence in map(search, questions) if evidence is not None]
    return Calibration.of(observed).record(len(observed))


@dataclass(frozen=True, slots=True, eq=False)
class _ExactEngine:
    """A vector engine that compares all vectors; no question here has a filter."""

    vectors: Matrix
    numbers: NDArray[np.int64]

    def nearest(self, vector: Vector, *, k: int) -> list[str]:
        """Return the ids of the ``k`` chunks nearest to ``vector``, by number."""
        rows = best_rows(self.vectors @ vector, np.arange(len(self.vectors)), k)
        return [f"id_{number}" for number in self.numbers[rows].tolist()]
