"""What can go wrong under the emulator.

EmulatorError
├── NotBuilt         what it needs is not there; the message says what to run
├── EmulatorEnded    the emulator itself did not start, or ended
└── FunctionFailed   the function did not start, or ended in the middle of an invocation
"""

from __future__ import annotations

from collections.abc import Sequence


class EmulatorError(Exception):
    """Base of every error that this package raises on purpose."""


class NotBuilt(EmulatorError):
    """Something that the emulator needs is not there; the message says what to run."""


class EmulatorEnded(EmulatorError):
    """The emulator did not start, or ended; what it wrote itself is on standard error."""


class FunctionFailed(EmulatorError):
    """The function gave no answer, not even an error of its own: the message is what it wrote, then the reason."""

    def __init__(self, reason: str, lines: Sequence[str] = ()) -> None:
        super().__init__("\n".join([*lines, f"The function failed: {reason}"]))
        self.reason = reason
        self.lines = tuple(lines)
