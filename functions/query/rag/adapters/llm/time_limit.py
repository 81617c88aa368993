"""A hard limit on how long a blocking call may keep its caller waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future


def within[T](limit_s: float, call: Callable[[], T]) -> T:
    """Run ``call`` in a thread of its own and return or raise what it does.

    A socket's own timeout bounds one read, so a server that sends a byte now and then outlives it, and name
    resolution has none at all. A thread bounds the whole. One that overruns is left behind, as Python cannot
    stop it: it is a daemon, its outcome is dropped, and ``call`` should end soon by its own timeouts.

    Raises:
        TimeoutError: ``call`` was not done after ``limit_s`` seconds.
    """
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as exc:  # noqa: BLE001 - it is raised again in the caller's thread
            outcome.set_exception(exc)

    threading.Thread(target=work, name="time-limited", daemon=True).start()
    return outcome.result(timeout=limit_s)
