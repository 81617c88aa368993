"""The output of a command: results on stdout; notes, progress and errors on stderr."""

from __future__ import annotations

import errno
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from evaluate.question_files import EvaluationError
from publish.errors import PublishFailed

DONE = 0
FAILED = 1
BAD_USAGE = 2
INTERRUPTED = 130
"""The status that shells report of a command that Ctrl-C ended."""
PIPE_WIDTH = 10_000
LOG_INTERVAL_S = 30
"""Seconds between two lines of progress in a log."""


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """An error as the user sees it; ``extra`` is added to the JSON form."""

    sentence: str
    code: str
    exit_status: int = FAILED
    extra: dict[str, Any] = field(default_factory=dict)


class CommandFailed(Exception):
    """A command could not do its work, and has a message for the user."""

    def __init__(self, sentence: str, *, code: str, exit_status: int = FAILED, **extra: Any) -> None:
        super().__init__(sentence)
        self.message = ErrorMessage(sentence, code, exit_status, extra)


def describe_error(error: Exception) -> ErrorMessage | None:
    """Return the message for ``error``, or None if the program does not expect it."""
    # Late: `ragctl --help` needs none of this.
    from knowledge.model.errors import KnowledgeError
    from rag.errors import BadRequest, ConfigurationError, LlmFailed, LlmUnavailable, RagError
    from rag.http.failures import explain

    match error:
        case CommandFailed():
            return error.message
        case BadRequest():
            return ErrorMessage(error.sentence(), error.code, BAD_USAGE)
        case LlmFailed() | LlmUnavailable():
            # The vendor's words stay out, here as over HTTP.
            return ErrorMessage(explain(error).sentence, error.code)
        case ConfigurationError() | EvaluationError() | KnowledgeError() | PublishFailed() | RagError():
            return ErrorMessage(str(error), error.code)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return ErrorMessage(f"The disk is full: {error.filename or 'a file could not be written'}", "os_error")
        case OSError() if error.strerror:
            where = f": {error.filename}" if error.filename else ""
            return ErrorMessage(f"{error.strerror}{where}", "os_error")
        case _:
            return None


def emit_json(value: object) -> None:
    """Print ``value`` as JSON on stdout, escaped to ASCII if stdout's encoding is not UTF-8."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=ascii_only) + "\n")
    sys.stdout.flush()


def print_rich(*renderables: RenderableType) -> None:
    """Print for people on stdout."""
    console = _console(error=False)
    for one in renderables:
        console.print(one, markup=False, highlight=False)


def note(sentence: str) -> None:
    """Print ``sentence`` on stderr."""
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()


@contextmanager
def progress(title: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar with a rate on stderr; without a terminal, print a line every ``LOG_INTERVAL_S`` seconds.

    The caller passes the number that is done and the total, or None while the total is unknown. ``clock`` returns
    seconds.
    """
    console = _console(error=True)
    if not console.is_terminal:
        logged_at = clock()

        def log(done: int, total: int | None) -> None:
            nonlocal logged_at
            if clock() - logged_at >= LOG_INTERVAL_S:
                logged_at = clock()
                note(f"{title}: {done}" + (f" of {total}" if total else ""))

        yield log
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:.0f}/s" if speed else "")

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _console(*, error: bool) -> Console:
    console = Console(stderr=error)
    if not console.is_terminal:
        console.width = PIPE_WIDTH  # a pipe's reader wants lines, not paragraphs
    return console
