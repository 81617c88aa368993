"""Whether chunks bear a statement out, told from what the index holds of them: no model but the embedder.

Six by-products of late interaction and of the BM25 side tell (``StatementComparison.signals``), and one logistic
regression joins them:

    chance = 1 / (1 + exp(-(INTERCEPT + sum_i WEIGHTS_i x signal_i)))

``tools/research/support.py`` fitted the weights; docs/retrieval.md says how the signals were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Self

import numpy as np

from knowledge.cut.quote_spans import END, END_TOKEN, FIRST_TOKEN, KIND, START, Kind
from knowledge.model.claims import Fidelity
from knowledge.search.copied import Place, copied, nearest, places_of
from knowledge.search.wording import NOT, REACH, Negation, Pair, Wording, names, wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Chunk, TokenEmbedder
    from knowledge.search.codes import CodeStore, QuestionCodes
    from knowledge.search.lexical import WordStatistics
    from knowledge.search.pool import StoredTokens
    from knowledge.search.terms import Terms

WEIGHTS: Mapping[str, float] = {
    "weakest": 4.4,
    "names": 0.59,
    "numbers": 2.6,
    "together": 1.6,
    "negated": 1.3,
    "affirmed": 3.5,
}
INTERCEPT = -2.8

SUPPORTED, PARTIAL = 0.6, 0.25
"""Chances from which a statement counts as borne out, or as borne out in part."""

WEAKEST, MET = 3, 0.58
"""So many of a statement's tokens, the worst met of its heavier half, make the signal ``weakest``, at most ``MET``.

