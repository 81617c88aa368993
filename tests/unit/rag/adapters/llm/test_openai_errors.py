"""rag.adapters: the meaning of a status, the wait that a server asks for, and the waits without one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.adapters.llm.openai_errors import ModelNotFound, Transient, classify_error, retry_after_s
from rag.adapters.model_config import BackoffPolicy
from rag.errors import LlmDenied, RequestRefused

NOON = 1_792_929_600.0  # Sun, 25 Oct 2026 12:00:00 GMT


@pytest.mark.parametrize(
    ("status", "error", "has_retry_after", "verdict"),
    [
        (429, {"code": "rate_limit_exceeded"}, False, Transient),
        (429, {"code": "insufficient_quota"}, False, LlmDenied),
        (408, "a string", False, Transient),
        *((status, None, False, Transient) for status in (409, 500)),
        (413, {}, True, Transient),
        (413, {}, False, RequestRefused),
        (404, {"code": "model_not_found", "message": "gone"}, False, ModelNotFound),
        (400, {"code": "model_decommissioned"}, False, ModelNotFound),
        (404, {"message": "model 'x' not found", "code": None}, False, ModelNotFound),
        (404, {"detail": "Not Found"}, False, LlmDenied),
        (403, {}, True, LlmDenied),
        (400, {"code": "context_length_exceeded"}, False, RequestRefused),
        (400, {"code": ["model_not_found"]}, False, RequestRefused),
        *((status, None, False, LlmDenied) for status in (304, 401, 402)),
    ],
)
def test_verdicts(status: int, error: object, has_retry_after: bool, verdict: type[Exception]) -> None:
    assert classify_error(status, error, has_retry_after=has_retry_after) is verdict


@pytest.mark.parametrize(
    ("headers", "expected_s"),
    [
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


@pytest.mark.parametrize(
    ("attempt", "shortest_s", "longest_s"),
    [(1, 1.0, 1.25), (2, 2.0, 2.5), (3, 4.0, 5.0), (4, 8.0, 10.0), (5, 10.0, 10.0), (5000, 10.0, 10.0)],
)
def test_the_seeds_waits_and_their_jitter(attempt: int, shortest_s: float, longest_s: float) -> None:
    policy = BackoffPolicy(retries=3, base_s=1.0, cap_s=10.0)
    assert [policy.pause_s(attempt, draw=draw) for draw in (0.0, 0.5, 1.0)] == [
        shortest_s, pytest.approx((shortest_s + longest_s) / 2), longest_s
    ]  # fmt: skip
    assert BackoffPolicy(retries=3, base_s=0.5, cap_s=10.0, jitter=1.0).pause_s(2, draw=0.5) == 1.5
