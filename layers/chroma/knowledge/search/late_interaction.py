"""The search of an index by all signals: candidates of vectors and BM25, windows, late interaction on the best.

    base(view, chunk)  = cos(question, chunk) + best window's cosine + .05 z(BM25)
    score(view, chunk) = (base + 3 late) / 5                                  late: knowledge.search.tokens
    score(chunk)       = sum over views of weight x score / sum of weights

The division leaves a mean cosine, so that a width of .02 between two chunks means the same in every retriever. The
constants were chosen on SQuAD, ClapNQ and COVID FAQ; docs/evidence/retrieval.md has a table of what each of them does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np

from knowledge.embedding import embed_text, question_text
from knowledge.model.values import Chunk, Claim, ClaimSupport, Evidence, Hit, SearchResult, TokenEmbedder, View, Where
from knowledge.search.candidates import LEAST_STD, HybridIndex, LocalPassageSource, PassageSource, Pool
from knowledge.search.language import languages_of
from knowledge.search.lexical import LEXICAL_FOLDER
from knowledge.search.passage import ChunkView, matched_words, score_units, unscored_units
from knowledge.search.ranking import TextScores, ViewWeights, rank
from knowledge.search.signals import Calibration
from knowledge.search.support import ChunkWording, ClaimComparison
from knowledge.search.terms import WordStatistics
from knowledge.search.tokens import CodeStore, QuestionCodes, WindowStore
from knowledge.search.words import Words

TOKENS_FOLDER = "tokens"

DEPTH = 20
"""Candidates, the best by ``base``, that late interaction scores; ``k`` if that is more."""

LETTERS = 64
"""Chunks whose wording stays cached, some 5 MB: the best of a subject come again with every question about it."""

BM25_WEIGHT, SPELT_WEIGHT = 0.05, 0.5
"""Weights of BM25 beside a cosine; the second if most of the index is not in Latin script, which the embedding model
has letter by letter. nDCG@10 on XQuAD at .05, .3 and .5: Thai .316, .937, .955, Chinese .798, .969, .967, Arabic
.494, .905, .922, Russian .842, .927, .934; but Spanish .972, .962, .959, German .947, .946, .943."""

RESPELT_WEIGHT = 1.5
"""Weight of the question in the index's spelling, beside the question's own 1."""


class LateInteractionSearch:
    """The search of an index with token vectors. Safe to use from several threads."""

    def __init__(
        self,
        source: PassageSource,
        data: Path,
        lexical: WordStatistics,
        embedder: TokenEmbedder,
        calibration: Calibration | None = None,
    ) -> None:
        """Open the files of the whole index in the folder ``data``; IndexDamaged: one cannot be used.

        ``calibration`` is the index's own; without one the evidence has no bar.
        """
        self._source = source
        self._questions = QuestionCodes.open(
            data / TOKENS_FOLDER, dimensions=embedder.dimensions, vocabulary=embedder.vocabulary
        )
        self._lexical = lexical
        self._bm25_weight = BM25_WEIGHT if lexical.latin else SPELT_WEIGHT
        self._words = Words(data / LEXICAL_FOLDER, lexical, embedder.has)
        self._embedder = embedder
        self._calibration = calibration
        self._letters = lru_cache(maxsize=LETTERS)(ChunkWording.of)

    @classmethod
    def local(
        cls, data: Path, sides: HybridIndex, embedder: TokenEmbedder, calibration: Calibration | None = None
    ) -> Self:
        """Open an index of arrays in the folder ``data``; IndexDamaged: it cannot be used."""
        folder, rows = data / TOKENS_FOLDER, len(sides.numbers)
        codes = CodeStore.open(folder, rows=rows)
        windows = WindowStore.open(folder, rows=rows, dimensions=embedder.dimensions)
        return cls(LocalPassageSource(sides, codes, windows), data, sides.lexical, embedder, calibration)

    def search(
        self, views: Sequence[View], fetch: Callable[[Sequence[int]], Sequence[Chunk]], *, k: int, where: Where | None
    ) -> SearchResult:
        """Return the ``k`` best chunks for the question ``views[0]``, with its other views, within ``where``.

        ``fetch`` returns the chunks of the given numbers, in that order. In a conversation a question is ranked with
        the turns before it and without, as it may depend on them: the ranking with more evidence counts. SearchFailed:
        the filter is malformed, or Chroma failed.
        """
        views = [replace(view, text=question_text(view.text)) for view in views]
        respelt = self._words.correct_spelling(views[0].text)
        trail: tuple[str, ...] = ()
        if respelt != views[0].text:
            views.append(View(respelt, RESPELT_WEIGHT, respelt=True))
            trail = (f"also searched as: {respelt}",)
        pool, texts = self._score_pool(views, where)
        blend = ViewWeights(views, pool.admitted)
        base = blend({text: one.base for text, one in texts.items()})
        places = np.lexsort((pool.numbers, -base))[: max(DEPTH, k)]
        codes, rows = pool.tokens.codes, pool.tokens.rows[places]
        met = {text: codes.interact(one.question, rows) for text, one in texts.items()}
        texts = {text: replace(one, late=met[text].best() @ met[text].weights) for text, one in texts.items()}

        best_score, asked = self._lexical.max_score, languages_of(views[0].text)
        calibration = self._calibration
        if calibration and self._lexical.language not in asked:
            calibration = calibration.of_question(asked)
        readings = [
            rank(texts, places, one, k=k, calibration=calibration, max_score=best_score) for one in blend.readings()
        ]
        best = max(readings, key=lambda one: one.evidence.score if one.evidence else -np.inf)
        chunks = fetch(pool.numbers[places[best.chosen]].tolist())
        hits = [
            Hit(
                chunk=chunk,
                score=score,
                parts={name: float(values[order]) for name, values in best.parts.items()},
                vector=pool.vectors[places[place]],
                match=codes.match(np.hstack([one.of(place) for one in met.values()]), int(rows[place])),
            )
            for order, (chunk, score, place) in enumerate(
                zip(chunks, best.scores.tolist(), best.chosen.tolist(), strict=True)
            )
        ]
        evidence = self._add_languages(best.evidence, views[0].text, asked, chunks) if best.evidence else None
        return SearchResult(tuple(hits), evidence, trail)

    def _add_languages(
        self, evidence: Evidence, question: str, asked: frozenset[str], chunks: Sequence[Chunk]
    ) -> Evidence:
        """Return ``evidence`` with the language of the documents and, if it may be ``asked``, of the ``question``."""
        language, is_foreign = self._lexical.language, self._words.is_foreign(question)
        if language and not is_foreign:
            return replace(evidence, language=language, asked_in=language)
        shared = asked.intersection(name for chunk in chunks for name in languages_of(chunk.text))
        asked_in = min(shared or asked, default="")
        return replace(evidence, language=language, foreign=is_foreign and not shared, asked_in=asked_in)

    def language_unlike(self, text: str) -> str:
        """See ``ChromaIndex.language_unlike``."""
        return self._lexical.language if self._words.is_foreign(text) else ""

    def pieces(self, text: str) -> int:
        """Count the word pieces of ``text``."""
        return self._embedder.count(text)

    def support(self, claims: Sequence[Claim], chunks: Sequence[Chunk], question: str) -> tuple[ClaimSupport, ...]:
        """See ``ChromaIndex.support``; ``chunks`` are all that the claims cite, and the others to compare them with."""
        if not chunks:
            return tuple(ClaimSupport(0.0, 0.0) for _ in claims)
        return self.comparison(claims, chunks, question).support()

    def view(self, chunk: Chunk, question: str | None) -> ChunkView:
        """Return ``chunk`` with its units and words scored for ``question``, if there is one."""
        stored = self._source.tokens([chunk.number])
        codes, row = stored.codes, int(stored.rows[0])
        if question is None:
            return ChunkView(chunk, unscored_units(codes.units.row(row)))
        question = question_text(question)
        reading = self._embedder.read(question)
        asked = self._questions.ask(question, reading)
        match = codes.match(codes.interact(asked, stored.rows).of(0), row)
        whole = embed_text(chunk.title, chunk.text)
        before = len(whole) - len(chunk.text)
        held = self._embedder.read(whole)
        own = held.spans[:, 0] >= before
        idf = self._questions.idf
        words = matched_words(match, idf[reading.pieces], idf[held.pieces[own]], held.spans[own] - before)
        return ChunkView(chunk, score_units(match, asked.asked.weights), words)

    def comparison(self, claims: Sequence[Claim], chunks: Sequence[Chunk], question: str = "") -> ClaimComparison:
        """Compare ``claims`` with ``chunks``, at least one."""
        stored = self._source.tokens([chunk.number for chunk in chunks])
        embedder, letters = self._embedder, self._letters
        return ClaimComparison(
            claims, chunks, stored, self._questions, self._lexical, embedder, letters=letters, question=question
        )

    def _score_pool(self, views: Sequence[View], where: Where | None) -> tuple[Pool, dict[str, TextScores]]:
        """Return the pool and, for each different text of ``views``, its scores before late interaction."""
        weights: dict[str, float] = defaultdict(float)
        for view in views:
            weights[view.text] += view.weight if view.where is None else 0.0  # a filtered view adds none to its text
        ask, read, unknown = self._questions.ask, self._embedder.read, self._words.find_unknown
        questions = {text: ask(text, read(text), unknown(text)) for text in weights}
        pool = self._source.pool({text: one.asked.vector for text, one in questions.items()}, views, where)
        texts: dict[str, TextScores] = {}
        for text, question in questions.items():
            vector, bm25 = question.asked.vector, pool.bm25[text]
            dense = np.clip(pool.vectors @ vector, -1, 1)
            window = pool.tokens.windows.best(pool.tokens.rows, vector)
            z = (bm25.values - bm25.mean) / max(bm25.std, LEAST_STD)
            texts[text] = TextScores(
                question=question,
                weight=weights[text],
                dense=dense,
                window=window,
                bm25=bm25.values,
                base=(dense + window + self._bm25_weight * z).astype(np.float32),
                late=np.empty(0, dtype=np.float32),
            )
        return pool, texts
