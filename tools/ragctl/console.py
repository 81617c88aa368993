"""What a command prints: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console, RenderableType


PIPE_WIDTH = 10_000
TOLD_EVERY_S = 30
"""Where progress is written to a log, so often."""


def emit_json(value: object) -> None:
    """Print ``value`` as JSON on stdout, in what stdout's encoding can hold."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=ascii_only) + "\n")
    sys.stdout.flush()


def show(*what: RenderableType) -> None:
    """Print for people on stdout."""
    console = _console(error=False)
    for one in what:
        console.print(one, markup=False, highlight=False)


def note(sentence: str) -> None:
    """Say something on stderr."""
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()


@contextmanager
def progress(what: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on stderr with a rate, from the first moment on; where that is no terminal, a line now and then.

    It is told how many are done, and of how many, None: nobody knows yet. ``clock`` tells seconds.
    """
    console = _console(error=True)
    if not console.is_terminal:
        told_at = clock()

        def tell(done: int, total: int | None) -> None:
            nonlocal told_at
            if clock() - told_at >= TOLD_EVERY_S:
                told_at = clock()
                note(f"{what}: {done}" + (f" of {total}" if total else ""))

        yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:.0f}/s" if speed else "")

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def on_progress(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield on_progress


def _console(*, error: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=error)
    if not console.is_terminal:
        console.width = PIPE_WIDTH  # whoever reads a pipe wants lines, not paragraphs
    return console
