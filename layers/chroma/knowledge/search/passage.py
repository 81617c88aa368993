"""Scores of a chunk's units and words for a question, to highlight them where the chunk is shown.

The score of a unit is sum_i w_i max_j cos(q_i, d_j) over its tokens j, the same late interaction that orders chunks
(``knowledge.search.tokens``). The weight of a word is the highest of its tokens j,
max_i min(idf_i, idf_j) / max idf_i * cos(q_i, d_j): a rare word that matches a rare word of the question weighs most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knowledge.cut.units import END, END_TOKEN, FIRST_TOKEN, KIND, START, UnitKind
from knowledge.model.values import Chunk, Match
from knowledge.search.support import MET

LEAST_WEIGHT = 0.2
"""Least weight of a highlighted word. On SQuAD and COVID FAQ, 91 and 54 % of the words that the question has too reach
it, and less than 1 % of the highlighted words are stop words; with the question's idf alone and .35: 59, 38 and 8 %."""


@dataclass(frozen=True, slots=True)
class Span:
    """The characters ``start`` to ``end`` of a chunk's text, and their ``score`` (0..1)."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class ChunkView:
    """A chunk with its quotable ``units`` in order, and its words that match the question (``matches``).

    Without a question units have the score 0. An index without token vectors has no units and no matches.
    """

    chunk: Chunk
    units: tuple[Span, ...] = ()
    matches: tuple[Span, ...] = ()


def unscored_units(table: NDArray[np.uint16]) -> tuple[Span, ...]:
    """Return the units of a chunk with the score 0; ``table`` is described in ``knowledge.cut.units``."""
    return tuple(Span(int(row[START]), int(row[END]), 0.0) for row in table if row[KIND] != UnitKind.HEADING)


def score_units(match: Match, weights: NDArray[np.float32]) -> tuple[Span, ...]:
    """Return the units of a chunk with their scores; ``weights`` belong to the question's tokens, shape (m,)."""
    spans = []
    for row in match.units.astype(np.int64):
        if row[KIND] != UnitKind.HEADING:
            met = match.similarities[:, row[FIRST_TOKEN] : row[END_TOKEN]].max(axis=1, initial=0)
            spans.append(Span(int(row[START]), int(row[END]), round(float(met.clip(0) @ weights), 4)))
    return tuple(spans)


def matched_words(
    match: Match, asked: NDArray[np.float32], held: NDArray[np.float32], spans: NDArray[np.int32]
) -> tuple[Span, ...]:
    """Return the words of a chunk's text that match the question's tokens.

    ``asked`` is the idf of the question's tokens, shape (m,), ``held`` that of the text's n tokens without the title's,
    shape (n,); ``spans`` are the characters of these, shape (n, 2).
    """
    met = match.similarities[:, match.title_tokens :]
    if met.shape[1] != len(spans) or not met.size:
        return ()
    rarity = np.minimum(asked[:, np.newaxis], held) / np.maximum(asked.max(), np.finfo(np.float32).tiny)
    best = np.where(met >= MET, met * rarity, 0).max(axis=0)
    words: list[Span] = []  # pieces that touch each other, with the weight of the best
    for (start, end), weight in zip(spans.tolist(), best.tolist(), strict=True):
        if words and words[-1].end == start:
            words[-1] = Span(words[-1].start, end, max(words[-1].score, weight))
        else:
            words.append(Span(start, end, weight))
    return tuple(Span(word.start, word.end, round(word.score, 4)) for word in words if word.score >= LEAST_WEIGHT)
