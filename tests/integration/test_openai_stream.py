"""The LLM adapter while the model writes: text as it comes, and what ends it."""

import json
import threading
import time
from collections.abc import Iterator

import pytest
from fakes import FakeClock
from fakes_chat import Connect, connecting
from fakes_llm import (
    MODEL,
    Exchange,
    LlmServer,
    Step,
    chunk,
    drip,
    error,
    model_not_found,
    noting_the_end,
    only_models,
    reply,
)

from rag.adapters import time_limit
from rag.errors import ClientGone, LlmUnavailable
from rag.values.chat import Deadline, Message, Usage

MESSAGES = (Message("user", "What needs a permit?"),)
WAIT_S = 60.0


@pytest.fixture
def deadline() -> Deadline:
    return Deadline.after(WAIT_S, time.monotonic)


@pytest.fixture
def chat_of() -> Iterator[Connect]:
    with connecting({"fallback_models": ("second",)}) as connect:
        yield connect


def test_each_text_is_passed_on_before_the_next_is_written(chat_of: Connect, deadline: Deadline) -> None:
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


def test_a_listener_that_has_gone_ends_the_call(chat_of: Connect, deadline: Deadline) -> None:
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
        chat = chat_of(server)
        made = chat.complete(MESSAGES, deadline=deadline, on_text=leave)
        assert ended.wait(WAIT_S)
        assert len(server.requests) == 1
    assert (made.text, made.finish_reason, made.partial, made.usage) == ("Yes", "stopped", True, None)
    assert chat.last_error is None  # nothing was wrong with the model


def test_one_who_has_gone_is_noticed_while_the_model_is_silent(
    chat_of: Connect, deadline: Deadline, clock: FakeClock
) -> None:
    def leave(text: str) -> None:
        if text == "" and heard:
            raise ClientGone
        heard.append(text)

    heard: list[str] = []
    with LlmServer([drip("Yes", threading.Event())]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=leave)
    assert "Yes" in heard
    assert (made.text, made.finish_reason) == ("Yes", "stopped")


@pytest.mark.parametrize("step", [drip("<think>so", threading.Event()), drip(" ", threading.Event())])
def test_one_who_goes_before_there_is_text_gets_none(chat_of: Connect, deadline: Deadline, step: Step) -> None:
    def leave(text: str) -> None:
        raise ClientGone

    with LlmServer([step]) as server, pytest.raises(ClientGone):
        chat_of(server).complete(MESSAGES, deadline=deadline, on_text=leave)


def torn(exchange: Exchange) -> None:
    """The connection breaks within an event."""
    begun = f"data: {json.dumps(chunk({'content': 'Half of'}))}\n\ndata: {{".encode()
    exchange.send(200, begun, {"Content-Type": "text/event-stream"}, length=len(begun) + 100)
    exchange.hang_up()


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (drip("Half ", "of", ended=False), "The LLM's stream ended early"),
        (drip("Half ", "of", {"error": {"message": "overloaded"}}), "The LLM reported an error in its stream"),
        (drip("Half ", "of", b'{"choices": ['), "Unreadable completion: an event is not JSON"),
        (torn, "LLM connection failed (RemoteProtocolError)"),
    ],
    ids=["it ends", "it tells of an error", "it cannot be read", "it is torn"],
)
def test_what_came_before_a_stream_broke_off_is_the_answer_and_nothing_is_retried(
    chat_of: Connect, deadline: Deadline, step: Step, why: str
) -> None:
    heard: list[str] = []
    with LlmServer([error(503), step, reply("Whole.")]) as server:
        chat = chat_of(server)
        made = chat.complete(MESSAGES, deadline=deadline, on_text=heard.append)
        assert len(server.requests) == 2
        assert chat.last_error == f"The LLM's answer is not whole (interrupted): {why}"
        assert chat.complete(MESSAGES, deadline=deadline).text == "Whole."
        assert chat.last_error is None
    assert "".join(heard) == made.text == "Half of"
    assert (made.finish_reason, made.partial, made.usage) == ("interrupted", True, None)
    assert (made.model, made.requested_model, made.calls, made.retries) == (MODEL, "first", 2, 1)


