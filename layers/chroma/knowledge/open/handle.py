"""Opening an index wherever it is, and holding it open while it may be absent, or replaced under requests."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.engines.collection import SQLITE_NAME
from knowledge.engines.server.address import is_server
from knowledge.model.errors import IndexMissing, IndexUnavailable, KnowledgeError
from knowledge.model.manifest import MANIFEST_NAME
from knowledge.open.index import open_index
from knowledge.open.place import folder_of

if TYPE_CHECKING:
    from knowledge.model.values import Embedder
    from knowledge.open.opened import ChromaIndex

POLL_S = 30.0
"""Maximum age of what is known of a server's current version."""
RETRY_AFTER_S = 2.0
"""An index that failed to open is tried again no sooner: opening one means reading all of it."""


def open_anywhere(
    uri: str,
    *,
    embedder: Embedder,
    collection: str,
    token: Callable[[], str] = str,
    copy_first: bool = False,
    warm: bool = True,
) -> ChromaIndex:
    """Open the index at ``uri``; ``copy_first`` and ``warm`` are for one in a folder, ``token`` gives a server's key.

    Raises:
        IndexUnavailable: see ``knowledge.open.index.open_index`` and ``knowledge.open.server_index``.
    """
    if is_server(uri):
        from knowledge.open.server_index import open_server_index  # late: few have an index on a server

        return open_server_index(uri, embedder=embedder, collection=collection, token=token)
    return open_index(uri, embedder=embedder, collection=collection, copy_first=copy_first, warm=warm)


class IndexHandle:
    """Holds the open index. A missing index is a state: it is reported when one is asked for, not at construction.

    A request takes ``with handle.lease() as index`` around all that it does with the index, which stays open until
    the lease ends, however often it is replaced meanwhile. ``refresh()`` is cheap enough to call before every request.
    """

    def __init__(
        self,
        open: Callable[[], ChromaIndex],
        *,
        changed: Callable[[], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open nothing yet: the first request, or ``refresh()``, does.

        Args:
            open: opens the index as it is now.
            changed: a cheap value that differs once the index was replaced (``watch``). Without it an open index is
                kept until ``swap()``.
            clock: seconds, for the pause between attempts.
        """
        self._open = open
        self._changed = changed
        self._clock = clock
        self._lock = threading.Lock()  # guards _slot and every lease count
        self._opening = threading.Lock()  # one thread opens
        self._slot: _Slot | None = None
        self._tried = False
        self._seen: object = None
        self._retry_at_s = 0.0
        self._error: KnowledgeError = IndexMissing("No index is loaded. Run: ragctl ingest PATH")
        self.last_error: KnowledgeError | None = None
        """Reason why the latest attempt to open failed; None once one succeeded."""

    @contextmanager
    def lease(self) -> Iterator[ChromaIndex]:
        """Keep the current index open for the ``with`` block.

        Raises:
            IndexUnavailable: there is none; the reason is that of the last attempt to open it.
        """
        if not self._tried:
            self.refresh()
        with self._lock:
            slot = self._slot
            if slot is not None:
                slot.leases += 1
        if slot is None:
            # One stored exception is raised many times: without this its traceback would grow with each.
            raise self._error.with_traceback(None)
        try:
            yield slot.index
        finally:
            with self._lock:
                slot.leases -= 1
                unused = slot is not self._slot and not slot.leases
            if unused:
                slot.index.close()

    @property
    def opened(self) -> ChromaIndex | None:
        """The index that is open now, None where there is none. Nothing is opened for it."""
        with self._lock:
            return self._slot.index if self._slot else None

    def disconnect(self) -> None:
        """Close the connections of an open index; it opens new ones when it is asked."""
        if (index := self.opened) is not None:
            index.disconnect()

    def swap(self, index: ChromaIndex) -> None:
        """Put ``index`` in place. The one before is closed once no request uses it."""
        self._put(_Slot(index))
        self.last_error = None

    def refresh(self) -> bool:
        """Open the index again if it was replaced, or if there is none yet; True when it was swapped in.

        When that fails the old one stays, ``last_error`` says why, and the next attempt waits for ``RETRY_AFTER_S``
        or another change. While one thread opens, others go on with the index that there is.
        """
        if not self._opening.acquire(blocking=not self._tried):
            return False
        try:
            return self._refresh()
        finally:
            self._opening.release()

    def close(self) -> None:
        """Let go of the index; it is closed once no request uses it."""
        self._put(None)

    def _refresh(self) -> bool:
        state = self._changed() if self._changed else None
        waiting = self._clock() < self._retry_at_s
        if self._tried and state == self._seen and (self.last_error is None or waiting):
            return False
        try:
            index = self._open()
        except KnowledgeError as error:
            self.last_error = self._error = error
            self._retry_at_s = self._clock() + RETRY_AFTER_S
            return False
        else:
            self.swap(index)
            return True
        finally:
            # Read before opening: a change during the opening shows at the next refresh.
            self._seen = state
            self._tried = True

    def _put(self, slot: _Slot | None) -> None:
        with self._lock:
            before, self._slot = self._slot, slot
            self._tried = self._tried or slot is not None
            unused = before is not None and not before.leases
        if before is not None and unused:
            before.index.close()


@dataclass(eq=False)
class _Slot:
    """One index and the number of requests that use it."""

    index: ChromaIndex
    leases: int = 0


def watch(uri: str | Path, version: Callable[[], str] = str) -> Callable[[], object]:
    """Return a function whose value changes when the index at ``uri`` is replaced, cheap enough for each request.

    For a folder the value is its manifest's (or database's) inode, mtime in ns and size; None while there is nothing,
    or nothing that this program can open. For a server it is the result of ``version``, at most ``POLL_S`` old, or the
    last one where the server cannot be asked.
    """
    return _PolledVersion(version) if is_server(uri) else lambda: _stat(uri)


class _PolledVersion:
    """The current version on a server, at most ``POLL_S`` old. Safe to call from several threads."""

    def __init__(self, version: Callable[[], str]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._known, self._until = "", -math.inf

    def __call__(self) -> str:
        """Return the version, "" where there is none or it is not known."""
        if time.monotonic() >= self._until and self._lock.acquire(blocking=False):  # one asks, the others go on
            try:
                with suppress(IndexUnavailable):
                    self._known = self._version()
                self._until = time.monotonic() + POLL_S
            finally:
                self._lock.release()
        return self._known


def _stat(uri: str | Path) -> tuple[int, int, int] | None:
    for name in (MANIFEST_NAME, SQLITE_NAME):
        try:
            stat = (folder_of(uri) / name).stat()
        except (OSError, IndexUnavailable):
            continue
        return stat.st_ino, stat.st_mtime_ns, stat.st_size
    return None
