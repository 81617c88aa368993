"""What a check is, what it may find, and how long it waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

type Status = Literal["ok", "failed", "skipped"]


class Failed(Exception):
    """A check found something else than it should have. The sentence says what was seen."""


class Skipped(Exception):
    """A check does not apply to this stack. The sentence says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one check. ``look`` says where to look next; it is empty unless the check failed."""

    name: str
    status: Status
    seen: str
    look: str = ""


@dataclass(frozen=True, slots=True)
class Check[Subject]:
    """``run`` returns what it saw where that is as it should be, else it raises ``Failed`` or ``Skipped``."""

    name: str
    run: Callable[[Subject], str]
    look: str


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for what comes late: ``seconds`` in all, ``pause_s`` between two looks."""

    seconds: float = 300.0
    pause_s: float = 10.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def until[T](self, look: Callable[[], T | None]) -> T | None:
        """The first thing but None that ``look`` returns; None when the time is over."""
        give_up_at = self.clock() + self.seconds
        while (found := look()) is None and self.clock() < give_up_at:
            self.sleep(self.pause_s)
        return found


def examine[Subject](
    checks: Sequence[Check[Subject]], subject: Subject, tell: Callable[[Result], object] = lambda _: None
) -> tuple[Result, ...]:
    """Run ``checks`` in order, all of them whatever one finds; ``tell`` gets each result as it comes."""
    results = []
    for check in checks:
        results.append(_examined(check, subject))
        tell(results[-1])
    return tuple(results)


def _examined[Subject](check: Check[Subject], subject: Subject) -> Result:
    try:
        return Result(check.name, "ok", check.run(subject))
    except Skipped as reason:
        return Result(check.name, "skipped", str(reason))
    except Failed as finding:
        seen = str(finding)
    except ClientError as error:
        seen = f"AWS refused {error.operation_name}: {error.response['Error']['Code']}"
    except (BotoCoreError, OSError) as error:
        seen = f"{type(error).__name__}: {error}"
    return Result(check.name, "failed", seen, check.look)
