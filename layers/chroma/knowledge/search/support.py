"""The chance that chunks support a claim, computed without a further model.

A logistic regression joins four signals of late interaction and of BM25 (``ClaimComparison.signals``):

    chance = 1 / (1 + exp(-(INTERCEPT + sum_i WEIGHTS_i x signal_i)))

``tools/research/support.py`` fitted the weights; docs/answers.md says how the signals were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from statistics import fmean
from typing import Self

import numpy as np
from numpy.typing import NDArray

from knowledge.cut.units import END, END_TOKEN, FIRST_TOKEN, KIND, START, UnitKind
from knowledge.model.values import Chunk, ChunkSupport, Claim, ClaimSupport, TokenEmbedder
from knowledge.search.candidates import StoredTokens
from knowledge.search.terms import Terms, WordStatistics
from knowledge.search.tokens import QuestionCodes
from knowledge.search.wording import (
    NOT,
    REACH,
    Pair,
    UnitWording,
    Wording,
    find_names,
    find_numbers,
    find_results,
    is_verbatim,
    nearest_unit,
    other_spellings,
    parse_wording,
    unit_wordings,
)

WEIGHTS: Mapping[str, float] = {"together": 3.2, "weakest": 1.6, "names": 0.6, "differences": 0.8}
INTERCEPT = -2.7

SUPPORTED, PARTIAL = 0.5, 0.2
"""Chances from which a claim counts as supported, or as supported in part."""

ABOUT = 0.2
"""A unit with this share of a claim's words is about it: only there a number of a chunk that is not cited counts.

Of ClapNQ's sentences with a number that their passage does not have 93 % are told by it among ten packed passages; 79 %
where any unit counts. Of MTRAG's faithful answers 12 % are marked, and 11 %.
"""
WITHOUT_NUMBER = PARTIAL / 2
"""Highest chance (0..1) of a claim with a number that the chunks do not have."""

WEAKEST, MET = 3, 0.58
"""So many of a claim's tokens, the worst met of its heavier half, make the signal ``weakest``, at most ``MET``.