@pytest.mark.parametrize(
    "step", [drip("<think>so it", ended=False), drip("<think>so</think>\n\n", ended=False), drip(" \n", ended=False)]
)
def test_reasoning_and_white_space_that_break_off_are_tried_again(
    chat_of: Connect, deadline: Deadline, step: Step
) -> None:
    with LlmServer([step, drip("Yes.")]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)
    assert (made.text, made.finish_reason, made.calls, made.retries) == ("Yes.", "stop", 2, 1)


def test_reasoning_is_no_part_of_what_came(chat_of: Connect, deadline: Deadline) -> None:
    with LlmServer([drip("<think>so</think>", "Half of", ended=False)]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)
    assert (made.text, made.finish_reason) == ("Half of", "interrupted")
    with LlmServer([drip("so it is\n", "</think>\n", ended=False)]) as server, pytest.raises(LlmUnavailable):
        chat_of(server, retries=0).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)


def test_before_the_first_text_it_is_retried_and_another_model_asked(chat_of: Connect, deadline: Deadline) -> None:
    heard: list[str] = []
    steps = [error(503), drip(ended=False), model_not_found("first"), drip("Yes.")]
    with LlmServer(steps) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
        assert [request.json["model"] for request in server.requests] == ["first", "first", "first", "second"]
    assert "".join(heard) == made.text == "Yes."
    assert (made.calls, made.retries) == (4, 2)


