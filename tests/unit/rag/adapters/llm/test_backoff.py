"""The waits between LLM calls: the Waypoint seed's table, and what servers ask for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.adapters.llm.backoff import backoff_s, retry_after_s

NOON = 1_792_929_600.0  # Sun, 25 Oct 2026 12:00:00 GMT


def seed_backoff_s(attempt: int, draw: float) -> float:
    return backoff_s(attempt, random=lambda: draw, base=1.0, cap=10.0, jitter=0.25)


@pytest.mark.parametrize(
    ("attempt", "shortest_s", "longest_s"),
    [(1, 1.0, 1.25), (2, 2.0, 2.5), (3, 4.0, 5.0), (4, 8.0, 10.0), (5, 10.0, 10.0), (5000, 10.0, 10.0)],
)
def test_the_seeds_table(attempt: int, shortest_s: float, longest_s: float) -> None:
    assert seed_backoff_s(attempt, 0.0) == shortest_s
    assert seed_backoff_s(attempt, 1.0) == longest_s


def test_jitter_is_a_share_of_the_delay_at_that_attempt() -> None:
    assert seed_backoff_s(3, 0.5) == 4.5
    assert backoff_s(2, random=lambda: 0.5, base=0.5, cap=10.0, jitter=1.0) == 1.5


@given(
    attempt=st.integers(1, 3000),
    draw=st.floats(0, 1),
    base=st.floats(0.001, 60),
    cap=st.floats(0.001, 600),
    jitter=st.floats(0, 1),
)
def test_a_delay_stays_between_its_base_and_its_jitter_and_never_passes_the_cap(
    attempt: int, draw: float, base: float, cap: float, jitter: float
) -> None:
    delay_s = backoff_s(attempt, random=lambda: draw, base=base, cap=cap, jitter=jitter)

    least_s = base * 2.0 ** min(attempt - 1, 500)
    assert min(least_s, cap) <= delay_s <= cap
    assert delay_s <= least_s * (1 + jitter) * (1 + 1e-12) or attempt > 501


@pytest.mark.parametrize(
    ("headers", "expected_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Sun, 25 Oct 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun Oct 25 12:00:30 2026"}, 30.0),
        ({"retry-after": "Sun, 25 Oct 2026 11:00:00 GMT"}, 0.0),
        ({}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_retry_after_headers(headers: dict[str, str], expected_s: float | None) -> None:
    assert retry_after_s(headers, now=NOON) == expected_s


@given(st.text())
def test_no_header_value_breaks_the_reading(value: str) -> None:
    delay_s = retry_after_s({"retry-after": value}, now=NOON)

    assert delay_s is None or (delay_s >= 0 and math.isfinite(delay_s))
