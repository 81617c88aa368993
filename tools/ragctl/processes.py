"""Many files or documents, each worked on in one of several processes; what happens to one is that one's trouble.

Pebble's pool, because the standard library's ends all of the work when one process dies, and knows no time limit for
one task.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as TookTooLong

from ragctl.options import cores

TASK_LIMIT_S = 300
"""No file may take longer: 117 PDFs of public repositories took 99 s together."""


def in_processes[T, R](
    function: Callable[[T], R], items: Sequence[T], *, lost: Callable[[T, str], R], limit_s: float = TASK_LIMIT_S
) -> Iterator[R]:
    """The results of ``function``, in order; ``lost`` makes the result where a process was lost, from the reason."""
    from pebble import ProcessExpired, ProcessPool

    # A fresh interpreter each: a fork would copy the locks of this process' threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPool(max_workers=max(1, min(cores(), len(items))), context=context) as pool:
        try:
            results = pool.map(function, items, timeout=limit_s).result()
            for item in items:
                try:
                    yield next(results)
                except TookTooLong:
                    yield lost(item, f"takes longer than {limit_s:.0f} s: split it, or save it in another format")
                except ProcessExpired as exc:
                    reason = f"ended the process that read it (exit code {exc.exitcode})"
                    yield lost(item, f"{reason}: it may need too much memory")
        except BaseException:
            pool.stop()  # type: ignore[no-untyped-call]  # whoever stops listening, by Ctrl-C for one, wants nothing more done
            raise
