"""Time limits and a circuit breaker for calls to a store.

A question waits a moment for its reads before the answer and a second for its writes after it. A vote waits some
seconds. While the store is down, questions do not wait for it.

A store can be slow in ways that its own timeouts do not bound: SQLite waits for a lock call by call, botocore read by
read. So each call runs in a new thread. A call that exceeds its limit is abandoned in its thread, where its own
timeouts end it. It may still write, although the question has reported the stage as skipped.

On Lambda an abandoned thread is frozen with the process once the response is out and goes on in the next invocation, if
there is one: then its call ends, or fails on a connection that the other side has closed. Nothing waits for it, and it
ends with the environment.

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
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from typing import Any, Concatenate

from rag.adapters.stores.table import Table
from rag.adapters.time_limit import run_in_thread
from rag.errors import StoreOutOfReach, StoreUnavailable

WRITE_BUDGET_S = 1.0
"""For a question's writes, which come after the answer: a stream has sent its text, any other response waits."""
VOTE_BUDGET_S = 8.0
"""For all calls of a vote: longer than the stores' own timeouts, whose errors say more."""
COOL_OFF_S = 10.0
"""While the circuit is open, one call in this time tries the store."""
MAX_ABANDONED = 8
"""The number of abandoned and still running calls at which questions make no further one."""


@dataclass(slots=True)
class _Budget:
    """The seconds that are left for store calls."""

    left_s: float
    is_vote: bool = False


_BUDGETS: ContextVar[tuple[_Budget, _Budget] | None] = ContextVar("budgets", default=None)
"""For the reads and for the writes of the request in progress; a store's methods know nothing of requests."""
_REMAINING_S: ContextVar[Callable[[], float] | None] = ContextVar("remaining_s", default=None)
"""How long a vote still waits for the call of this thread."""


def lock_wait_s(longest_s: float) -> float:
    """Return the seconds that a call may wait for others: ``longest_s``, or less if its vote has less time left."""
    remaining_s = _REMAINING_S.get()
    return longest_s if remaining_s is None else max(0.0, min(longest_s, remaining_s()))


def run_for[T](call: Callable[[], T], limit_s: float) -> Future[T]:
    """Run ``call`` in a new thread and return its future after at most ``limit_s`` seconds."""
    outcome = run_in_thread(call)
    wait([outcome], limit_s)
    return outcome


