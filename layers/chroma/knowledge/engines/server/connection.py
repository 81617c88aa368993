"""Calls to Chroma's server with time limits, retries and a limit on concurrent calls. Chroma's own client has none."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from knowledge.engines.chroma import server_api
from knowledge.engines.server.address import ServerAddress
from knowledge.model.errors import IndexMissing, IndexUnreachable, SearchFailed
from knowledge.model.waiting import seconds_left

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.types import Collection

logger = logging.getLogger(__name__)

AT_ONCE = 10
"""Concurrent reads of a collection that Chroma Cloud admits."""
WAITING = 40
"""Calls that may wait for their turn; one more is refused at once: with 20 ms a read the last waits for 80 ms."""
PAUSE_S = 0.1
"""Before the second try, drawn between half of it and one and a half; doubled for each further one."""
DENIED = (401, 403)
NOT_NOW = (429, 502, 503, 504)
MAX_SOCKET_S = 3600.0
"""A socket takes no infinite limit."""

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
"""The time (``time.monotonic()``) at which this thread's calls must end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """The time limit of one try, and the number of tries."""

    seconds: float
    tries: int


READ_POLICY = CallPolicy(seconds=4.0, tries=2)
"""A read of 150 records takes 10 to 40 ms on a healthy server."""
WRITE_POLICY = CallPolicy(seconds=120.0, tries=5)


class Connection:
    """A pool of connections to one server, opened at the first call. Safe to use from several threads."""

    def __init__(self, address: ServerAddress, token: Callable[[], str] = str) -> None:
        """``token`` gives the server's key, "" where it needs none; it is sent over TLS only."""
        self.address = address
        self._token = token
        self._api: ServerAPI | None = None
        self.collections: dict[str, Collection] = {}
        """Known collections by name: their ids never change and need no second look-up."""
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._waiting = threading.BoundedSemaphore(AT_ONCE + WAITING)

    def call[T](self, work: Callable[[ServerAPI], T], *, policy: CallPolicy = READ_POLICY) -> T:
        """Return the result of ``work``, which gets the server's API.

        Raises:
            IndexUnreachable: the server did not answer in time or refused the key, or too many calls wait.
            IndexMissing: the collection does not exist.
            SearchFailed: the call was malformed.
        """
        self._open()  # loading Chroma's client takes seconds on a busy machine, and is no fault of the server's
        until = time.monotonic() + min(policy.seconds * policy.tries, seconds_left())
        for number in range(policy.tries):
            try:
                return self._try(work, min(policy.seconds, until - time.monotonic()))
            except _TransientFailure as exc:
                pause = PAUSE_S * 2**number * random.uniform(0.5, 1.5)  # noqa: S311 - spreads callers, no secret
                if number + 1 == policy.tries or time.monotonic() + pause >= until:
                    raise IndexUnreachable(f"Chroma's server at {self._place} {exc}. {_ADVICE}") from exc.__cause__
                time.sleep(pause)
        raise AssertionError("a policy without a try")

    def close(self) -> None:
        """Close all connections; the next call opens new ones, with the key as it is then."""
        with self._lock:
            api, self._api, self.collections = self._api, None, {}
        if api is not None:
            api._session.close()  # type: ignore[attr-defined]  # Chroma's client offers nothing else

    def _try[T](self, work: Callable[[ServerAPI], T], seconds: float) -> T:
        api = self._open()
        if not self._waiting.acquire(blocking=False):
            raise IndexUnreachable(f"Too many questions wait for Chroma's server at {self._place}. {_ADVICE}")
        outcome: Future[T] = Future()
        seconds = max(seconds, 0.001)
        until = time.monotonic() + seconds

        def run() -> None:
            # A thread that overruns keeps its turn until its socket's own limit ends it: the server is still busy.
            try:
                with self._turns:
                    if not outcome.set_running_or_notify_cancel():
                        return
                    _deadline.set(until)
                    outcome.set_result(work(api))
            except BaseException as exc:  # noqa: BLE001 - it is raised again in the caller's thread
                outcome.set_exception(exc)
            finally:
                self._waiting.release()

        threading.Thread(target=run, name="chroma-server", daemon=True).start()
        try:
            return outcome.result(timeout=seconds)
        except TimeoutError as exc:
            outcome.cancel()
            raise _TransientFailure("did not answer in time") from exc
        except (_TransientFailure, IndexMissing, IndexUnreachable, SearchFailed):
            raise
        except Exception as exc:
            raise self._translate(exc) from exc

    def _open(self) -> ServerAPI:
        with self._lock:
            if self._api is None:
                token = self._token()
                if token and not self.address.tls:
                    raise IndexUnreachable(
                        "A key is sent to Chroma's server over TLS alone: write https:// in INDEX_URI"
                    )
                headers = {"x-chroma-token": token, "Authorization": f"Bearer {token}"} if token else {}
                api = server_api(self.address.host, self.address.port, tls=self.address.tls, headers=headers)
                hooks = {"request": [_limit_request], "response": [self._check_status, _limit_body]}
                api._session.event_hooks = hooks  # type: ignore[attr-defined]
                self._api = api
            return self._api

    def _check_status(self, response: httpx.Response) -> None:
        """Raise for statuses that Chroma's client, which reads the body, would report as something else."""
        if response.status_code in DENIED:
            raise IndexUnreachable(f"Chroma's server at {self._place} refuses the key: see INDEX_SECRET_NAME")
        if response.status_code in NOT_NOW:
            logger.warning("Chroma's server answered with status %s", response.status_code)
            raise _TransientFailure("cannot answer now")

    def _translate(self, exc: Exception) -> Exception:
        from chromadb.errors import ChromaError, InternalError, NotFoundError

        if isinstance(exc, NotFoundError):
            return IndexMissing(f"Chroma's server at {self._place} has no such collection. Run: ragctl ingest PATH")
        if isinstance(exc, ChromaError) and not isinstance(exc, InternalError):
            return SearchFailed(f"Chroma's server refused the call: {exc}")
        logger.warning("a call to Chroma's server failed: %s", type(exc).__name__)
        if isinstance(exc, httpx.TimeoutException):
            return _TransientFailure("did not answer in time")
        return _TransientFailure("cannot be reached" if isinstance(exc, httpx.TransportError) else "cannot answer now")

    @property
    def _place(self) -> str:
        return f"{self.address.host}:{self.address.port}"


class _TransientFailure(Exception):
    """A failure that may pass."""


_ADVICE = "Ask again in a moment; if it stays so, see whether the server runs, and the network lets this program there"


def _limit_request(request: httpx.Request) -> None:
    """Limit each wait of ``request`` to the thread's deadline; a hook of httpx."""
    seconds = min(MAX_SOCKET_S, max(0.001, _deadline.get() - time.monotonic()))
    request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), seconds)


def _limit_body(response: httpx.Response) -> None:
    """Limit the reading of the body to the thread's deadline; a hook of httpx.

    httpx's own limit starts again with each byte that arrives.
    """
    assert isinstance(response.stream, httpx.SyncByteStream)  # noqa: S101 - of a client that is not async
    response.stream = _LimitedStream(response.stream)


class _LimitedStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() > _deadline.get():
                raise httpx.ReadTimeout("The answer took too long")
            yield part

    def close(self) -> None:
        self._stream.close()