def test_a_server_that_does_not_stream_is_read_all_the_same(chat_of: Connect, deadline: Deadline) -> None:
    heard: list[str] = []
    with LlmServer([only_models("first", text="All at once.")]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
    assert "".join(heard) == made.text == "All at once."


@pytest.mark.parametrize("step", [drip(), drip({"choices": []}, "  "), drip({"choices": [{"delta": {"content": 7}}]})])
def test_a_stream_without_text_has_failed(chat_of: Connect, deadline: Deadline, step: Step) -> None:
    with LlmServer([step]) as server, pytest.raises(LlmUnavailable, match="no text"):
        chat_of(server, retries=0).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The deadlines' clock and the adapter's own, which looks at it every 10 ms of real time."""
    clock = FakeClock()
    monkeypatch.setattr(time_limit, "monotonic", clock)
    monkeypatch.setattr(time_limit, "BEAT_S", 0.01)
    return clock


class Slow:
    """A listener for whom ``text_s`` pass with each text.

    With each sign of life it is ``before_s`` as long as there was no text, and ``after_s`` later. ``heard[n]`` is set
    with text number n.
    """

    def __init__(
        self, clock: FakeClock, *, text_s: float = 0.0, before_s: float = 0.0, after_s: float = 0.0, texts: int = 1
    ) -> None:
        self.heard = [threading.Event() for _ in range(texts)]
        self._clock = clock
        self._text_s, self._before_s, self._after_s = text_s, before_s, after_s

    def __call__(self, text: str) -> None:
        heard = sum(event.is_set() for event in self.heard)
        self._clock.now += self._text_s if text else self._after_s if heard else self._before_s
        if text:
            self.heard[heard].set()

    def paced(self, *texts: str) -> list[str | threading.Event]:
        """Pieces for ``drip``: each text is sent when the one before has been heard."""
        return [piece for text, heard in zip(texts, self.heard, strict=True) for piece in (text, heard)]


def test_a_model_that_says_nothing_is_left_at_the_deadline_of_the_first_text(
    chat_of: Connect, clock: FakeClock
) -> None:
    listener = Slow(clock, before_s=5.0)
    deadline = Deadline(clock.now + 27.0, clock, between_s=60.0, end=clock.now + 600.0)
    with LlmServer([drip("<think>so", threading.Event())]) as server:
        with pytest.raises(LlmUnavailable, match="LLM call timed out"):
            chat_of(server).complete(MESSAGES, deadline=deadline, on_text=listener)
        assert len(server.requests) <= 1  # there is no time for another one
    assert clock.now == 130.0


def test_a_model_that_stalls_is_left_at_the_deadline_where_there_is_no_other(
    chat_of: Connect, clock: FakeClock
) -> None:
    with LlmServer([drip("Yes", threading.Event())]) as server:
        chat = chat_of(server)
        made = chat.complete(MESSAGES, deadline=Deadline.after(27.0, clock), on_text=Slow(clock, after_s=5.0))
    assert (made.text, made.finish_reason, clock.now) == ("Yes", "length", 130.0)
    assert chat.last_error == "The LLM's answer is not whole (length): LLM call timed out"


def test_a_pause_between_two_texts_ends_it(chat_of: Connect, clock: FakeClock) -> None:
    """Events without text, as some servers send, shorten no pause. The thread that reads them ends too."""
    signs = [chunk({"role": "assistant"}) for _ in range(8)]
    deadline = Deadline(clock.now + 27.0, clock, between_s=20.0, end=clock.now + 600.0)
    with LlmServer([drip("Half of", *signs, threading.Event())]) as server:
        chat = chat_of(server)
        made = chat.complete(MESSAGES, deadline=deadline, on_text=Slow(clock, after_s=5.0))
        workers = [thread for thread in threading.enumerate() if thread.name == "time-limited"]
        for worker in workers:
            worker.join(WAIT_S)
        assert not any(worker.is_alive() for worker in workers)
    assert (made.text, made.finish_reason, made.usage, clock.now) == ("Half of", "interrupted", None, 120.0)
    assert chat.last_error == "The LLM's answer is not whole (interrupted): LLM call timed out"


def test_before_the_first_text_a_pause_may_be_longer(chat_of: Connect, clock: FakeClock) -> None:
    listener = Slow(clock, before_s=50.0)
    deadline = Deadline(clock.now + 1e6, clock, between_s=20.0, end=clock.now + 2e6)
    with LlmServer([drip("<think>", "so", " it ", "is</think>", "Yes.")]) as server:
        made = chat_of(server, read_timeout_s=1e6).complete(MESSAGES, deadline=deadline, on_text=listener)
    assert (made.text, made.finish_reason) == ("Yes.", "stop")
    assert clock.now >= 200.0


def test_the_listeners_own_time_is_no_pause_of_the_models(chat_of: Connect, clock: FakeClock) -> None:
    listener = Slow(clock, text_s=50.0, texts=3)
    deadline = Deadline(clock.now + 27.0, clock, between_s=20.0, end=clock.now + 600.0)
    with LlmServer([drip(*listener.paced("one ", "two ", "three"))]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=listener)
    assert (made.text, made.finish_reason) == ("one two three", "stop")


def test_a_stream_lasts_as_long_as_its_texts_keep_coming(chat_of: Connect, clock: FakeClock) -> None:
    """15 s to the first text and 60 s for the model's call bound nothing after it: this one takes 120."""
    listener = Slow(clock, text_s=10.0, texts=12)
    deadline = Deadline(clock.now + 15.0, clock, between_s=20.0, end=clock.now + 600.0)
    words = [f"word{number} " for number in range(12)]
    with LlmServer([drip(*listener.paced(*words))]) as server:
        chat = chat_of(server)
        made = chat.complete(MESSAGES, deadline=deadline, on_text=listener)
    assert (deadline.remaining(), clock.now) == (0.0, 220.0)
    assert (made.text, made.finish_reason, made.partial) == ("".join(words), "stop", False)
    assert made.usage == Usage(prompt_tokens=12, completion_tokens=5, total_tokens=17)
    assert chat.last_error is None


def test_at_the_end_what_was_written_is_the_answer(chat_of: Connect, clock: FakeClock) -> None:
    listener = Slow(clock, text_s=10.0, texts=3)
    deadline = Deadline(clock.now + 15.0, clock, between_s=20.0, end=clock.now + 25.0)
    with LlmServer([drip(*listener.paced("one ", "two ", "three "), threading.Event(), "four")]) as server:
        chat = chat_of(server)
        made = chat.complete(MESSAGES, deadline=deadline, on_text=listener)
    assert (made.text, made.finish_reason, made.usage) == ("one two three ", "length", None)
    assert chat.last_error == "The LLM's answer is not whole (length): LLM call timed out"


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_text_that_has_ended_is_whole_whatever_comes_later(chat_of: Connect, clock: FakeClock, reason: str) -> None:
    deadline = Deadline(clock.now + 27.0, clock, between_s=20.0, end=clock.now + 600.0)
    with LlmServer([drip(chunk({"content": "Yes."}, finish_reason=reason), threading.Event())]) as server:
        chat = chat_of(server)
        made = chat.complete(MESSAGES, deadline=deadline, on_text=Slow(clock, after_s=5.0))
    assert (made.text, made.finish_reason, made.usage) == ("Yes.", reason, None)
    assert chat.last_error is None


def test_reasoning_is_not_passed_on(chat_of: Connect, deadline: Deadline) -> None:
    heard: list[str] = []
    with LlmServer([drip("<th", "ink>The user ", "wants</", "think>", "\n\n", "A <b", "> c.")]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
    assert "".join(heard) == made.text == "A <b> c."


def test_a_server_that_knows_no_end_is_left_where_max_tokens_ends(chat_of: Connect, deadline: Deadline) -> None:
    """500 tokens are 8,000 characters at most: what was shown is what is answered, and the rest is never read."""
    ended = threading.Event()
    heard: list[str] = []
    endless = drip("Yes", *[f" and {number}" for number in range(200_000)])
    with LlmServer([noting_the_end(endless, ended)]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
        assert ended.wait(WAIT_S)
        assert len(server.requests) == 1
    assert "".join(heard) == made.text == f"Yes{''.join(f' and {number}' for number in range(2000))}"[:8000]
    assert (made.finish_reason, made.usage) == ("length", None)


def test_reasoning_counts_too(chat_of: Connect, deadline: Deadline) -> None:
    thinks = f"<think>{'so ' * 2000}"
    counts = " ".join(map(str, range(2000)))
    with LlmServer([drip(thinks, "</think>", counts)]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)
    assert made.text == counts[: 8000 - len(thinks) - len("</think>")]
    with LlmServer([drip(thinks, thinks)]) as server, pytest.raises(LlmUnavailable, match="no text"):
        chat_of(server).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)


# --- what is no answer ------------------------------------------------------------------------------------------------


def test_a_model_that_does_not_open_its_reasoning_is_remembered(chat_of: Connect, deadline: Deadline) -> None:
    """What was shown of the first stream is revised; from the second on nothing is shown before the closing tag."""
    unopened, plain = drip("So it is.", "\n</th", "ink>\n\n", "Yes, ", "five."), drip("Yes, ", "five.")
    heard: list[list[str]] = []
    with LlmServer([unopened, unopened, plain, plain]) as server:
        chat = chat_of(server)
        made = []
        for _ in range(4):
            heard.append([])
            made.append(chat.complete(MESSAGES, deadline=deadline, on_text=heard[-1].append))
    assert [one.text for one in made] == ["Yes, five."] * 4
    assert [one.revised for one in made] == [True, False, False, False]
    assert [[text for text in texts if text] for texts in heard] == [
        ["So it is.", "\n", "Yes, ", "five."], ["Yes, ", "five."], ["Yes, five."], ["Yes, ", "five."],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pieces", "text", "reason"),
    [
        (["Yes.", "<|im_", "end|>", "\n<|im_start|>user\n", *[f"More {n}?" for n in range(200_000)]], "Yes.", "stop"),
        (["I'm sorry. "] * 200_000, "I'm sorry. I'm sorry.", "length"),
    ],
    ids=["another turn", "a loop"],
)
def test_a_stream_that_is_no_answer_any_more_is_hung_up(
    chat_of: Connect, deadline: Deadline, pieces: list[str], text: str, reason: str
) -> None:
    ended = threading.Event()
    heard: list[str] = []
    with LlmServer([noting_the_end(drip(*pieces), ended)]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=heard.append)
        assert ended.wait(WAIT_S)
    assert (made.text, made.finish_reason, made.revised) == (text, reason, reason == "length")
    assert "".join(heard).startswith(text)
    assert len("".join(heard)) < 120


def test_a_reason_that_is_not_the_service_s_makes_it_partial(chat_of: Connect, deadline: Deadline) -> None:
    step = drip(chunk({"content": "Half of"}, finish_reason=""), chunk({}, finish_reason="content_filter"), ended=False)
    with LlmServer([step]) as server:
        made = chat_of(server).complete(MESSAGES, deadline=deadline, on_text=lambda text: None)
    assert (made.text, made.finish_reason, made.partial) == ("Half of", "interrupted", True)