The same words in another sentence have cosines from .58 to .75 in codes: beyond ``MET`` more tells nothing.
"""


def probability(signals: Mapping[str, float]) -> float:
    """Return the chance (0..1) that a claim with these ``signals`` is supported; hundreds of numbers may be missing."""
    return 1 / (1 + math.exp(-max(-500.0, INTERCEPT + sum(weight * signals[name] for name, weight in WEIGHTS.items()))))


@dataclass(frozen=True, slots=True, eq=False)
class ParsedClaim:
    """A claim prepared for the comparison with chunks.

    ``tokens`` are its own among those of all claims, ``idf`` theirs, ``heavy`` the places of the heavier half. Each
    pair of neighbouring stems has the lower idf of the two in ``pairs``: a common word beside a rare one is not rare.
    ``names`` and ``numbers`` are those that the question does not have, without results of calculations that are shown.
    """

    wording: Wording
    stems: frozenset[str]
    names: frozenset[frozenset[str]]
    numbers: frozenset[str]
    tokens: slice
    idf: NDArray[np.float32]
    heavy: NDArray[np.int64]
    pairs: Mapping[Pair, float]


@dataclass(frozen=True, slots=True, eq=False)
class ChunkWording:
    """The wording of a chunk with title and section, which are the first ``head`` characters.

    ``words`` are all of its words with their stems and other spellings, ``pairs`` the stems in reach of each other.
    """

    wording: Wording
    head: int
    words: frozenset[str]
    pairs: frozenset[Pair]

    @classmethod
    def of(cls, head: str, text: str, terms: Terms) -> Self:
        """Read a chunk; ``head`` is title and section, each with a line end."""
        read = parse_wording(head + text, terms)
        return cls(read, len(head), known_words(head + text, read), read.pairs(REACH))


def known_words(text: str, read: Wording) -> frozenset[str]:
    """Return the words, stems and numbers of a text, in all spellings that a claim may use."""
    return frozenset(read.words).union(read.stems, other_spellings(text))


@dataclass(frozen=True, eq=False)
class ComparedChunk:
    """A chunk beside the m tokens of all claims.

    ``best`` is the cosine of each token's best match in it, shape (m,); ``met`` has the cosines of all of its
    tokens in their order, shape (tokens, m); ``table`` has its u units.
    """

    letters: ChunkWording
    best: NDArray[np.float32]
    met: NDArray[np.float32]
    table: NDArray[np.int64]

    @cached_property
    def near(self) -> NDArray[np.float32]:
        """The best match of each token in each unit: shape (u, m)."""
        if not len(self.table):
            return np.zeros((0, self.met.shape[1]), dtype=np.float32)
        padded = np.vstack([self.met, self.met[:1]])  # an end may be that of the array
        return np.maximum.reduceat(padded, self.table[:, [FIRST_TOKEN, END_TOKEN]].ravel(), axis=0)[::2]

    @cached_property
    def places(self) -> Sequence[UnitWording]:
        """Its units by their words."""
        return unit_wordings(self.letters.wording, self.letters.head, self.table)


class ClaimComparison:
    """Claims, read as one text, and the chunks that they are compared with."""

    def __init__(
        self,
        claims: Sequence[Claim],
        chunks: Sequence[Chunk],
        stored: StoredTokens,
        questions: QuestionCodes,
        lexical: WordStatistics,
        embedder: TokenEmbedder,
        *,
        letters: Callable[[str, str, Terms], ChunkWording],
        question: str,
    ) -> None:
        """``stored`` are the tokens of ``chunks``, at least one; ``letters`` may be cached."""
        self._claims, self._numbers = claims, [chunk.number for chunk in chunks]
        self._years = [str(chunk.dated // 10_000) for chunk in chunks]  # the prompt shows the date of a passage
        joined = "\n".join(claim.text for claim in claims)
        reading = embedder.read(joined)
        firsts = np.cumsum([0, *(len(claim.text) + 1 for claim in claims)])
        cuts = np.searchsorted(reading.spans[:, 0], firsts).tolist()
        idf, codes = questions.idf[reading.pieces], stored.codes
        asked = known_words(question, parse_wording(question, lexical.terms))
        self._read = [
            _parse_claim(claim.text, slice(*bounds), idf, lexical, asked)
            for claim, bounds in zip(claims, pairwise(cuts), strict=True)
        ]
        met = codes.interact(questions.ask(joined, reading), stored.rows)
        self._chunks: list[ComparedChunk] = []
        for place, (chunk, best, row) in enumerate(zip(chunks, met.best(), stored.rows.tolist(), strict=True)):
            wording = letters(f"{chunk.title}\n{chunk.section}\n", chunk.text, lexical.terms)
            table = codes.units.row(row).astype(np.int64)
            table = table[table[:, END_TOKEN] > table[:, FIRST_TOKEN]]  # the units that have a token
            self._chunks.append(ComparedChunk(wording, best, met.of(place)[codes.order.row(row)], table))

    def support(self) -> tuple[ClaimSupport, ...]:
        """Return the support of all chunks for each claim."""
        every = range(len(self._chunks))
        place = {number: place for place, number in enumerate(self._numbers)}
        found = []
        for number, claim in enumerate(self._claims):
            cited = sorted({place[chunk] for chunk in claim.chunks})
            each = tuple(self._alone(number, one) for one in every)
            known = self._words_at(every)
            one = self._read[number]
            missing = [
                *self._missing_numbers(number, every),
                *(min(name, key=len) for name in one.names if known.isdisjoint(name)),
            ]
            own = [self.chance(number, cited), *(each[one].chance for one in cited)] if cited else None
            found.append(
                ClaimSupport(
                    chance=max([self.chance(number, every), *(own or ())]),
                    shared=max(_share(one.stems, chunk.letters.words) for chunk in self._chunks),
                    cited=max(own) if own else None,
                    each=each,
                    missing=tuple(sorted(missing)),
                )
            )
        return tuple(found)

    def chance(self, number: int, places: Sequence[int]) -> float:
        """Return the chance that the chunks of ``places`` together support claim ``number``."""
        chance = probability(self.signals(number, places))
        return min(chance, WITHOUT_NUMBER) if self._missing_numbers(number, places) else chance

    def signals(self, number: int, places: Sequence[int]) -> dict[str, float]:
        """Compare claim ``number`` with the chunks of ``places``, at least one, together.

        - together: share of the idf of its neighbouring stems that stand together there too, in either order
        - weakest: mean cosine of the best matches of three tokens, the worst met of the heavier half by idf, at most
          ``MET``
        - names: less the number of its names that are not in the chunks
        - differences: less the number of its numbers that are not in the unit which shares most of its words, and 1
          for a negation there that it does not have
        """
        one, chunks = self._read[number], [self._chunks[place] for place in places]
        words, years = self._words_at(places), {self._years[place] for place in places}
        apart = [pair for pair in one.pairs if all(c.letters.pairs.isdisjoint((pair, pair[::-1])) for c in chunks)]
        best, total = reduce(np.maximum, (chunk.best[one.heavy] for chunk in chunks)), sum(one.pairs.values())
        return {
            "together": 1 - sum(one.pairs[pair] for pair in apart) / total if total else 0.5,
            "weakest": min(MET, fmean(np.sort(best)[:WEAKEST].tolist())) if len(best) else 0.0,
            "names": -float(sum(words.isdisjoint(name) for name in one.names)),
            "differences": -float(_differences(one, [unit for chunk in chunks for unit in chunk.places], years)),
        }

    def _words_at(self, places: Iterable[int]) -> frozenset[str]:
        return frozenset().union(*(self._chunks[place].letters.words for place in places))

    def _missing_numbers(self, number: int, places: Iterable[int]) -> list[str]:
        """Return the numbers of claim ``number`` that no unit has: of a cited chunk any, of others one about it."""
        one, cited = self._read[number], self._claims[number].chunks
        known: set[str] = set()
        for place in places if one.numbers else ():
            for unit in self._chunks[place].places:
                words = unit.around.union(unit.keys)
                if self._numbers[place] in cited or _share(one.stems, words) >= ABOUT:
                    known |= words | {self._years[place]}
        return sorted(one.numbers - known)

    def _alone(self, number: int, place: int) -> ChunkSupport:
        one, chunk = self._read[number], self._chunks[place]
        keys = one.wording.keys
        verbatim = bool(keys and chunk.places) and is_verbatim(keys, nearest_unit(keys, chunk.places))
        start, end = self._nearest_unit(one, chunk)
        return ChunkSupport(self._numbers[place], self.chance(number, [place]), start, end, verbatim)

    def _nearest_unit(self, one: ParsedClaim, chunk: ComparedChunk) -> tuple[int, int]:
        """Return the characters of the unit that covers most of the claim's idf; none where there are no units.

        A heading is no unit to quote, unless there is nothing else.
        """
        if not len(chunk.table):
            return 0, 0
        scores = chunk.near[:, one.tokens] @ one.idf
        quotable = chunk.table[:, KIND] != UnitKind.HEADING
        unit = int(np.where(quotable, scores, -np.inf if quotable.any() else scores).argmax())
        start, end = chunk.table[unit, [START, END]].tolist()
        return start, end


def _parse_claim(
    text: str, tokens: slice, idf: NDArray[np.float32], lexical: WordStatistics, asked: frozenset[str]
) -> ParsedClaim:
    read, own = parse_wording(text, lexical.terms), idf[tokens]
    heavy = np.flatnonzero(own >= np.median(own)) + tokens.start if len(own) else np.zeros(0, dtype=np.int64)
    return ParsedClaim(
        wording=read,
        stems=frozenset(stem for stem in read.stems if stem and stem != NOT),
        names=frozenset(name for name in find_names(text, lexical.terms) if asked.isdisjoint(name)),
        numbers=find_numbers(text, lexical.terms) - asked - find_results(text),
        tokens=tokens,
        idf=own,
        heavy=heavy,
        pairs={pair: min(map(lexical.idf, pair)) for pair in read.pairs()},
    )


def _share(stems: frozenset[str], words: frozenset[str]) -> float:
    return len(stems & words) / len(stems) if stems else 1.0


def _differences(one: ParsedClaim, places: Sequence[UnitWording], years: Set[str]) -> int:
    numbers = one.numbers - years
    if not places:
        return len(numbers)
    unit = max(
        places,
        key=lambda place: (len(one.stems & place.around.union(place.keys)), len(one.stems.intersection(place.keys))),
    )
    negated = NOT in unit.keys and NOT not in one.wording.stems
    return len(numbers - unit.around.union(unit.keys)) + negated