The same words in another sentence have cosines from .58 to .75 in codes: beyond ``MET`` more tells nothing.
"""


def probability(signals: Mapping[str, float]) -> float:
    """The chance (0..1) that a statement with these ``signals`` is borne out; hundreds of numbers may be nowhere."""
    return 1 / (1 + math.exp(-max(-500.0, INTERCEPT + sum(weight * signals[name] for name, weight in WEIGHTS.items()))))


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """What is held against passages.

    ``tokens`` are its own among those of all statements, ``idf`` theirs, ``heavy`` the places of the heavier half. Its
    neighbouring stems have each the lower idf of the two in ``pairs``: what stands beside a rare word is not rare for
    that. ``total`` is their sum.
    """

    said: Wording
    names: frozenset[frozenset[str]]
    numbers: frozenset[str]
    tokens: slice
    idf: NDArray[np.float32]
    heavy: NDArray[np.int64]
    pairs: Mapping[Pair, float]
    total: float


@dataclass(frozen=True, slots=True, eq=False)
class Letters:
    """What a chunk says with its title and section, the first ``head`` characters.

    ``words`` are all of its words and their stems, ``pairs`` the stems in reach of each other.
    """

    said: Wording
    head: int
    words: frozenset[str]
    pairs: frozenset[Pair]

    @classmethod
    def of(cls, head: str, text: str, terms: Terms) -> Self:
        """``head`` is title and section, each with a line end."""
        said = wording(head + text, terms)
        return cls(said, len(head), frozenset(said.words).union(said.stems), said.pairs(REACH))

    def together(self, pair: Pair) -> bool:
        """Whether the two stems stand together, in either order."""
        return pair in self.pairs or pair[::-1] in self.pairs


@dataclass(frozen=True, eq=False)
class Passage:
    """A chunk beside the m tokens of all statements.

    ``read`` gives what it says; ``best`` is the cosine of each token's best match in it, shape (m,); ``met`` are those
    of its tokens in their order, (tokens, m); ``table`` has its u units.
    """

    read: Callable[[], Letters]
    best: NDArray[np.float32]
    met: NDArray[np.float32]
    table: NDArray[np.int64]

    @cached_property
    def letters(self) -> Letters:
        """What the chunk says, read when a statement is first held against it."""
        return self.read()

    @cached_property
    def near(self) -> NDArray[np.float32]:
        """The best match of each token in each unit: shape (u, m)."""
        return _within(self.met, self.table[:, [FIRST_TOKEN, END_TOKEN]])

    @cached_property
    def places(self) -> Sequence[Place]:
        """Its units by their words."""
        return places_of(self.letters.said, self.letters.head, self.table)

    def negations(self, unit: int) -> list[Negation]:
        """Those in the unit of that place."""
        start, end = (self.table[unit, [START, END]] + self.letters.head).tolist()
        return [negation for negation in self.letters.said.negations if start <= negation.start < end]


class StatementComparison:
    """Statements, read as one text, and the chunks that they are held against."""

    def __init__(
        self,
        texts: Sequence[str],
        chunks: Sequence[Chunk],
        stored: StoredTokens,
        questions: QuestionCodes,
        lexical: WordStatistics,
        *,
        embedder: TokenEmbedder,
        letters: Callable[[str, str, Terms], Letters] = Letters.of,
    ) -> None:
        """``stored`` is what is kept of ``chunks``, at least one; ``letters`` may know some already."""
        joined = "\n".join(texts)
        reading = embedder.read(joined)
        firsts = np.cumsum([0, *(len(text) + 1 for text in texts)])
        cuts = np.searchsorted(reading.spans[:, 0], firsts).tolist()
        idf, codes = questions.idf[reading.pieces], stored.codes
        self._statements = [
            _statement(text, slice(*bounds), idf, lexical) for text, bounds in zip(texts, pairwise(cuts), strict=True)
        ]
        met = codes.interact(questions.ask(joined, reading), stored.rows)
        read = (partial(letters, f"{c.title}\n{c.section}\n", c.text, lexical.terms) for c in chunks)
        self._passages = [
            Passage(reads, best, met.of(place)[codes.order.row(row)], _units(codes, row))
            for place, (best, row, reads) in enumerate(zip(met.best(), stored.rows.tolist(), read, strict=True))
        ]

    def signals(self, number: int, places: Sequence[int]) -> dict[str, float]:
        """How statement ``number`` stands to the chunks of ``places``, at least one, together.

        - weakest: mean cosine of the best matches of three tokens, the worst met of the heavier half by idf, at most
          ``MET``
        - names: less the number of its names that are not in the chunks
        - numbers: less the number of its numbers that are not
        - together: share of the idf of its neighbouring stems that stand together there too, in either order
        - negated: less the number of its neighbouring stems, one of them a negation, that do not
        - affirmed: less the number of negations in the unit nearest to it, of what it speaks of too, without their like
        """
        one, passages = self._statements[number], [self._passages[place] for place in places]
        words = reduce(frozenset.__or__, (passage.letters.words for passage in passages))
        apart = [pair for pair in one.pairs if not any(passage.letters.together(pair) for passage in passages)]
        best = reduce(np.maximum, (passage.best[one.heavy] for passage in passages))
        return {
            "weakest": min(MET, fmean(np.sort(best)[:WEAKEST].tolist())) if len(best) else 0.0,
            "names": -float(sum(words.isdisjoint(name) for name in one.names)),
            "numbers": -float(len(one.numbers - words)),
            "together": 1 - sum(one.pairs[pair] for pair in apart) / one.total if one.total else 0.5,
            "negated": -float(sum(NOT in pair for pair in apart)),
            "affirmed": -float(sum(_left_out(negation, one.said) for negation in _nearest(passages, one))),
        }

    def copied(self, number: int, place: int) -> Fidelity:
        """How statement ``number`` stands to that unit of a chunk which shares most of its words."""
        own, places = self._statements[number].said.keys, self._passages[place].places
        return copied(own, nearest(own, places)) if own and places else Fidelity.REWORDED

    def nearest(self, number: int, place: int) -> tuple[int, int]:
        """The characters of that unit of a chunk which covers most of the statement's idf; none where it has no units.

        A heading is no unit to quote, unless there is nothing else.
        """
        one, passage = self._statements[number], self._passages[place]
        if not len(passage.table):
            return 0, 0
        scores = passage.near[:, one.tokens] @ one.idf
        quotable = passage.table[:, KIND] != Kind.HEADING
        unit = int(np.where(quotable, scores, -np.inf if quotable.any() else scores).argmax())
        start, end = passage.table[unit, [START, END]].tolist()
        return start, end


def _statement(text: str, tokens: slice, idf: NDArray[np.float32], lexical: WordStatistics) -> Statement:
    said, own = wording(text, lexical.terms), idf[tokens]
    heavy = np.flatnonzero(own >= np.median(own)) + tokens.start if len(own) else np.zeros(0, dtype=np.int64)
    pairs = {pair: min(map(lexical.idf, pair)) for pair in said.pairs()}
    return Statement(said, names(text, lexical.terms), said.numbers, tokens, own, heavy, pairs, sum(pairs.values()))


def _units(codes: CodeStore, row: int) -> NDArray[np.int64]:
    """The row's units that have a token."""
    table = codes.units.row(row).astype(np.int64)
    return table[table[:, END_TOKEN] > table[:, FIRST_TOKEN]]


def _within(similarities: NDArray[np.float32], bounds: NDArray[np.int64]) -> NDArray[np.float32]:
    """The highest of the rows of ``similarities`` in each of ``bounds`` (first, end): shape (len(bounds), m)."""
    if not len(bounds):
        return np.zeros((0, similarities.shape[1]), dtype=np.float32)
    padded = np.vstack([similarities, similarities[:1]])  # an end may be that of the array
    return np.maximum.reduceat(padded, bounds.ravel(), axis=0)[::2]


def _nearest(passages: Sequence[Passage], one: Statement) -> list[Negation]:
    """The negations of that unit which covers most of the statement's idf."""
    best, found = -math.inf, list[Negation]()
    if not any(passage.letters.said.negations for passage in passages):
        return found
    for passage in passages:
        if len(passage.table):
            scores = passage.near[:, one.tokens] @ one.idf
            unit = int(scores.argmax())
            if scores[unit] > best:
                best, found = float(scores[unit]), passage.negations(unit)
    return found


def _left_out(negation: Negation, said: Wording) -> bool:
    like = any(negation.around & other.around for other in said.negations)
    return bool(negation.after) and negation.after in said.stems and not like
