"""Hard time limits for blocking calls that return a result or produce a stream, by a thread for each call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from time import monotonic

BEAT_S = 1.0
"""The interval at which a consumer is called with ``b""`` while no piece comes."""


def run_in_thread[T](call: Callable[[], T]) -> Future[T]:
    """Run ``call`` in a new thread and return the future of its result.

    A socket's timeout bounds one read, so a server that sends a byte now and then outlives it, and name resolution has
    no timeout. Waiting for a thread bounds the whole call. Python cannot stop a thread that overruns: it is a daemon,
    and ``call`` should end soon by its own timeouts.
    """
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as exc:  # noqa: BLE001 - it is raised again in the caller's thread
            outcome.set_exception(exc)

    threading.Thread(target=work, name="time-limited", daemon=True).start()
    return outcome


def stream_within(
    limit_s: float,
    produce: Callable[[Callable[[bytes], None]], None],
    take: Callable[[bytes], None],
    *,
    left_s: Callable[[], float | None] = lambda: None,
) -> None:
    """Run ``produce(put)`` in a new thread and call ``take``, in this thread, with each piece that it puts.

    ``take`` is called with ``b""`` whenever ``BEAT_S`` passed without a piece. ``left_s`` is called before each wait;
    once it returns a number of seconds, that replaces ``limit_s``. Errors of ``produce`` and ``take`` are raised here.
    After an error of ``take`` or a timeout, the next ``put`` raises, which ends ``produce``; its error is ignored.

    Raises:
        TimeoutError: ``produce`` did not end in time.
    """
    pieces: SimpleQueue[bytes | Future[None]] = SimpleQueue()
    is_over = threading.Event()

    def put(piece: bytes) -> None:
        if is_over.is_set():
            raise TimeoutError("the consumer waits no longer")
        pieces.put(piece)

    run_in_thread(lambda: produce(put)).add_done_callback(pieces.put)
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
        is_over.set()
    raise TimeoutError
