"""Matches and evidence as an index would give them, made of words: equal words meet, others do not."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from knowledge.cut.quotable import quotable_units
from knowledge.cut.units import unit_table
from knowledge.model.values import EncodedQuestion, Evidence, Hit, Match
from knowledge.search.signals import WEIGHTS

_WORD = re.compile(r"\w+")
MET, UNMET = 0.9, 0.2


def make_asked(question: str, *, unknown: tuple[str, ...] = (), **weights: float) -> EncodedQuestion:
    """The words of ``question``; ``weights`` are their shares before they are made to sum to 1, .1 where not said.

    The index has all but those that are ``unknown``.
    """
    words = list(_WORD.finditer(question))
    shares = np.array([weights.get(word[0].casefold(), 0.1) for word in words], dtype=np.float32)
    spans = np.array([word.span() for word in words], dtype=np.int32).reshape(-1, 2)
    return EncodedQuestion(
        text=question,
        vector=np.zeros(4, np.float32),
        spans=spans,
        weights=shares / max(float(shares.sum()), 1e-9),
        unknown=tuple((question.index(word), question.index(word) + len(word)) for word in unknown),
    )


def make_evidence(
    question: str, *, score: float = 0.7, bar: float | None = 0.3, unknown: tuple[str, ...] = (), **weights: float
) -> Evidence:
    """What an index knows of ``question``; ``unknown`` and ``weights`` as in ``make_asked``."""
    return Evidence(
        asked=make_asked(question, unknown=unknown, **weights),
        signals=dict.fromkeys(WEIGHTS, score),
        score=score,
        bar=bar,
        language="English",
        asked_in="English",
    )


def matched(hit: Hit, question: str, *, near: Mapping[str, float] | None = None) -> Hit:
    """``hit`` with its match: a word's cosine is ``MET`` with the same word, else ``UNMET``, or what ``near`` says."""
    chunk = hit.chunk
    title = f"{chunk.title}\n"
    tokens = list(_WORD.finditer(title + chunk.text))
    spans = np.array([token.span() for token in tokens], dtype=np.int32).reshape(-1, 2)
    asked = [word.casefold() for word in _WORD.findall(question)]
    rows = [
        [MET if token[0].casefold() == word else (near or {}).get(token[0].casefold(), UNMET) for token in tokens]
        for word in asked
    ]
    match = Match(
        similarities=np.array(rows, dtype=np.float32).reshape(len(asked), len(tokens)),
        units=unit_table(quotable_units(chunk.text), spans, len(title)),
        title_tokens=len(_WORD.findall(title)),
    )
    return replace(hit, match=match)
