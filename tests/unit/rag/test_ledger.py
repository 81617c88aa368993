"""rag.ledger and rag.values.chat: what a request gathers, how much time it has, and whether a text is whole."""

import math
from typing import Any

import pytest
from fakes import FakeClock, deadline

from rag.errors import LlmUnavailable, StoreUnavailable
from rag.ledger import Ledger, used_before
from rag.values.chat import Completion, Deadline, LlmUse, Usage


def ledger() -> Ledger:
    return Ledger(FakeClock(step=1.0), deadline())


def give_up(error: BaseException) -> Any:
    raise error


def test_times_add_up_by_slot() -> None:
    this = ledger()
    assert this.time("query", int, "11", base=2) == 3
    this.time("query", int)
    this.time("gate", int)
    assert this.timings == {"query": 2000.0, "gate": 1000.0}


def test_an_optional_stage_that_fails_gives_the_default_and_says_so_but_an_interrupt_is_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    this = ledger()
    assert this.optional("cache", lambda: give_up(StoreUnavailable("down")), 7) == 7
    assert this.optional("cache", lambda: 8, 7) == 8
    assert (this.skipped, this.timings) == (["cache"], {"cache": 2000.0})
    assert "cache is skipped: StoreUnavailable: down" in caplog.text
    with pytest.raises(KeyboardInterrupt):
        this.optional("cache", lambda: give_up(KeyboardInterrupt()), 7)


def failed(calls: int, retries: int) -> LlmUnavailable:
    error = LlmUnavailable("down")
    error.spent = LlmUse(calls=calls, retries=retries)
    return error


ASKED = Completion(text="x", model="m", usage=Usage(12, 5, 17), calls=2, retries=1, denied=1)


def test_what_completions_used_adds_up_whether_they_came_or_not() -> None:
    this = ledger()
    assert this.complete(lambda: ASKED) is ASKED
    this.complete(lambda: Completion(text="x", model="m"))
    with pytest.raises(LlmUnavailable):
        this.complete(lambda: give_up(failed(3, 2)))
    assert this.llm == LlmUse(calls=6, retries=3, prompt_tokens=12, completion_tokens=5, denied=1)


@pytest.mark.parametrize("error", [failed(1, 0), ZeroDivisionError()])
def test_an_error_that_ends_the_request_takes_along_what_was_used(error: Exception) -> None:
    this = ledger()
    this.complete(lambda: ASKED)
    assert used_before(ZeroDivisionError()) == LlmUse()
    with pytest.raises(type(error)), this.report_errors():
        raise error
    assert used_before(error) == LlmUse(calls=2, retries=1, prompt_tokens=12, completion_tokens=5, denied=1)


def test_a_deadline_falls_to_zero() -> None:
    clock = FakeClock(now=100.0)
    deadline = Deadline.after(27.0, clock)
    assert (deadline.at, deadline.remaining()) == (127.0, 27.0)
    clock.now = 110.5
    assert deadline.remaining() == 16.5
    clock.now = 500.0
    assert deadline.remaining() == 0.0


def test_what_follows_a_streams_text_has_until_its_end_where_there_is_one() -> None:
    clock = FakeClock(now=100.0)
    deadline = Deadline(127.0, clock, between_s=20.0, end=700.0)
    assert (deadline.remaining(), deadline.stream_deadline().remaining()) == (27.0, 600.0)
    assert deadline.stream_deadline() == Deadline(700.0, clock, between_s=20.0, end=700.0)
    assert deadline.stream_deadline().stream_deadline() == deadline.stream_deadline()
    plain = Deadline.after(27.0, clock)
    assert (plain.between_s, plain.end, plain.stream_deadline()) == (math.inf, None, plain)


@pytest.mark.parametrize(
    ("finish_reason", "partial"),
    [("length", True), ("interrupted", True), ("stopped", True), ("stop", False), (None, False)],
)
def test_a_text_is_partial_where_its_writer_would_have_gone_on(finish_reason: str | None, partial: bool) -> None:
    assert Completion(text="Yes", model="m", finish_reason=finish_reason).partial is partial
