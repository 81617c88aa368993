"""rag.values.chat: how much time there is, and whether a text is whole."""

from __future__ import annotations

import math

import pytest
from fakes import FakeClock

from rag.values.chat import Completion, Deadline


def test_a_deadline_falls_to_zero() -> None:
    clock = FakeClock(now=100.0)
    deadline = Deadline.after(27.0, clock)

    assert (deadline.at, deadline.remaining()) == (127.0, 27.0)
    clock.now = 110.5
    assert deadline.remaining() == 16.5
    clock.now = 500.0
    assert deadline.remaining() == 0.0


def test_without_more_to_say_a_stream_ends_when_everything_does() -> None:
    deadline = Deadline.after(27.0, FakeClock())

    assert (deadline.between_s, deadline.end) == (math.inf, None)
    assert deadline.ending() == deadline


def test_what_follows_a_streams_text_has_until_its_end() -> None:
    clock = FakeClock(now=100.0)
    deadline = Deadline(127.0, clock, between_s=20.0, end=700.0)

    assert deadline.remaining() == 27.0
    assert deadline.ending().remaining() == 600.0
    assert deadline.ending() == Deadline(700.0, clock, between_s=20.0, end=700.0)
    assert deadline.ending().ending() == deadline.ending()


@pytest.mark.parametrize(
    ("finish_reason", "partial"),
    [
        ("length", True),
        ("stop", False),
        (None, False),
    ],
)
def test_a_text_is_partial_where_its_writer_would_have_gone_on(finish_reason: str | None, partial: bool) -> None:
    assert Completion(text="Yes", model="m", finish_reason=finish_reason).partial is partial
