"""What can go wrong with a measurement; messages name the file, and what to do."""

from __future__ import annotations


class EvaluationError(Exception):
    """Base of every error that this package raises on purpose; ``code`` is stable."""

    code = "evaluation_error"


class UnusableFile(EvaluationError):
    """A file of questions, judgements or figures cannot be read, or is none."""

    code = "source_unreadable"


class Interrupted(EvaluationError):
    """Somebody interrupted a run; what was answered is kept."""

    code = "interrupted"
