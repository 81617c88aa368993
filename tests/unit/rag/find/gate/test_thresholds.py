"""rag.find.gate.thresholds: do the hits support an answer?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import make_hit

from knowledge.model.values import SearchResult
from rag.find.gate.thresholds import AtLeast, Coverage
from rag.values.answer import Decline, Proceed
from rag.values.question import Question

ASKED = Question(text="Which permit?")


def test_one_hit_is_enough_for_one() -> None:
    hits = (make_hit(),)
    assert AtLeast(1)(SearchResult(hits), ASKED) == Proceed(hits, len(hits))


def test_no_hit_is_a_decline_with_its_reason() -> None:
    assert AtLeast(1)(SearchResult(()), ASKED) == Decline("0 chunks passed the threshold, 1 needed")


def test_one_below_the_bar_is_a_decline() -> None:
    assert AtLeast(2)(SearchResult((make_hit(),)), ASKED) == Decline("1 chunk passed the threshold, 2 needed")


@pytest.mark.parametrize(
    ("top_k", "cosines", "reason"),
    [
        (None, (0.5,), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (None, (0.5, 0.3), None),
        (50, (0.5,), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (1, (0.5,), None),
        (1, (0.3,), None),
        (1, (0.2,), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        (1, (), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
    ],
)
def test_coverage_needs_no_more_chunks_than_were_asked_for(
    top_k: int | None, cosines: tuple[float, ...], reason: str | None
) -> None:
    hits = tuple(make_hit(cosine=cosine) for cosine in cosines)
    decision = Coverage(2, 0.25)(SearchResult(hits), Question(text="Which permit?", top_k=top_k))
    assert decision == (Proceed(hits, len(hits)) if reason is None else Decline(reason))


@pytest.mark.parametrize(
    ("threshold", "cosines", "reason"),
    [
        (None, (0.5,), None),
        (None, (0.5, 0.3), None),
        (None, (0.5, 0.2), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (None, (0.5, 0.3, 0.2), "2 chunks cover the question (cosine >= 0.25), 3 needed"),
        (None, (0.3,), None),
        (None, (0.2,), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        (None, (), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        (0.25, (0.3,), None),
        (0.35, (0.3,), "0 chunks cover the question (cosine >= 0.35), 1 needed"),
    ],
)
def test_coverage_needs_no_more_chunks_than_the_requests_filters_leave(
    threshold: float | None, cosines: tuple[float, ...], reason: str | None
) -> None:
    hits = tuple(make_hit(cosine=cosine) for cosine in cosines)
    filtered = Question(text="Which permit?", threshold=threshold, filters={"category": "permits"})
    decision = Coverage(3, 0.25)(SearchResult(hits), filtered)
    assert decision == (Proceed(hits, len(hits)) if reason is None else Decline(reason))
    if len(hits) < 3:
        assert isinstance(Coverage(3, 0.25)(SearchResult(hits), replace(filtered, filters={})), Decline)
