"""How long anybody waits for a store.

A question waits a moment before its answer and a second after it, a vote some seconds, nobody for one that is down.

Stores may be slow in ways that their own timeouts do not bound: SQLite waits for a lock call by call, botocore read by
read. So each call runs in a thread of its own, and whoever waits no longer leaves it there, where it ends by its own
timeouts. What it wrote may then be kept after all, though the question has said that it was skipped.

On Lambda a thread that was left is frozen with everything else once the response is out, and goes on in the next
invocation, if there is one: then its call ends, or fails on a connection that the other side has closed. Nothing waits
for it, and an environment that Lambda ends takes it along.

No library does this. Circuit breakers (Powertools' too, which keeps its state in DynamoDB) count failures: they neither
end a call that takes too long nor learn from one that answers late.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from rag.adapters.time_limit import start
from rag.errors import StoreOutOfReach, StoreUnavailable

AFTER_ANSWER_S = 1.0
"""For what is written once the answer is made: of a stream its text has been sent, any other waits for it."""
PATIENT_S = 8.0
"""A vote, with all of its calls: longer than the stores' own timeouts, whose errors say more."""
COOL_OFF_S = 10.0
"""After it was out of reach, one call in this time tries it again."""
MAX_LEFT = 8
"""Calls that were left and have not ended: with so many no question tries another."""


@dataclass(slots=True)
class _TimeBudget:
    """What a question has of time for what it reads and for what it writes, or a vote for both, in seconds."""

    read_s: float
    write_s: float = 0.0
    patient: bool = False

    def left_s(self, *, writes: bool) -> float:
        return self.write_s if writes and not self.patient else self.read_s

    def spend(self, seconds: float, *, writes: bool) -> None:
        if writes and not self.patient:
            self.write_s -= seconds
        else:
            self.read_s -= seconds


_BUDGET: ContextVar[_TimeBudget | None] = ContextVar("budget", default=None)
"""Of the question that is being answered; a store's methods know nothing of requests."""
_LEFT_S: ContextVar[Callable[[], float] | None] = ContextVar("left_s", default=None)
"""For how long somebody still waits for the call that this thread makes. A question's call may outlast it."""


def patience_s(most_s: float) -> float:
    """For how many seconds a store's call may wait for others: ``most_s``, or less where its vote has less left."""
    left_s = _LEFT_S.get()
    return most_s if left_s is None else max(0.0, min(most_s, left_s()))


def in_a_thread[T](call: Callable[[], T], limit_s: float) -> Future[T]:
    """What comes of ``call`` in a thread of its own, after at most ``limit_s`` seconds."""
    outcome = start(call)
    wait([outcome], limit_s)
    return outcome


class StoreGuard:
    """What stands before the stores of one table or file. Serves any number of threads.

    A question waits ``question_s`` seconds for all that it reads together, and for all that it writes
    ``AFTER_ANSWER_S`` (or ``question_s`` where that is more), a vote ``vote_s`` or ``PATIENT_S``, whichever is less.
    The first call that takes too long, before any has succeeded, shuts nothing: connections and credentials are new.
    ``clock`` counts seconds, monotonically; ``wall`` gives Unix seconds, as a monotonic clock may stand still
    while Lambda has frozen the process. ``run`` runs something, and waits so many seconds at most for what comes of it.
    ``prepare`` comes before each call of a question and is not counted: it makes the client, which is this process's
    own work and is done once.
    """

    def __init__(
        self,
        question_s: float,
        *,
        vote_s: float = PATIENT_S,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        run: Callable[[Callable[[], Any], float], Future[Any]] = in_a_thread,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._question_s = question_s
        self._vote_s = min(PATIENT_S, vote_s)
        self._clock = clock
        self._wall = wall
        self._run = run
        self._prepare = prepare
        self._lock = threading.Lock()
        self._shut_until = 0.0  # 0: open to all. Past: whoever comes next tries for all.
        self._cold = True  # nothing has succeeded or taken too long yet
        self._left: set[Future[Any]] = set()

    @contextmanager
    def question(self) -> Iterator[None]:
        """In this block reads share a question's time before the answer, and writes its time after it."""
        with _set(_BUDGET, _TimeBudget(self._question_s, max(AFTER_ANSWER_S, self._question_s))):
            yield

    @contextmanager
    def vote(self) -> Iterator[None]:
        """In this block calls share a vote's time, and are tried whatever questions found."""
        with _set(_BUDGET, _TimeBudget(self._vote_s, patient=True)):
            yield

    def read[T](self, call: Callable[[], T]) -> T:
        """What ``call`` returns or raises.

        Raises:
            StoreUnavailable: it took too long, or was not tried.
        """
        return self._called(call, writes=False)

    def write[T](self, call: Callable[[], T]) -> T:
        """See ``read``; when this raises, it may have been written, or be written yet."""
        return self._called(call, writes=True)

    @property
    def shut(self) -> bool:
        """Whether a question's call would not be tried now."""
        with self._lock:
            return self._is_shut()

    def reset(self) -> None:
        """Forget what was found of the store: a snapshot was restored, elsewhere and much later."""
        with self._lock:
            self._shut_until = 0.0
            self._cold = True
            self._left.clear()

    def _called[T](self, call: Callable[[], T], *, writes: bool) -> T:
        budget = _BUDGET.get() or _TimeBudget(self._vote_s, patient=True)
        left_s = budget.left_s(writes=writes)
        if left_s <= 0:
            raise StoreUnavailable("not tried, the request's time for stores is spent")
        if not budget.patient:
            self._admit()
            self._prepare()
        started = self._clock()
        try:
            return self._within(left_s, self._bounded(left_s, call) if budget.patient else call)
        finally:
            budget.spend(self._clock() - started, writes=writes)

    def _bounded[T](self, limit_s: float, call: Callable[[], T]) -> Callable[[], T]:
        """``call``, which waits for others no longer than somebody waits for it."""
        ends = self._clock() + limit_s

        def bounded() -> T:
            with _set(_LEFT_S, lambda: ends - self._clock()):
                return call()

        return bounded

    def _admit(self) -> None:
        with self._lock:
            if self._is_shut():
                raise StoreUnavailable("not tried, the store was slow or out of reach a moment ago")
            if self._shut_until:
                self._shut_until = self._wall() + COOL_OFF_S  # this call tries for all

    def _is_shut(self) -> bool:
        # A clock that was set back must not keep the store out of use.
        return len(self._left) >= MAX_LEFT or 0 < self._shut_until - self._wall() <= COOL_OFF_S

    def _within[T](self, limit_s: float, call: Callable[[], T]) -> T:
        outcome: Future[T] = self._run(call, limit_s)
        late = not outcome.done()
        if late:
            with self._lock:
                self._left.add(outcome)
                if not self._cold and limit_s >= self._question_s:  # one that had less tells nothing of the store
                    self._shut_until = self._wall() + COOL_OFF_S
                self._cold = False
        outcome.add_done_callback(self._learn)
        if late:
            raise StoreUnavailable(f"the store took longer than {1000 * limit_s:.0f} ms")
        return outcome.result()

    def _learn(self, outcome: Future[Any]) -> None:
        """A call has ended, in time or late: who got an answer has shown that there are answers to be had."""
        error = outcome.exception()
        with self._lock:
            self._left.discard(outcome)
            if error is None:
                self._shut_until, self._cold = 0.0, False
            elif isinstance(error, StoreOutOfReach):
                self._shut_until = self._wall() + COOL_OFF_S


@contextmanager
def _set[V](variable: ContextVar[V], value: V) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
