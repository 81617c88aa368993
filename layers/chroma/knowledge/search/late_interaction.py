"""One look at an index, all signals: the candidates of both sides, their windows, and late interaction on the best.

    base(view, chunk)  = cos(question, chunk) + best window's cosine + .05 z(BM25)
    score(view, chunk) = (base + 3 late) / 5                                  late: knowledge.search.codes
    score(chunk)       = sum over views of weight x score / sum of weights

The division leaves a mean cosine, so that a width of .02 between two chunks means the same in every retriever. The
constants were chosen on SQuAD, ClapNQ and COVID FAQ; docs/retrieval.md has a table of what each of them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from knowledge.cut.embedding_text import embed_text, question_text
from knowledge.model.claims import Claim, SupportVerdict
from knowledge.model.engine import VectorEngine
from knowledge.model.values import Chunk, Evidence, Match, TokenEmbedder, View, Where
from knowledge.search.bearing import support
from knowledge.search.candidates import LEAST_STD, Sides
from knowledge.search.codes import CodeStore
from knowledge.search.lexical import LEXICAL_FOLDER
from knowledge.search.passage import ChunkView, met_words, scored_units, units_of
from knowledge.search.ranking import DeepCandidates, rank
from knowledge.search.signals import Calibration
from knowledge.search.support import Letters, StatementComparison
from knowledge.search.views import Blend, EncodedText, TextScores
from knowledge.search.windows import WindowStore
from knowledge.search.words import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix

TOKENS_FOLDER = "tokens"

TOKENS_RECIPE = 1
"""Raise it when what is stored of a chunk's tokens changes: every chunk is then read anew."""

POOL = 50
"""Candidates of each side."""

DEPTH = 20
"""So many of the candidates, the best by ``base``, go into late interaction; more where more are asked for."""

LETTERS = 64
"""So many chunks that statements were held against stay read."""

BM25_WEIGHT = 0.05

RESPELT_WEIGHT = 1.5
"""Of the question with its words as the index spells them, beside the question's own 1."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RankedHits:
    """What a look found, best first: one entry of each a chunk. ``vectors`` are the chunks' own, one a row."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.float32]
    parts: Mapping[str, NDArray[np.float32]]
    vectors: Matrix
    matches: tuple[Match, ...]
    evidence: Evidence | None
    trail: tuple[str, ...] = ()


