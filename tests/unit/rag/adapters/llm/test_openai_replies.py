"""rag.adapters: whole completions, the meaning of a status, the wait that a server asks for, and those without one."""

import json
import math

import pytest
from fakes_llm import completion
from hypothesis import given
from hypothesis import strategies as st

from rag.adapters.llm.openai_completion import read_completion
from rag.adapters.llm.openai_errors import ModelNotFound, Transient, classify_error, retry_after_s
from rag.adapters.model_config import BackoffPolicy
from rag.errors import LlmDenied, LlmFailed, RequestRefused
from rag.values.chat import Completion, Usage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["choices", "message", "content", "usage"]), inner),
    max_leaves=12,
)


def test_a_whole_completion_is_read() -> None:
    body = json.dumps(completion("Yes. [Permits]", model="m-2026", finish_reason="length")).encode()
    assert read_completion(body, model="m") == Completion(
        text="Yes. [Permits]", model="m-2026", requested_model="m", finish_reason="length", usage=Usage(12, 5, 17)
    )


@pytest.mark.parametrize(
    "usage",
    [{"prompt_tokens": 1, "completion_tokens": 2}, {"prompt_tokens": None, "completion_tokens": 2, "total_tokens": 3}],
)
def test_usage_without_all_its_counts_is_none(usage: object) -> None:
    body = json.dumps({**completion("x"), "usage": usage}).encode()
    assert read_completion(body, model="m").usage is None


def test_what_a_spare_completion_leaves_out_is_none_or_the_request_s() -> None:
    body = b'{"choices": [{"message": {"content": "x"}}]}'
    assert read_completion(body, model="asked") == Completion(text="x", model="asked", requested_model="asked")


def test_the_first_choice_is_the_one_with_the_number_0_and_a_list_of_parts_is_its_text() -> None:
    parts = [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "Yes"}, {"type": "text", "text": "."}]
    choices = [{"index": 1, "message": {"content": "No."}}, {"index": 0, "message": {"content": parts}}]
    assert read_completion(json.dumps({"choices": choices}).encode(), model="m").text == "Yes."


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b"null",
        b'{"choices": []}',
        b'{"choices": [{"message": {}}]}',
        b'{"choices": [{"message": {"content": " \\n"}}]}',
        b'{"choices": [{"message": {"content": [{"type": "thinking", "thinking": "x"}, {"text": "x"}, "x"]}}]}',
        b"[" * 200_000,
    ],
    ids=lambda body: body[:48].decode(errors="replace"),
)
def test_what_is_no_completion_is_unreadable(body: bytes) -> None:
    with pytest.raises(LlmFailed, match="Unreadable completion"):
        read_completion(body, model="m")


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        *((told, "stop") for told in ("stop", "EOS", "eos_token", "stop_sequence", "end_turn", "complete")),
        *((told, "length") for told in ("length", "MAX_TOKENS")),
        ("Bearer sk-of-the-operator", "interrupted"),
        ("", None),
        (None, None),
        (["stop"], None),
    ],
)
def test_a_finish_reason_is_one_of_the_service_s_words(told: object, reason: str | None) -> None:
    body = {"choices": [{"message": {"content": "Yes."}, "finish_reason": told}]}
    made = read_completion(json.dumps(body).encode(), model="m")
    assert (made.finish_reason, made.partial) == (reason, reason in {"length", "interrupted"})


@pytest.mark.parametrize(
    ("content", "text", "reason"),
    [
        ("<think>The user asks.</think>Yes.", "Yes.", "length"),
        ("Yes.<|im_end|>\n<|im_start|>user\nMore?", "Yes.", "stop"),
        ("Yes. " + "I'm sorry. " * 99, "Yes. I'm sorry. I'm sorry.", "length"),
    ],
    ids=["reasoning", "another turn", "a loop"],
)
def test_what_is_left_out_says_why_the_text_ends(content: str, text: str, reason: str) -> None:
    body = json.dumps(completion(content, finish_reason="length")).encode()
    made = read_completion(body, model="m")
    assert (made.text, made.finish_reason) == (text, reason)


@pytest.mark.parametrize("content", ["<think>" * 100_000, "\u200b", "..."])
def test_reasoning_and_blanks_alone_are_no_completion(content: str) -> None:
    with pytest.raises(LlmFailed, match="no text"):
        read_completion(json.dumps(completion(content)).encode(), model="m")


@given(JSON)
def test_any_json_is_read_or_unreadable(data: object) -> None:
    try:
        text = read_completion(json.dumps(data).encode(), model="m").text
    except LlmFailed:
        return
    assert text.strip()


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
