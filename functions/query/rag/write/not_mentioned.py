"""Find the words of a question that the documents do not mention, by their words and the tokens of the hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge.model.values import EncodedQuestion, Evidence, Hit
from knowledge.search.language import ENGLISH
from rag.text.stems import content_stems

WEAK, UNMET, LEAST_WEIGHT = 2.0, 0.7, 0.2
"""A word is named if the evidence (log odds) is less than ``WEAK`` above the bar, no token of the hits is as near as
``UNMET``, and the word has more than ``LEAST_WEIGHT`` of the question's weight.

This names words for 6 of 934 right answers and of 20 of 169 unanswerable questions (four samples, two sites, SQuAD,
ClapNQ); without the weight of 41 and 26, most of them for words such as "got", "boss" and "him"."""
MOST_NAMED = 2
"""Most words that are named."""


def not_mentioned(evidence: Evidence, hits: Sequence[Hit]) -> tuple[str, ...]:
    """Return the heaviest words of the question that no document of the index has, as written in the question.

    A code is always named: "GC-409" is near "GC-999". Words of grammar are not named; of a question in another language
    than English, or for documents in one, only codes are. Neighbours form one phrase.
    """
    asked = evidence.asked
    matches = [hit.match for hit in hits if hit.match is not None]
    if not matches or not asked.unknown:
        return ()
    best = np.max([match.similarities.max(axis=1, initial=0) for match in matches], axis=0)
    is_english = evidence.language == ENGLISH == evidence.asked_in
    is_weak = is_english and evidence.bar is not None and evidence.score - evidence.bar < WEAK
    years = {str(hit.chunk.dated // 10_000) for hit in hits}
    unknown = [place for place in asked.unknown if asked.text[slice(*place)] not in years]
    weights = {place: weight for place in unknown if (weight := _weight(asked, place, best, is_weak=is_weak))}
    return _phrases(asked.text, weights)


def _phrases(text: str, weights: Mapping[tuple[int, int], float]) -> tuple[str, ...]:
    """Return the heaviest words of ``text``, each once, neighbours as one phrase."""
    heaviest = {text[slice(*place)].casefold(): place for place in sorted(weights, key=lambda place: weights[place])}
    phrases: list[str] = []
    before = -1
    for start, end in sorted([*heaviest.values()][-MOST_NAMED:]):
        is_joined = bool(phrases) and text[before:start].isspace()
        phrases[-1:] = [f"{phrases[-1]} {text[start:end]}"] if is_joined else [*phrases[-1:], text[start:end]]
        before = end
    return tuple(phrases)


def _weight(asked: EncodedQuestion, place: tuple[int, int], best: NDArray[Any], *, is_weak: bool) -> float:
    """Return the weight of the unknown word at ``place``, 0 if it is not named; ``best``: similarity by piece."""
    word = asked.text[slice(*place)]
    own = (asked.spans[:, 0] >= place[0]) & (asked.spans[:, 1] <= place[1]) & (asked.spans[:, 0] < asked.spans[:, 1])
    weight = float(asked.weights[own].sum())
    is_unmet = weight > LEAST_WEIGHT and float(best[own] @ asked.weights[own]) < UNMET * weight
    is_code = word[0].isalpha() and word[-1].isdigit()
    return max(weight, 1e-9) if is_code or (is_weak and is_unmet and content_stems(word)) else 0.0
