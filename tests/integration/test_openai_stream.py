"""The LLM adapter while the model writes: text as it comes, and what ends it."""

import json
import threading
import time
from collections.abc import Iterator

import pytest
from fakes import FakeClock
from fakes_chat import Chat, connecting
from fakes_llm import MODEL, Exchange, LlmServer, Step, chunk, drip, error, noting_the_end, only_models, reply

from rag.adapters import time_limit
from rag.errors import ClientGone, LlmUnavailable
from rag.values.chat import Deadline, Message, Usage

MESSAGES = (Message("user", "What needs a permit?"),)
WAIT_S = 60.0


@pytest.fixture
def chat() -> Iterator[Chat]:
    with connecting({"fallback_models": ("second",)}) as connect:
        yield Chat(connect, time.monotonic, MESSAGES)


def leave(text: str) -> None:
    """A listener who has gone by the first text."""
    if text:
        raise ClientGone


def test_each_text_is_passed_on_before_the_next_is_written(chat: Chat) -> None:
    first, second = threading.Event(), threading.Event()
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.extend([text] if text else [])
        {"Yes, ": first, "a permit": second}.get(text, threading.Event()).set()

    made = chat.stream(drip("Yes, ", first, "a permit", second, " is needed."), on_text=hear)
    assert chat.requests[0].json["stream"] is True
    assert heard == ["Yes, ", "a permit", " is needed."]
    assert (made.text, made.model, made.finish_reason) == ("Yes, a permit is needed.", MODEL, "stop")
    assert made.usage == Usage(prompt_tokens=12, completion_tokens=5, total_tokens=17)
    assert (made.calls, made.retries) == (1, 0)


def test_a_listener_that_has_gone_ends_the_call(chat: Chat) -> None:
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

    made = chat.stream(endless, on_text=leave)
    assert ended.wait(WAIT_S)
    assert len(chat.requests) == 1
    assert (made.text, made.finish_reason, made.partial, made.usage) == ("Yes", "stopped", True, None)
    assert chat.model.last_error is None  # nothing was wrong with the model


@pytest.mark.parametrize("step", [drip("<think>so", threading.Event()), drip(" ", threading.Event())])
def test_one_who_goes_before_there_is_text_gets_none(chat: Chat, step: Step) -> None:
    def leave_at_once(text: str) -> None:
        raise ClientGone

    chat.fail(step, kind=ClientGone, on_text=leave_at_once)


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
    chat: Chat, step: Step, why: str
) -> None:
    made = chat.stream(error(503), step, reply("Whole."))
    assert len(chat.requests) == 2
    assert chat.model.last_error == f"The LLM's answer is not whole (interrupted): {why}"
    assert "".join(chat.heard) == made.text == "Half of"
    assert (made.finish_reason, made.partial, made.usage) == ("interrupted", True, None)
    assert (made.model, made.requested_model, made.calls, made.retries) == (MODEL, "first", 2, 1)


def test_an_answer_that_is_not_whole_is_no_error_any_more_after_one_that_is() -> None:
    with connecting({}) as connect, LlmServer([drip("Half ", ended=False), reply("Whole.")]) as server:
        model = connect(server)
        for last_error in ("The LLM's answer is not whole (interrupted): The LLM's stream ended early", None):
            model.complete(MESSAGES, deadline=Deadline.after(WAIT_S, time.monotonic), on_text=lambda text: None)
            assert model.last_error == last_error


@pytest.mark.parametrize(
    "step", [drip("<think>so it", ended=False), drip("<think>so</think>\n\n", ended=False), drip(" \n", ended=False)]
)
def test_reasoning_and_white_space_that_break_off_are_tried_again(chat: Chat, step: Step) -> None:
    made = chat.stream(step, drip("Yes."))
    assert (made.text, made.finish_reason, made.calls, made.retries) == ("Yes.", "stop", 2, 1)


def test_reasoning_is_not_passed_on_and_no_part_of_what_came(chat: Chat) -> None:
    made = chat.stream(drip("<th", "ink>The user ", "wants</", "think>", "\n\n", "A <b", "> c."))
    assert "".join(chat.heard) == made.text == "A <b> c."
    made = chat.stream(drip("<think>so</think>", "Half of", ended=False))
    assert (made.text, made.finish_reason) == ("Half of", "interrupted")
    unopened = drip("so it is\n", "</think>\n", ended=False)
    chat.fail(unopened, kind=LlmUnavailable, on_text=chat.heard.append, retries=0)


