"""The LLM adapter while the model writes: text as it comes, and what ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from fakes_llm import MODEL, Exchange, LlmServer, Step, drip, error, model_not_found, only_models, reply

from rag.adapters.llm.openai_chat import ChatConfig, OpenAiChat
from rag.errors import ClientGone, LlmFailed, LlmUnavailable
from rag.values.answer import Deadline, Message, Usage

MESSAGES = (Message("user", "What needs a permit?"),)
WAIT_S = 60.0


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def deadline() -> Deadline:
    return Deadline.after(WAIT_S, time.monotonic)


@pytest.fixture
def chat_of() -> Iterator[Callable[[LlmServer], OpenAiChat]]:
    made: list[OpenAiChat] = []

    def make(server: LlmServer, retries: int = 3) -> OpenAiChat:
        settings = ChatConfig(
            base_url=server.url,
            api_key=lambda: "sk-test",
            model="first",
            fallback_models=("second",),
            temperature=0.3,
            max_tokens=500,
            connect_timeout_s=5,
            read_timeout_s=WAIT_S,
            retries=retries,
            backoff_base_s=0.001,
            backoff_cap_s=0.002,
        )
        made.append(OpenAiChat(settings))
        return made[-1]

    yield make
    for chat in made:
        chat.reset()


def test_each_text_is_passed_on_before_the_next_is_written(
    chat_of: Callable[..., OpenAiChat], deadline: Deadline
) -> None:
    first, second = threading.Event(), threading.Event()
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.extend([text] if text else [])
        {"Yes, ": first, "a permit": second}.get(text, threading.Event()).set()

    with LlmServer([drip("Yes, ", first, "a permit", second, " is needed.")]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=hear)
        assert server.requests[0].json["stream"] is True
    assert heard == ["Yes, ", "a permit", " is needed."]
    assert (made.text, made.model, made.finish_reason) == ("Yes, a permit is needed.", MODEL, "stop")
    assert made.usage == Usage(prompt_tokens=12, completion_tokens=5, total_tokens=17)
    assert (made.calls, made.retries) == (1, 0)


def test_without_a_listener_nothing_is_streamed(chat_of: Callable[..., OpenAiChat], deadline: Deadline) -> None:
    with LlmServer([reply("Yes.")]) as server:
        chat_of(server).complete(MESSAGES, deadline=deadline)
        assert "stream" not in server.requests[0].json


def test_a_listener_that_has_gone_ends_the_call(chat_of: Callable[..., OpenAiChat], deadline: Deadline) -> None:
    """The connection closes although the model would write on: its next write fails."""
    ended = threading.Event()

    def endless(exchange: Exchange) -> None:
        try:
            drip("Yes", *[" and" for _ in range(20_000)])(exchange)
            exchange.handler.connection.settimeout(WAIT_S)
            assert exchange.handler.connection.recv(1) == b""
        except OSError:
            pass
        ended.set()

    def leave(text: str) -> None:
        if text:
            raise ClientGone

    with LlmServer([endless]) as server:
        with pytest.raises(ClientGone):
            chat_of(server).complete(MESSAGES, deadline=deadline, on_text=leave)
        assert ended.wait(WAIT_S)
        assert len(server.requests) == 1


def test_one_who_has_gone_is_noticed_while_the_model_is_silent(
    chat_of: Callable[..., OpenAiChat], deadline: Deadline
) -> None:
    def leave(text: str) -> None:
        if text == "" and heard:
            raise ClientGone
        heard.append(text)

    heard: list[str] = []
    with LlmServer([drip("Yes", threading.Event())]) as server, pytest.raises(ClientGone):
        chat_of(server).complete(MESSAGES, deadline=deadline, on_text=leave)
    assert "Yes" in heard


@pytest.mark.parametrize("step", [drip("Half of", ended=False), drip("Half of", {"error": {"message": "overloaded"}})])
def test_nothing_is_retried_once_text_was_passed_on(
    chat_of: Callable[..., OpenAiChat], deadline: Deadline, step: Step
) -> None:
    heard: list[str] = []
    with LlmServer([step, reply("Whole.")]) as server:
        with pytest.raises(LlmUnavailable) as caught:
            chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
        assert len(server.requests) == 1
    assert "".join(heard) == "Half of"
    assert (caught.value.spent.calls, caught.value.spent.retries) == (1, 0)


def test_before_the_first_text_it_is_retried_and_another_model_asked(
    chat_of: Callable[..., OpenAiChat], deadline: Deadline
) -> None:
    heard: list[str] = []
    steps = [error(503), drip(ended=False), model_not_found("first"), drip("Yes.")]
    with LlmServer(steps) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
        assert [request.json["model"] for request in server.requests] == ["first", "first", "first", "second"]
    assert "".join(heard) == made.text == "Yes."
    assert (made.calls, made.retries) == (4, 2)


def test_a_server_that_does_not_stream_is_read_all_the_same(
    chat_of: Callable[..., OpenAiChat], deadline: Deadline
) -> None:
    heard: list[str] = []
    with LlmServer([only_models("first", text="All at once.")]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
    assert "".join(heard) == made.text == "All at once."


@pytest.mark.parametrize("step", [drip(), drip({"choices": []}, "  "), drip({"choices": [{"delta": {"content": 7}}]})])
def test_a_stream_without_text_has_failed(chat_of: Callable[..., OpenAiChat], deadline: Deadline, step: Step) -> None:
    with LlmServer([step]) as server, pytest.raises(LlmFailed):
        chat_of(server, retries=0).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)


def test_a_stalled_model_is_left_at_the_deadline(chat_of: Callable[..., OpenAiChat]) -> None:
    soon = Deadline.after(0.2, time.monotonic)
    with LlmServer([drip("Yes", threading.Event())]) as server, pytest.raises(LlmUnavailable, match="timed out"):
        chat_of(server).complete(MESSAGES, deadline=soon, on_text=lambda text: None)


def test_reasoning_is_not_passed_on(chat_of: Callable[..., OpenAiChat], deadline: Deadline) -> None:
    heard: list[str] = []
    with LlmServer([drip("<th", "ink>The user ", "wants</", "think>", "\n\n", "A <b", "> c.")]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
    assert "".join(heard) == made.text == "A <b> c."


def test_a_server_that_knows_no_end_is_left_where_max_tokens_ends(
    chat_of: Callable[..., OpenAiChat], deadline: Deadline
) -> None:
    """500 tokens are 8,000 characters at most: what was shown is what is answered, and the rest is never read."""
    ended = threading.Event()
    heard: list[str] = []

    def endless(exchange: Exchange) -> None:
        try:
            drip("Yes", *[" and on" for _ in range(1_000_000)])(exchange)
        except OSError:
            ended.set()

    with LlmServer([endless]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
        assert ended.wait(WAIT_S)
        assert len(server.requests) == 1
    assert "".join(heard) == made.text == f"Yes{' and on' * 2000}"[:8000]
    assert (made.finish_reason, made.usage) == ("length", None)


def test_reasoning_counts_too(chat_of: Callable[..., OpenAiChat], deadline: Deadline) -> None:
    thinks = f"<think>{'so ' * 2000}"
    with LlmServer([drip(thinks, "</think>", "Yes" * 2000)]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)
    assert made.text == ("Yes" * 2000)[: 8000 - len(thinks) - len("</think>")]
    with LlmServer([drip(thinks, thinks)]) as server, pytest.raises(LlmFailed, match="no text"):
        chat_of(server).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)
