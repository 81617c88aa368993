"""The ledger of one request: timings, failed stages, events and the use of models."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rag.errors import LlmError
from rag.values.chat import Completion, Deadline, LlmUse, Usage
from rag.values.request import Event, Listen

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Ledger:
    """The mutable state of one request.

    ``listen`` is called with events, None if the caller wants none. ``timings`` are milliseconds by slot, ``skipped``
    the optional stages that failed, ``llm`` the use of models.
    """

    clock: Callable[[], float]
    deadline: Deadline
    listen: Listen | None = None
    timings: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    llm: LlmUse = field(default_factory=LlmUse)

    def emit(self, event: Event) -> None:
        """Pass ``event`` to the listener, if there is one."""
        if self.listen is not None:
            self.listen(event)

    def time[**P, T](self, slot: str, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call, and add the elapsed time to ``slot``, also if the call raises."""
        start = self.clock()
        try:
            return call(*args, **kwargs)
        finally:
            self.timings[slot] = self.timings.get(slot, 0.0) + 1000 * (self.clock() - start)

    def optional[T](self, slot: str, call: Callable[[], T], default: T, *, needs_s: float = 0.0) -> T:
        """Call an optional stage; if it fails, log it, add it to ``skipped`` and return ``default``.

        A stage that needs more than the remaining seconds (``needs_s``) is not called.
        """
        try:
            if self.deadline.remaining() < needs_s:
                raise TimeoutError("too little time is left")
            return self.time(slot, call)
        except Exception as exc:  # noqa: BLE001 - the question is answered whatever fails here
            logger.warning("%s is skipped: %s: %s", slot, type(exc).__name__, exc)
            self.skipped.append(slot)
            return default

    @contextmanager
    def report_errors(self) -> Iterator[None]:
        """Attach the use of models to an error that ends the request; ``used_before`` reads it."""
        try:
            yield
        except Exception as exc:
            vars(exc)["spent"] = self.llm  # errors of knowledge and unexpected ones have no such field
            raise

    def complete(self, call: Callable[[], Completion]) -> Completion:
        """Call a model and add its use to ``llm``, also if the call raises.

        Raises:
            LlmError: as ``call``.
        """
        try:
            completion = call()
        except LlmError as exc:
            self.llm += exc.spent
            raise
        usage = completion.usage or Usage(0, 0, 0)
        self.llm += LlmUse(
            calls=completion.calls,
            retries=completion.retries,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            denied=completion.denied,
        )
        return completion


def used_before(error: Exception) -> LlmUse:
    """Return the use of models in a request that ended in ``error``."""
    spent: LlmUse = vars(error).get("spent", LlmUse())
    return spent