def test_before_the_first_text_it_is_retried_and_another_model_asked(chat: Chat) -> None:
    """It is read from a server that does not stream all the same."""
    made = chat.stream(error(503), drip(ended=False), only_models("second", text="Yes."))
    assert chat.models == ["first", "first", "first", "second"]
    assert "".join(chat.heard) == made.text == "Yes."
    assert (made.calls, made.retries) == (4, 2)


@pytest.mark.parametrize("step", [drip(), drip({"choices": []}, "  "), drip({"choices": [{"delta": {"content": 7}}]})])
def test_a_stream_without_text_has_failed(chat: Chat, step: Step) -> None:
    failed = chat.fail(step, kind=LlmUnavailable, on_text=chat.heard.append, retries=0)
    assert "no text" in str(failed)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The deadlines' clock and the adapter's own, which looks at it every 10 ms of real time."""
    clock = FakeClock()
    monkeypatch.setattr(time_limit, "monotonic", clock)
    monkeypatch.setattr(time_limit, "BEAT_S", 0.01)
    return clock


def within(clock: FakeClock, first_s: float, *, between_s: float, end_s: float = 600.0) -> Deadline:
    return Deadline(clock.now + first_s, clock, between_s=between_s, end=clock.now + end_s)


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


def test_one_who_has_gone_is_noticed_while_the_model_is_silent(chat: Chat, clock: FakeClock) -> None:
    def leave_in_silence(text: str) -> None:
        if text == "" and chat.heard:
            raise ClientGone
        chat.heard.append(text)

    made = chat.stream(drip("Yes", threading.Event()), on_text=leave_in_silence)
    assert "Yes" in chat.heard
    assert (made.text, made.finish_reason) == ("Yes", "stopped")


def test_a_model_that_says_nothing_is_left_at_the_deadline_of_the_first_text(chat: Chat, clock: FakeClock) -> None:
    silent = drip("<think>so", threading.Event())
    deadline = within(clock, 27.0, between_s=60.0)
    failed = chat.fail(silent, kind=LlmUnavailable, left=deadline, on_text=Slow(clock, before_s=5.0))
    assert str(failed) == "LLM call timed out"
    assert len(chat.requests) <= 1  # there is no time for another one
    assert clock.now == 130.0


def test_a_pause_between_two_texts_ends_it_or_the_deadline_where_there_is_no_other(
    chat: Chat, clock: FakeClock
) -> None:
    """Events without text, as some servers send, shorten no pause. The thread that reads them ends too."""
    stalling = drip("Half of", *[chunk({"role": "assistant"}) for _ in range(8)], threading.Event())
    deadline = within(clock, 27.0, between_s=20.0)
    made = chat.stream(stalling, left=deadline, on_text=Slow(clock, after_s=5.0))
    workers = [thread for thread in threading.enumerate() if thread.name == "time-limited"]
    for worker in workers:
        worker.join(WAIT_S)
    assert not any(worker.is_alive() for worker in workers)
    assert (made.text, made.finish_reason, made.usage, clock.now) == ("Half of", "interrupted", None, 120.0)
    assert chat.model.last_error == "The LLM's answer is not whole (interrupted): LLM call timed out"
    deadline = Deadline.after(27.0, clock)
    made = chat.stream(drip("Yes", threading.Event()), left=deadline, on_text=Slow(clock, after_s=5.0))
    assert (made.text, made.finish_reason, clock.now) == ("Yes", "length", 150.0)
    assert chat.model.last_error == "The LLM's answer is not whole (length): LLM call timed out"


def test_before_the_first_text_a_pause_may_be_longer(chat: Chat, clock: FakeClock) -> None:
    deadline = within(clock, 1e6, between_s=20.0, end_s=2e6)
    thinking = drip("<think>", "so", " it ", "is</think>", "Yes.")
    made = chat.stream(thinking, left=deadline, on_text=Slow(clock, before_s=50.0), read_timeout_s=1e6)
    assert (made.text, made.finish_reason) == ("Yes.", "stop")
    assert clock.now >= 200.0


def test_the_listeners_own_time_is_no_pause_of_the_models(chat: Chat, clock: FakeClock) -> None:
    listener = Slow(clock, text_s=50.0, texts=3)
    deadline = within(clock, 27.0, between_s=20.0)
    made = chat.stream(drip(*listener.paced("one ", "two ", "three")), left=deadline, on_text=listener)
    assert (made.text, made.finish_reason) == ("one two three", "stop")


def test_a_stream_lasts_as_long_as_its_texts_keep_coming(chat: Chat, clock: FakeClock) -> None:
    """15 s to the first text and 60 s for the model's call bound nothing after it: this one takes 120."""
    listener = Slow(clock, text_s=10.0, texts=12)
    deadline = within(clock, 15.0, between_s=20.0)
    words = [f"word{number} " for number in range(12)]
    made = chat.stream(drip(*listener.paced(*words)), left=deadline, on_text=listener)
    assert (deadline.remaining(), clock.now) == (0.0, 220.0)
    assert (made.text, made.finish_reason, made.partial) == ("".join(words), "stop", False)
    assert made.usage == Usage(prompt_tokens=12, completion_tokens=5, total_tokens=17)
    assert chat.model.last_error is None


