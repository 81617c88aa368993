"""What a bar is chosen for: the errors that it keeps small."""

from __future__ import annotations

from enum import StrEnum


class Goal(StrEnum):
    """``BOTH`` is the best compromise, which promises nothing of either."""

    FALSE_REFUSALS = "false-refusals"
    FALSE_ANSWERS = "false-answers"
    BOTH = "both"
