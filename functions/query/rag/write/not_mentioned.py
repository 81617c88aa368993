"""What the documents do not mention of a question: words that none of them has, and no token that was found is near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.model.values import EncodedQuestion, Evidence, Hit
from rag.text.stems import content_stems

WEAK = 2.0
"""Evidence (log odds) less than this above the bar is weak."""
UNMET, WEAKLY_UNMET = 0.5, 0.7
"""A word is met by a token nearer than this, where the evidence is weak by one nearer than the second.

With strong evidence only words are named that the embedding model has in pieces, as it has most names: other words tend
to have a synonym in what was found. Said of .8, .4 and .5 % of answerable questions of ClapNQ, SQuAD and COVID FAQ, of
5.3 % of ClapNQ's unanswerable ones, of 5.0 % of SQuAD's questions whose passage is not in the index. Without the second
bar 2.3 and 3.5 % of these are told, with that alone 4.7 and 4.3 %."""
ENGLISH = "English"
MOST_NAMED = 2
"""So many of the words that are not mentioned are named."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the question: its characters ``start`` to ``end``, in how many ``pieces`` the embedding model has it.

    ``weight`` is its share of the question's, ``covered`` (-1..1) the mean cosine of its pieces with what was found.
    """

    start: int
    end: int
    text: str
    pieces: int
    weight: float
    covered: float


def not_mentioned(evidence: Evidence, hits: Sequence[Hit]) -> tuple[str, ...]:
    """The words of the question that no document of the index has, as the question has them; the heaviest ones.

    A word is not named where a token of ``hits`` is near it, but for a code: "GC-409" is near "GC-999". Words of
    grammar are not named, and of documents in another language than English, whose grammar nobody here knows, only
    codes are. Neighbours are one phrase.
    """
    asked = evidence.asked
    matches = [hit.match for hit in hits if hit.match is not None]
    if not matches or not asked.unknown:
        return ()
    best = np.max([match.similarities.max(axis=1, initial=0) for match in matches], axis=0)
    weak = evidence.bar is not None and evidence.score - evidence.bar < WEAK
    english = evidence.language == ENGLISH
    absent = [word for word in _words(asked, best) if _is_code(word.text) or (english and _is_absent(word, weak=weak))]
    heaviest = sorted(sorted(absent, key=lambda word: -word.weight)[:MOST_NAMED], key=lambda word: word.start)
    return tuple(_phrases(asked.text, heaviest))


def _words(asked: EncodedQuestion, best: np.ndarray) -> Iterator[_Word]:
    starts, ends = asked.spans.T
    for start, end in asked.unknown:
        own = (starts >= start) & (ends <= end) & (ends > starts)
        weights = asked.weights[own]
        covered = float(np.average(best[own], weights=weights)) if weights.sum() > 0 else 1.0
        yield _Word(start, end, asked.text[start:end], int(own.sum()), float(weights.sum()), covered)


def _is_code(text: str) -> bool:
    return text[0].isalpha() and text[-1].isdigit()


def _is_absent(word: _Word, *, weak: bool) -> bool:
    unmet = (weak and word.covered < WEAKLY_UNMET) or (word.pieces > 1 and word.covered < UNMET)
    return unmet and bool(content_stems(word.text))


def _phrases(text: str, words: Sequence[_Word]) -> list[str]:
    phrases: list[str] = []
    end = -1
    for word in words:
        if end >= 0 and text[end : word.start].isspace():
            phrases[-1] += f" {word.text}"
        else:
            phrases.append(word.text)
        end = word.end
    return phrases
