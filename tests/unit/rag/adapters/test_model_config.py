"""rag.adapters.model_config: the waits between calls."""

import pytest

from rag.adapters.model_config import BackoffPolicy


def seed_pause_s(attempt: int, draw: float) -> float:
    return BackoffPolicy(retries=3, base_s=1.0, cap_s=10.0).pause_s(attempt, draw=draw)


@pytest.mark.parametrize(
    ("attempt", "shortest_s", "longest_s"),
    [(1, 1.0, 1.25), (2, 2.0, 2.5), (3, 4.0, 5.0), (4, 8.0, 10.0), (5, 10.0, 10.0), (5000, 10.0, 10.0)],
)
def test_the_seeds_table(attempt: int, shortest_s: float, longest_s: float) -> None:
    assert seed_pause_s(attempt, 0.0) == shortest_s
    assert seed_pause_s(attempt, 1.0) == longest_s


def test_jitter_is_a_share_of_the_delay_at_that_attempt() -> None:
    assert seed_pause_s(3, 0.5) == 4.5
    assert BackoffPolicy(retries=3, base_s=0.5, cap_s=10.0, jitter=1.0).pause_s(2, draw=0.5) == 1.5
