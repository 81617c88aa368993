"""Many files or documents, each worked on in one of several processes; what happens to one is that one's trouble.

Pebble's pool, because the standard library's ends all of the work when one process dies, and knows no time limit for
one task. The limit is CPU time: on a busy machine a good file takes many times as long by the clock.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as TookTooLong
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from ragctl.options import cores

if TYPE_CHECKING:
    from pebble import ProcessFuture

TASK_LIMIT_S = 300
"""No file may take more CPU time: 117 PDFs of public repositories took 99 s together."""
WAIT_LIMIT_S = 12 * TASK_LIMIT_S
"""No file may take longer by the clock: one that only waits, as for a disk that is gone, takes no CPU time."""
AHEAD = 256
"""So many results are in memory at once, those that wait for a slow one before them included."""


def in_processes[T, R](
    function: Callable[[T], R], items: Sequence[T], *, lost: Callable[[T, str], R], limit_s: float = TASK_LIMIT_S
) -> Iterator[R]:
    """The results of ``function``, in order; ``lost`` makes the result where a process was lost, from the reason.

    ``limit_s`` is the CPU time of one item, in seconds.
    """
    from pebble import ProcessExpired, ProcessPool

    # A fresh interpreter each: a fork would copy the locks of this process' threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPool(max_workers=max(1, min(cores(), len(items))), context=context) as pool:
        work, left = partial(_limited, function, limit_s), iter(items)
        begun: deque[ProcessFuture[R]] = deque()
        try:
            for item in items:
                some = islice(left, AHEAD - len(begun))
                begun.extend(pool.schedule(work, args=[one], timeout=WAIT_LIMIT_S) for one in some)
                try:
                    yield begun.popleft().result()
                except TookTooLong:
                    yield lost(item, f"was waited for {WAIT_LIMIT_S / 60:.0f} minutes: is its disk there?")
                except ProcessExpired as exc:
                    yield lost(item, _reason(exc.exitcode, limit_s))
        except BaseException:
            pool.stop()  # type: ignore[no-untyped-call]  # whoever stops listening, by Ctrl-C for one, wants nothing more done
            raise


def _limited[T, R](function: Callable[[T], R], limit_s: float, item: T) -> R:
    """``function(item)``; its process is ended by SIGPROF when that has taken ``limit_s`` seconds of CPU time."""
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        return function(item)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _reason(exit_code: int, limit_s: float) -> str:
    if exit_code == -signal.SIGPROF:
        return f"takes more than {limit_s:.0f} s of CPU time: split it, or save it in another format"
    return f"ended the process that read it (exit code {exit_code}): it may need too much memory"
