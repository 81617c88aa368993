"""rag.adapters.time_limit: how long pieces are awaited, on a clock that only the test moves."""

import threading
from collections.abc import Callable

import pytest
from fakes import FakeClock

from rag.adapters import time_limit
from rag.adapters.time_limit import stream_within

NEVER_S = 60.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(time_limit, "monotonic", clock)
    return clock


def two_pieces(first_was_taken: threading.Event) -> Callable[[Callable[[bytes], None]], None]:
    def produce(put: Callable[[bytes], None]) -> None:
        put(b"a")
        first_was_taken.wait(NEVER_S)
        put(b"b")

    return produce


@pytest.mark.parametrize(
    ("step_s", "left_s"), [(100.0, None), (0.0, 0.0)], ids=["that of all pieces", "nothing is left before it"]
)
def test_the_limit_ends_it(clock: FakeClock, step_s: float, left_s: float | None) -> None:
    taken, go_on = [], threading.Event()

    def take(piece: bytes) -> None:
        taken.append(piece)
        clock.now += step_s

    with pytest.raises(TimeoutError):
        stream_within(50.0, two_pieces(go_on), take, left_s=lambda: left_s if taken else None)
    go_on.set()
    assert taken == [b"a"]


def test_who_knows_how_much_is_left_is_asked_again_after_each_piece(clock: FakeClock) -> None:
    taken, go_on = [], threading.Event()

    def take(piece: bytes) -> None:
        if piece:
            taken.append(piece)
            clock.now += 100.0
            go_on.set()

    stream_within(50.0, two_pieces(go_on), take, left_s=lambda: 30.0 if taken else None)
    assert taken == [b"a", b"b"]


def test_one_who_produces_for_nobody_is_told_with_the_next_piece(clock: FakeClock) -> None:
    go_on, told = threading.Event(), threading.Event()

    def produce(put: Callable[[bytes], None]) -> None:
        put(b"a")
        go_on.wait(NEVER_S)
        try:
            put(b"b")
        except TimeoutError:
            told.set()

    def leave(piece: bytes) -> None:
        raise ValueError(piece)

    with pytest.raises(ValueError, match="a"):
        stream_within(50.0, produce, leave)
    go_on.set()
    assert told.wait(NEVER_S)