def test_at_the_end_what_was_written_is_the_answer(chat: Chat, clock: FakeClock) -> None:
    listener = Slow(clock, text_s=10.0, texts=3)
    pieces = [*listener.paced("one ", "two ", "three "), threading.Event(), "four"]
    made = chat.stream(drip(*pieces), left=within(clock, 15.0, between_s=20.0, end_s=25.0), on_text=listener)
    assert (made.text, made.finish_reason, made.usage) == ("one two three ", "length", None)
    assert chat.model.last_error == "The LLM's answer is not whole (length): LLM call timed out"


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_text_that_has_ended_is_whole_whatever_comes_later(chat: Chat, clock: FakeClock, reason: str) -> None:
    ended = drip(chunk({"content": "Yes."}, finish_reason=reason), threading.Event())
    deadline = within(clock, 27.0, between_s=20.0)
    made = chat.stream(ended, left=deadline, on_text=Slow(clock, after_s=5.0))
    assert (made.text, made.finish_reason, made.usage) == ("Yes.", reason, None)
    assert chat.model.last_error is None


def test_reasoning_counts_too(chat: Chat) -> None:
    thinks = f"<think>{'so ' * 2000}"
    counts = " ".join(map(str, range(2000)))
    made = chat.stream(drip(thinks, "</think>", counts))
    assert made.text == counts[: 8000 - len(thinks) - len("</think>")]
    failed = chat.fail(drip(thinks, thinks), kind=LlmUnavailable, on_text=chat.heard.append)
    assert "no text" in str(failed)


def test_a_model_that_does_not_open_its_reasoning_is_remembered() -> None:
    """What was shown of the first stream is revised; from the second on nothing is shown before the closing tag."""
    unopened, plain = drip("So it is.", "\n</th", "ink>\n\n", "Yes, ", "five."), drip("Yes, ", "five.")
    heard: list[list[str]] = []
    with connecting({}) as connect, LlmServer([unopened, unopened, plain, plain]) as server:
        model = connect(server)
        made = []
        for _ in range(4):
            heard.append([])
            deadline = Deadline.after(WAIT_S, time.monotonic)
            made.append(model.complete(MESSAGES, deadline=deadline, on_text=heard[-1].append))
    assert [(one.text, one.revised) for one in made] == [("Yes, five.", revised) for revised in (True, *[False] * 3)]
    assert [[text for text in texts if text] for texts in heard] == [
        ["So it is.", "\n", "Yes, ", "five."], ["Yes, ", "five."], ["Yes, five."], ["Yes, ", "five."],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pieces", "text", "reason", "shown"),
    [
        (["Yes.", "<|im_", "end|>", "\n<|im_start|>user\n", *[f"{n}?" for n in range(200_000)]], "Yes.", "stop", 120),
        (["I'm sorry. "] * 200_000, "I'm sorry. I'm sorry.", "length", 120),
        ([*map(str, range(200_000))], "".join(map(str, range(4000)))[:8000], "length", 8000),
    ],
    ids=["another turn", "a loop", "max_tokens"],
)
def test_a_stream_that_is_no_answer_any_more_is_hung_up(
    chat: Chat, pieces: list[str], text: str, reason: str, shown: int
) -> None:
    """500 tokens are 8,000 characters at most: what was shown is what is answered, and the rest is never read."""
    ended = threading.Event()
    made = chat.stream(noting_the_end(drip(*pieces), ended))
    assert ended.wait(WAIT_S)
    assert (made.text, made.finish_reason, made.usage) == (text, reason, None)
    assert made.revised is (reason == "length" and shown == 120)
    assert "".join(chat.heard).startswith(text)
    assert len("".join(chat.heard)) <= shown
    assert len(chat.requests) == 1


def test_a_reason_that_is_not_the_service_s_makes_it_partial(chat: Chat) -> None:
    step = drip(chunk({"content": "Half of"}, finish_reason=""), chunk({}, finish_reason="content_filter"), ended=False)
    made = chat.stream(step)
    assert (made.text, made.finish_reason, made.partial) == ("Half of", "interrupted", True)
