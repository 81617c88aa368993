"""From an exception to what the user is told: one sentence, a stable code, an exit status."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import Any

DONE = 0
FAILED = 1
BAD_USAGE = 2
INTERRUPTED = 130
"""What shells report of a command that Ctrl-C ended."""


@dataclass(frozen=True, slots=True)
class Problem:
    """``more`` is added to the JSON form."""

    sentence: str
    code: str
    exit_status: int = FAILED
    more: dict[str, Any] = field(default_factory=dict)


class CommandFailed(Exception):
    """A command could not do its work, and knows what to say."""

    def __init__(self, sentence: str, *, code: str, exit_status: int = FAILED, **more: Any) -> None:
        super().__init__(sentence)
        self.problem = Problem(sentence, code, exit_status, more)


def describe(error: Exception) -> Problem | None:
    """What to say of ``error``; None when nobody expected it."""
    # Late: `ragctl --help` needs none of this.
    from evaluate.errors import EvaluationError
    from knowledge.model.errors import KnowledgeError
    from rag.errors import BadRequest, ConfigurationError, LlmFailed, LlmUnavailable, RagError
    from rag.http.failures import explain

    match error:
        case CommandFailed():
            return error.problem
        case BadRequest():
            return Problem(error.sentence(), error.code, BAD_USAGE)
        case LlmFailed() | LlmUnavailable():
            # The vendor's words stay out, here as over HTTP.
            return Problem(explain(error).sentence, error.code)
        case ConfigurationError() | EvaluationError() | KnowledgeError() | RagError():
            return Problem(str(error), error.code)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return Problem(f"The disk is full: {error.filename or 'a file could not be written'}", "os_error")
        case OSError() if error.strerror:
            where = f": {error.filename}" if error.filename else ""
            return Problem(f"{error.strerror}{where}", "os_error")
        case _:
            return None
