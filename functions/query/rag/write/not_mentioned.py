"""What the documents do not mention of a question: words that none of them has, and no token that was found is near."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knowledge.model.values import Evidence, Hit
from rag.text.stems import content_stems

WEAK, UNMET, LEAST_WEIGHT = 2.0, 0.7, 0.2
"""A word is named if the evidence (log odds) is less than ``WEAK`` above the bar, no token that was found is as near as
``UNMET``, and the word has more than ``LEAST_WEIGHT`` of the question's weight.

Said of 6 of 934 right answers and of 20 of 169 unanswerable questions (four samples, two sites, SQuAD, ClapNQ); without
the weight of 41 and 26, most of them for words such as "got", "boss" and "him"."""
ENGLISH = "English"
MOST_NAMED = 2
"""So many of the words that are not mentioned are named."""


def not_mentioned(evidence: Evidence, hits: Sequence[Hit]) -> tuple[str, ...]:
    """Return the words of the question that no document of the index has, as the question has them; the heaviest ones.

    A word is not named where a token of ``hits`` is near it, but for a code: "GC-409" is near "GC-999". Words of
    grammar are not named, and of documents in another language than English, whose grammar nobody here knows, only
    codes are. Neighbours are one phrase.
    """
    asked = evidence.asked
    matches = [hit.match for hit in hits if hit.match is not None]
    if not matches or not asked.unknown:
        return ()
    best = np.max([match.similarities.max(axis=1, initial=0) for match in matches], axis=0)
    is_weak = evidence.bar is not None and evidence.score - evidence.bar < WEAK and evidence.language == ENGLISH
    starts, ends = asked.spans.T
    weights: dict[tuple[int, int], float] = {}
    for start, end in asked.unknown:
        word = asked.text[start:end]
        own = (starts >= start) & (ends <= end) & (ends > starts)
        weight = float(asked.weights[own].sum())
        is_unmet = weight > LEAST_WEIGHT and float(best[own] @ asked.weights[own]) < UNMET * weight
        if (word[0].isalpha() and word[-1].isdigit()) or (is_weak and is_unmet and content_stems(word)):
            weights[start, end] = weight
    heaviest = sorted(weights, key=lambda place: -weights[place])[:MOST_NAMED]
    return tuple(_phrases(asked.text, sorted(heaviest)))


def _phrases(text: str, places: Sequence[tuple[int, int]]) -> list[str]:
    phrases: list[str] = []
    before = -1
    for start, end in places:
        if before >= 0 and text[before:start].isspace():
            phrases[-1] += f" {text[start:end]}"
        else:
            phrases.append(text[start:end])
        before = end
    return phrases