class LateInteractionSearch:
    """Looks at an index that has token vectors. Safe to use from several threads."""

    def __init__(
        self,
        sides: Sides,
        codes: CodeStore,
        windows: WindowStore,
        words: Words,
        embedder: TokenEmbedder,
        calibration: Calibration | None = None,
    ) -> None:
        """``calibration`` is the index's own; without one the evidence has no bar."""
        self._sides = sides
        self._codes = codes
        self._windows = windows
        self._words = words
        self._embedder = embedder
        self._calibration = calibration
        # The best chunks of a subject come again with every question about it; 64 of them hold some 5 MB.
        self._letters = lru_cache(maxsize=LETTERS)(Letters.of)

    @classmethod
    def open(cls, data: Path, sides: Sides, embedder: TokenEmbedder, calibration: Calibration | None = None) -> Self:
        """The token vectors in the folder ``data``.

        Raises:
            IndexDamaged: a file cannot be used.
        """
        folder, rows, dimensions = data / TOKENS_FOLDER, len(sides.numbers), embedder.dimensions
        codes = CodeStore(folder, rows=rows, dimensions=dimensions, vocabulary=embedder.vocabulary)
        windows = WindowStore(folder, rows=rows, dimensions=dimensions)
        words = Words(data / LEXICAL_FOLDER, sides.lexical, embedder.has)
        return cls(sides, codes, windows, words, embedder, calibration)

    def search(self, engine: VectorEngine, views: Sequence[View], *, k: int, where: Where | None) -> RankedHits:
        """The ``k`` best chunks for the question ``views[0]``, with its other views, within ``where``.

        In a conversation it is read with the turns before it and without: nobody says which questions lean on them. The
        reading counts that the index knows more of.

        Raises:
            SearchFailed: the filter is malformed, or Chroma failed.
        """
        views = [replace(view, text=question_text(view.text)) for view in views]
        views += self._respelt(views[0])
        asked = self._ask(views)
        allowed = self._sides.allowed(engine, where)
        blend = Blend(views, [self._sides.allowed(engine, view.where, within=allowed) for view in views])
        pool = self._pool(engine, asked, blend)
        vectors = self._sides.vectors.rows(pool)
        scores = {text: self._score(one, pool, vectors) for text, one in asked.items()}

        base = blend({text: score.base for text, score in scores.items()}, pool)
        places = np.lexsort((pool, -base))[: max(DEPTH, k)]
        rows = pool[places]
        met = {text: self._codes.interact(one.question, rows) for text, one in asked.items()}
        late = {text: interaction.best() @ interaction.weights for text, interaction in met.items()}
        deep = DeepCandidates(rows=rows, places=places, asked=asked, scores=scores, late=late)

        attainable = self._sides.lexical.attainable
        readings = [rank(deep, one, k, self._calibration, attainable) for one in blend.readings()]
        best = max(readings, key=lambda one: one.known)
        chosen = best.chosen
        return RankedHits(
            numbers=self._sides.numbers[rows[chosen]],
            scores=best.scores,
            parts=best.parts,
            vectors=vectors[places[chosen]],
            matches=tuple(
                self._codes.match(np.hstack([met[text].of(place) for text in asked]), int(rows[place]))
                for place in chosen.tolist()
            ),
            evidence=self._with_language(best.evidence, views[0].text),
            trail=tuple(f"also searched as: {view.text}" for view in views if view.respelt),
        )

    def pieces(self, text: str) -> int:
        """How many word pieces ``text`` has."""
        return self._embedder.count(text)

    def support(
        self, claims: Sequence[Claim], chunks: Sequence[Chunk], among: Sequence[int]
    ) -> tuple[SupportVerdict, ...]:
        """See ``Index.support``; ``chunks`` are all that are cited, and those ``among``."""
        if not chunks:
            return tuple(SupportVerdict(None, ()) for _ in claims)
        held = self.held([claim.text for claim in claims], chunks)
        return support(claims, {chunk.number: place for place, chunk in enumerate(chunks)}, among, held)

    def view(self, chunk: Chunk, question: str | None) -> ChunkView:
        """``chunk`` as somebody looks at it who asked ``question``, or nothing."""
        row = int(np.searchsorted(self._sides.numbers, chunk.number))
        if question is None:
            return ChunkView(chunk, units_of(self._codes.units.row(row)))
        question = question_text(question)
        reading = self._embedder.read(question)
        asked = self._codes.ask(question, reading)
        match = self._codes.match(self._codes.interact(asked, np.array([row])).of(0), row)
        whole = embed_text(chunk.title, chunk.text)
        before = len(whole) - len(chunk.text)
        held = self._embedder.read(whole)
        own = held.spans[:, 0] >= before
        idf = self._codes.idf
        words = met_words(match, idf[reading.pieces], idf[held.pieces[own]], held.spans[own] - before)
        return ChunkView(chunk, scored_units(match, asked.asked.weights), words)

    def held(self, texts: Sequence[str], chunks: Sequence[Chunk]) -> StatementComparison:
        """The statements ``texts`` against ``chunks``, at least one."""
        rows = np.searchsorted(self._sides.numbers, [chunk.number for chunk in chunks]).tolist()
        placed = list(zip(rows, chunks, strict=True))
        return StatementComparison(texts, placed, self._codes, self._sides.lexical, self._embedder, self._letters)

    def _with_language(self, evidence: Evidence | None, question: str) -> Evidence | None:
        foreign, language = self._words.foreign(question), self._sides.lexical.language
        return replace(evidence, foreign=foreign, language=language) if evidence else None

    def _respelt(self, asked: View) -> Iterator[View]:
        text = self._words.respelt(asked.text)
        if text != asked.text:
            yield View(text, RESPELT_WEIGHT, respelt=True)

    def _ask(self, views: Sequence[View]) -> dict[str, EncodedText]:
        """Each different text of ``views``, the question first; a view within a filter adds no weight to its text."""
        weights: dict[str, float] = {}
        for view in views:
            weights[view.text] = weights.get(view.text, 0.0) + (view.weight if view.where is None else 0.0)
        lexical, unknown = self._sides.lexical, self._words.unknown
        return {
            text: EncodedText(
                self._codes.ask(text, self._embedder.read(text), unknown(text)), lexical.scores(text), weight
            )
            for text, weight in weights.items()
        }

    def _pool(self, engine: VectorEngine, asked: Mapping[str, EncodedText], blend: Blend) -> NDArray[np.int64]:
        """The rows, ascending, that any view finds on either side."""
        found = []
        for view, admitted in zip(blend.views, blend.admitted, strict=True):
            one = asked[view.text]
            found.append(self._sides.pool(engine, one.question.asked.vector, one.bm25, admitted, k=POOL))
        return np.unique(np.concatenate(found)) if len(found) > 1 else found[0]

    def _score(self, asked: EncodedText, rows: NDArray[np.int64], vectors: Matrix) -> TextScores:
        vector = asked.question.asked.vector
        dense = np.clip(vectors @ vector, -1, 1)
        window = self._windows.best(rows, vector)
        bm25 = asked.bm25[rows]
        z = (bm25 - asked.bm25.mean(dtype=np.float64)) / max(float(asked.bm25.std(dtype=np.float64)), LEAST_STD)
        return TextScores(dense, window, bm25, (dense + window + BM25_WEIGHT * z).astype(np.float32))
