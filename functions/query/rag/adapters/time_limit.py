"""A hard limit on how long a blocking call may keep its caller waiting, for its result or piece by piece."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from time import monotonic

BEAT_S = 1.0
"""How often somebody who waits for pieces is told that none came."""


def start[T](call: Callable[[], T]) -> Future[T]:
    """Run ``call`` in a thread of its own; the future gets what it returns or raises.

    A socket's own timeout bounds one read, so a server that sends a byte now and then outlives it, and name
    resolution has none at all. Whoever waits for a thread bounds the whole. One that overruns is left behind, as Python
    cannot stop it: it is a daemon, and ``call`` should end soon by its own timeouts.
    """
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as exc:  # noqa: BLE001 - it is raised again in the caller's thread
            outcome.set_exception(exc)

    threading.Thread(target=work, name="time-limited", daemon=True).start()
    return outcome


def within[T](limit_s: float, call: Callable[[], T]) -> T:
    """What ``call`` returns or raises, in a thread of its own.

    Raises:
        TimeoutError: it was not done after ``limit_s`` seconds.
    """
    return start(call).result(timeout=limit_s)


def pieces_within(
    limit_s: float,
    produce: Callable[[Callable[[bytes], None]], None],
    take: Callable[[bytes], None],
    *,
    left_s: Callable[[], float | None] = lambda: None,
) -> None:
    """Run ``produce`` in a thread of its own; ``take`` gets, in the caller's thread, what that puts.

    It gets ``b""`` whenever ``BEAT_S`` passed without a piece. ``left_s`` is asked before each wait: as soon as it
    knows how many seconds there still are, that counts, and ``limit_s`` does not any more. What ``produce`` or ``take``
    raise is raised here. After ``take`` has raised, and when time is over, the next piece that ``produce`` puts ends
    it, and what it does is dropped.

    Raises:
        TimeoutError: ``produce`` was not done in time.
    """
    pieces: SimpleQueue[bytes | Future[None]] = SimpleQueue()
    over = threading.Event()

    def put(piece: bytes) -> None:
        if over.is_set():
            raise TimeoutError("nobody waits for it any more")
        pieces.put(piece)

    start(lambda: produce(put)).add_done_callback(pieces.put)
    stop_at = monotonic() + limit_s
    try:
        while (left := stop_at - monotonic() if (known := left_s()) is None else known) > 0:
            try:
                piece = pieces.get(timeout=min(BEAT_S, left))
            except Empty:
                take(b"")
                continue
            if isinstance(piece, Future):
                return piece.result()
            take(piece)
    finally:
        over.set()
    raise TimeoutError
