"""What a command prints: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console, RenderableType


PIPE_WIDTH = 10_000


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
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr that says ``what`` is done, when that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = _console(error=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, visible=False)

        def on_progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield on_progress


def _console(*, error: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=error)
    if not console.is_terminal:
        console.width = PIPE_WIDTH  # whoever reads a pipe wants lines, not paragraphs
    return console
