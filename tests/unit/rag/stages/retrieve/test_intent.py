"""rag.stages.retrieve.intent: exact words lean lexical, plain questions lean dense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.retrieve.intent import exactness, intent_weight

TEXTS = st.text(st.sampled_from('abcA1 _-"“”`?'), max_size=60)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("How do I track the time that I spend on a project?", 0.0),
        ("who was the founder of the company", 0.0),
        ("ERR-4711", 1.0),
        ("ERR_TIMEOUT", 1.0),
        ("getUserName", 1.0),
        ("2025-11-20", 1.0),
        ('"balance of the account"', 1.0),
        ("“balance of the account”", 1.0),
        ("`set -e`", 1.0),
        ("error ERR-4711", 0.5),
        ("What does error ERR-4711 mean?", 1 / 5),
        ("What is the treatment for COVID-19?", 1 / 6),
        ('What does "gross mass" mean?', 2 / 5),
        ("When is Form 7 due in 2024?", 2 / 7),
        ("api key", 0.5),  # keywords
        ("permit validity transfer", 0.5),
        ("permit validity transfer fee schedule", 0.0),  # more than four
        ("what permit", 0.0),
        ("", 0.0),
        ("?!", 0.0),
        ('""', 0.0),
        ('say "', 0.5),
    ],
)
def test_exactness(text: str, share: float) -> None:
    assert exactness(text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "weight"),
    [("How do I track time on a project?", 0.7), ("api key", 0.5), ("ERR-4711", 0.3)],
)
def test_the_weight_moves_between_the_base_and_its_mirror(text: str, weight: float) -> None:
    assert intent_weight(text, base=0.7) == pytest.approx(weight)


@given(text=TEXTS, base=st.floats(0, 1))
def test_the_weight_stays_between_base_and_mirror(text: str, base: float) -> None:
    weight = intent_weight(text, base=base)

    assert 0 <= exactness(text) <= 1
    assert min(base, 1 - base) - 1e-9 <= weight <= base + 1e-9
    if base <= 0.5:
        assert weight == base


@given(base=st.floats(0.5, 1))
def test_quoting_never_makes_a_question_lean_more_to_meaning(base: float) -> None:
    weights = [
        intent_weight(text, base=base)
        for text in ("how do I open the gate", 'how do I open the "gate"', '"how do I open the gate"')
    ]

    assert weights == sorted(weights, reverse=True)


def test_ten_thousand_unclosed_quotes_are_no_trap() -> None:
    # Quadratic matching would take minutes.
    for mark in '"“«`':
        assert exactness(mark * 100_001 + "word") in (0.5, 1.0)
