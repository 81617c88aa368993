"""Calls to Chroma's server, each within a time, a few at once, and tried twice. Chroma's own client has no limits."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge.engines.server.address import ServerAddress
from knowledge.engines.settings import settings_class
from knowledge.model.errors import IndexMissing, IndexUnreachable, SearchFailed
from knowledge.model.patience import seconds_left

if TYPE_CHECKING:
    import httpx
    from chromadb.api import ServerAPI
    from chromadb.types import Collection

logger = logging.getLogger(__name__)

READ_S = 4.0
"""A read of 150 records takes 10 to 40 ms of a server that is well."""
WRITE_S = 120.0
AT_ONCE = 10
"""Chroma Cloud admits so many reads of a collection at a time."""
WAITING = 40
"""So many calls wait for their turn; one more is refused at once: with 20 ms a read the last waits for 80 ms."""
READ_TRIES, WRITE_TRIES = 2, 5
PAUSE_S = 0.1
"""Before the second try, drawn between half of it and one and a half; doubled for each further one."""
DENIED = (401, 403)
NOT_NOW = (429, 502, 503, 504)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one try may take, and how many there are."""

    seconds: float
    tries: int


READING = Patience(seconds=READ_S, tries=READ_TRIES)
WRITING = Patience(seconds=WRITE_S, tries=WRITE_TRIES)


class Connection:
    """A pool of connections to one server, made at the first call. Safe to use from several threads."""

    def __init__(self, address: ServerAddress, token: Callable[[], str] = str) -> None:
        """``token`` gives the key that the server asks for, "" where it asks for none; it is sent over TLS alone."""
        self.address = address
        self._token = token
        self._api: ServerAPI | None = None
        self.collections: dict[str, Collection] = {}
        """Those that were asked for, by name: their ids, which never change, need not be looked up again."""
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._waiting = threading.BoundedSemaphore(AT_ONCE + WAITING)

    def call[T](self, work: Callable[[ServerAPI], T], *, patience: Patience = READING) -> T:
        """What ``work`` returns of the server's interface.

        Raises:
            IndexUnreachable: it did not answer in time, nobody is there, it refuses the key, or too many calls wait.
            IndexMissing: what was asked for is not there.
            SearchFailed: the call was malformed.
        """
        self._opened()  # loading Chroma's client takes seconds on a busy machine, and is no fault of the server's
        until = time.monotonic() + min(patience.seconds * patience.tries, seconds_left())
        for number in range(patience.tries):
            try:
                return self._once(work, min(patience.seconds, until - time.monotonic()))
            except _Passing as exc:
                pause = PAUSE_S * 2**number * random.uniform(0.5, 1.5)  # noqa: S311 - spreads callers, no secret
                if number + 1 == patience.tries or time.monotonic() + pause >= until:
                    raise IndexUnreachable(f"Chroma's server at {self._place} {exc}. {_WAY_OUT}") from exc.__cause__
                time.sleep(pause)
        raise AssertionError("patience without a try")

    @property
    def is_open(self) -> bool:
        """Whether there are connections."""
        return self._api is not None

    def close(self) -> None:
        """Close all connections; the next call opens new ones, with the key as it is then."""
        with self._lock:
            api, self._api, self.collections = self._api, None, {}
        if api is not None:
            api._session.close()  # type: ignore[attr-defined]  # Chroma's client offers nothing else

    def _once[T](self, work: Callable[[ServerAPI], T], seconds: float) -> T:
        api = self._opened()
        if not self._waiting.acquire(blocking=False):
            raise IndexUnreachable(f"Too many questions wait for Chroma's server at {self._place}. {_WAY_OUT}")
        outcome: Future[T] = Future()
        until = time.monotonic() + max(seconds, 0.001)

        def turn() -> None:
            # A thread that overruns keeps its turn until its socket's own limit ends it: the server is still busy.
            from knowledge.engines.server.time_limit import ends

            try:
                with self._turns:
                    if not outcome.set_running_or_notify_cancel():
                        return
                    ends.set(until)
                    outcome.set_result(work(api))
            except BaseException as exc:  # noqa: BLE001 - it is raised again in the caller's thread
                outcome.set_exception(exc)
            finally:
                self._waiting.release()

        threading.Thread(target=turn, name="chroma-server", daemon=True).start()
        try:
            return outcome.result(timeout=max(seconds, 0.001))
        except TimeoutError as exc:
            outcome.cancel()
            raise _Passing("did not answer in time") from exc
        except (_Passing, IndexMissing, IndexUnreachable, SearchFailed):
            raise
        except Exception as exc:
            raise self._translated(exc) from exc

    def _opened(self) -> ServerAPI:
        from knowledge.engines.server.time_limit import bound, limit

        with self._lock:
            if self._api is None:
                api = _api(self.address, self._token())
                api._session.event_hooks = {"request": [limit], "response": [self._check, bound]}  # type: ignore[attr-defined]
                self._api = api
            return self._api

    def _check(self, response: httpx.Response) -> None:
        """Tell by its status what is not for Chroma's client, which tells it by the body."""
        if response.status_code in DENIED:
            raise IndexUnreachable(f"Chroma's server at {self._place} refuses the key: see INDEX_SECRET_NAME")
        if response.status_code in NOT_NOW:
            logger.warning("Chroma's server answered with status %s", response.status_code)
            raise _Passing("cannot answer now")

    def _translated(self, exc: Exception) -> Exception:
        import httpx
        from chromadb.errors import ChromaError, InternalError, NotFoundError

        if isinstance(exc, NotFoundError):
            return IndexMissing(f"Chroma's server at {self._place} has no such collection. Run: ragctl ingest PATH")
        if isinstance(exc, ChromaError) and not isinstance(exc, InternalError):
            return SearchFailed(f"Chroma's server refused the call: {exc}")
        logger.warning("a call to Chroma's server failed: %s", type(exc).__name__)
        if isinstance(exc, httpx.TimeoutException):
            return _Passing("did not answer in time")
        return _Passing("cannot be reached" if isinstance(exc, httpx.TransportError) else "cannot answer now")

    @property
    def _place(self) -> str:
        return f"{self.address.host}:{self.address.port}"


class _Passing(Exception):
    """A failure that may pass."""


_WAY_OUT = "Ask again in a moment; if it stays so, see whether the server runs, and the network lets this program there"


def _api(address: ServerAddress, token: str) -> ServerAPI:
    """Chroma's client for ``address``; it calls nobody yet."""
    explicit = settings_class()
    from chromadb.api import ServerAPI
    from chromadb.config import System

    if token and not address.tls:
        raise IndexUnreachable("A key is sent to Chroma's server over TLS alone: write https:// in INDEX_URI")
    headers = {"x-chroma-token": token, "Authorization": f"Bearer {token}"} if token else {}
    system = System(
        explicit(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=address.host,
            chroma_server_http_port=address.port,
            chroma_server_ssl_enabled=address.tls,
            chroma_server_headers=headers,
            anonymized_telemetry=False,
        )
    )
    api: ServerAPI = system.instance(ServerAPI)  # type: ignore[type-abstract]  # Chroma finds the class that is set
    return api
