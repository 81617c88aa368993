"""rag.adapters.llm.openai_completion: whole bodies."""

import json

import pytest
from fakes_llm import completion
from hypothesis import given
from hypothesis import strategies as st

from rag.adapters.llm.openai_completion import read_completion
from rag.errors import LlmFailed
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