@dataclass(eq=False)
class StoreGuard:
    """The time limits and the circuit breaker of one table. Serves any number of threads.

    A question has ``question_s`` seconds for all of its reads and ``WRITE_BUDGET_S`` (or ``question_s`` if that is
    more) for all of its writes; a vote has ``vote_s`` or ``VOTE_BUDGET_S``, whichever is less. Before any call has
    succeeded, the first one that exceeds its limit does not open the circuit: connections and credentials are new.

    ``clock`` counts seconds monotonically; ``wall`` gives Unix seconds, because a monotonic clock may stand still while
    Lambda has frozen the process. ``prepare`` runs before each call of a question and is not counted: it makes the
    client, which is this process's own work and is done once.
    """

    question_s: float
    _: KW_ONLY
    vote_s: float = VOTE_BUDGET_S
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    run: Callable[[Callable[[], Any], float], Future[Any]] = run_for
    prepare: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._open_until = 0.0  # 0: the circuit is closed. In the past: the next call tries for all.
        self._is_cold = True  # no call has succeeded or exceeded its limit yet
        self._abandoned: set[Future[Any]] = set()

    @contextmanager
    def question(self) -> Iterator[None]:
        """Give the calls in this block a question's budgets."""
        writes = _Budget(max(WRITE_BUDGET_S, self.question_s))
        with _set(_BUDGETS, (_Budget(self.question_s), writes)):
            yield

    @contextmanager
    def vote(self) -> Iterator[None]:
        """Give the calls in this block a vote's budget and try them even while the circuit is open."""
        with _set(_BUDGETS, self._vote_budgets()):
            yield

    def read[T](self, call: Callable[[], T]) -> T:
        """Return the result of ``call`` within the time for reads, or raise StoreUnavailable."""
        return self._call(call, (_BUDGETS.get() or self._vote_budgets())[0])

    def write[T](self, call: Callable[[], T]) -> T:
        """Return the result of ``call`` within the time for writes, or raise StoreUnavailable: it may still write."""
        return self._call(call, (_BUDGETS.get() or self._vote_budgets())[1])

    def reset(self) -> None:
        """Forget the store's state: a snapshot was restored, elsewhere and much later."""
        with self._lock:
            self._open_until = 0.0
            self._is_cold = True
            self._abandoned.clear()

    def _vote_budgets(self) -> tuple[_Budget, _Budget]:
        budget = _Budget(min(VOTE_BUDGET_S, self.vote_s), is_vote=True)
        return budget, budget

    def _call[T](self, call: Callable[[], T], budget: _Budget) -> T:
        limit_s = budget.left_s
        if limit_s <= 0:
            raise StoreUnavailable("not tried, the request's time for stores is spent")
        if not budget.is_vote:
            with self._lock:
                if self._is_open():
                    raise StoreUnavailable("not tried, the store was slow or out of reach a moment ago")
                if self._open_until:  # this call tries for all
                    self._open_until = self.wall() + COOL_OFF_S
            self.prepare()
        started = self.clock()

        def timed_call() -> T:
            with _set(_REMAINING_S, (lambda: started + limit_s - self.clock()) if budget.is_vote else None):
                return call()

        outcome: Future[T] = self.run(timed_call, limit_s)
        budget.left_s -= self.clock() - started
        is_late = not outcome.done()
        if is_late:
            with self._lock:
                self._abandoned.add(outcome)
                if not self._is_cold and limit_s >= self.question_s:  # a shorter limit says nothing about the store
                    self._open_until = self.wall() + COOL_OFF_S
                self._is_cold = False
        outcome.add_done_callback(self._learn)
        if is_late:
            raise StoreUnavailable(f"the store took longer than {1000 * limit_s:.0f} ms")
        return outcome.result()

    def _is_open(self) -> bool:
        # A clock that was set back must not keep the store out of use.
        return len(self._abandoned) >= MAX_ABANDONED or 0 < self._open_until - self.wall() <= COOL_OFF_S

    def _learn(self, outcome: Future[Any]) -> None:
        """Close the circuit after a success, in time or late; open it if the store was out of reach."""
        error = outcome.exception()
        with self._lock:
            self._abandoned.discard(outcome)
            if error is None:
                self._open_until, self._is_cold = 0.0, False
            elif isinstance(error, StoreOutOfReach):
                self._open_until = self.wall() + COOL_OFF_S


class GuardedStore:
    """A store on ``table`` whose calls ``guard`` limits; None: no limits."""

    def __init__(self, table: Table, guard: StoreGuard | None = None) -> None:
        self.guard = guard
        self._table = table


type StoreMethod[S, **P, T] = Callable[Concatenate[S, P], T]


def guarded_read[S: GuardedStore, **P, T](method: StoreMethod[S, P, T]) -> StoreMethod[S, P, T]:
    """Mark a store's method as a read that its guard limits."""
    return _guarded(method, StoreGuard.read)


def guarded_write[S: GuardedStore, **P, T](method: StoreMethod[S, P, T]) -> StoreMethod[S, P, T]:
    """Mark a store's method as a write that its guard limits."""
    return _guarded(method, StoreGuard.write)


def _guarded[S: GuardedStore, **P, T](
    method: StoreMethod[S, P, T], run: Callable[[StoreGuard, Callable[[], T]], T]
) -> StoreMethod[S, P, T]:
    @wraps(method)
    def call(store: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if store.guard is None:
            return method(store, *args, **kwargs)
        return run(store.guard, lambda: method(store, *args, **kwargs))

    return call


@contextmanager
def _set[V](variable: ContextVar[V], value: V) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
