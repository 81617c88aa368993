"""What one request gathers on its way through the pipeline: timings, what failed or happened, what LLMs were used."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rag.errors import LlmError, RagError
from rag.values.chat import Completion, Deadline, LlmUse
from rag.values.request import Event, Listen

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Ledger:
    """The state of one request.

    ``listen`` is told what becomes true, where somebody wants to know.
    ``timings`` are milliseconds by slot, ``skipped`` the optional stages that failed, ``llm`` what was used of LLMs.
    """

    clock: Callable[[], float]
    deadline: Deadline
    listen: Listen | None = None
    timings: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    llm: LlmUse = field(default_factory=LlmUse)

    def tell(self, event: Event) -> None:
        """Tell whoever listens."""
        if self.listen is not None:
            self.listen(event)

    def time[**P, T](self, slot: str, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call, and add what it took to ``slot``'s time, whether it returns or raises."""
        start = self.clock()
        try:
            return call(*args, **kwargs)
        finally:
            self.timings[slot] = self.timings.get(slot, 0.0) + 1000 * (self.clock() - start)

    def optional[T](self, slot: str, call: Callable[[], T], default: T, *, needs_s: float = 0.0) -> T:
        """Call an optional stage; when it fails, log it, name it in ``skipped`` and go on with ``default``.

        One that may take more seconds (``needs_s``) than are left is not called.
        """
        try:
            if self.deadline.remaining() < needs_s:
                raise TimeoutError("too little time is left")
            return self.time(slot, call)
        except Exception as exc:  # noqa: BLE001 - whatever an optional stage does, the question is answered
            logger.warning("%s is skipped: %s: %s", slot, type(exc).__name__, exc)
            self.skipped.append(slot)
            return default

    @contextmanager
    def reported(self) -> Iterator[None]:
        """An error that ends the request takes along what was used until then; ``used_before`` reads it."""
        try:
            yield
        except RagError as exc:
            exc.spent = self.llm
            raise
        except Exception as exc:
            vars(exc)["spent"] = self.llm  # knowledge's errors and those that nobody expected have no such field
            raise

    def complete(self, call: Callable[[], Completion]) -> Completion:
        """Call a model, and add what was used to ``llm``, whether it answers or raises.

        Raises:
            LlmError: as ``call``.
        """
        try:
            completion = call()
        except LlmError as exc:
            self.llm += exc.spent
            raise
        self.llm += LlmUse.from_completion(completion)
        return completion


def used_before(error: Exception) -> LlmUse:
    """What a request had used of LLMs when it ended in ``error``."""
    return error.spent if isinstance(error, RagError) else vars(error).get("spent", LlmUse())
