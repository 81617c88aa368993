"""The service's hold on an index that may be absent, and may be replaced while requests are using it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from knowledge.engines.embedded.collection import SQLITE_NAME
from knowledge.engines.server.address import is_server
from knowledge.model.errors import IndexMissing, IndexUnavailable, KnowledgeError
from knowledge.model.manifest import MANIFEST_NAME
from knowledge.open.anywhere import AnyIndex
from knowledge.open.source import folder_of

LOOK_S = 30.0
"""How old what is known of a server's current version may be."""
RETRY_AFTER_S = 2.0
"""An index that failed to open is tried again no sooner: opening one means reading all of it."""


class IndexHandle:
    """Holds the open index. "No index" is a state: it is raised when one is asked for, never at construction.

    A request takes ``with handle.lease() as index`` around all that it does with the index, which stays open until
    the lease ends, however often it is replaced meanwhile. ``current()`` is for a look at its facts (health).
    ``refresh()`` is cheap enough to call before every request.
    """

    def __init__(
        self,
        open: Callable[[], AnyIndex],
        *,
        changed: Callable[[], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is opened yet: the first request, or ``refresh()``, does it.

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
        """Why the latest attempt to open failed; None once one succeeded."""

    @contextmanager
    def lease(self) -> Iterator[AnyIndex]:
        """The current index, kept open for the ``with`` block.

        Raises:
            IndexUnavailable: there is none; the reason is that of the last attempt to open it.
        """
        slot = self._take()
        try:
            yield slot.index
        finally:
            self._give_back(slot)

    def current(self) -> AnyIndex:
        """The current index, which a swap may close at any time: search under ``lease()``.

        Raises:
            IndexUnavailable: as ``lease``.
        """
        with self.lease() as index:
            return index

    @property
    def opened(self) -> AnyIndex | None:
        """The index that is open now, None where there is none: nothing is opened for it."""
        with self._lock:
            return self._slot.index if self._slot else None

    def rest(self) -> None:
        """Close the connections of the index that is open, if one is; it opens new ones when it is asked."""
        if (index := self.opened) is not None:
            index.rest()

    def swap(self, index: AnyIndex) -> None:
        """Put ``index`` in place. The one before is closed once no request uses it."""
        self._put(_Slot(index))
        self.last_error = None

    def refresh(self) -> bool:
        """Open the index again if it was replaced, or if there is none yet; True when it was swapped in.

        When that fails the old one stays, ``last_error`` says why, and the next attempt waits for ``RETRY_AFTER_S``
        or another change. Beside a thread that is already opening, requests go on with the index that there is.
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

    def _take(self) -> _Slot:
        if not self._tried:
            self.refresh()
        with self._lock:
            slot = self._slot
            if slot is not None:
                slot.leases += 1
                return slot
        # One stored exception is raised many times: without this its traceback would grow with each.
        raise self._error.with_traceback(None)

    def _give_back(self, slot: _Slot) -> None:
        with self._lock:
            slot.leases -= 1
            unused = slot.retired and not slot.leases
        if unused:
            slot.index.close()

    def _put(self, slot: _Slot | None) -> None:
        with self._lock:
            before, self._slot = self._slot, slot
            self._tried = self._tried or slot is not None
            unused = before is not None and not before.leases
            if before is not None:
                before.retired = True
        if before is not None and unused:
            before.index.close()


class _Slot:
    """One index and how many requests are using it."""

    def __init__(self, index: AnyIndex) -> None:
        self.index = index
        self.leases = 0
        self.retired = False


def watch(uri: str | Path, version: Callable[[], str] = str) -> Callable[[], object]:
    """A look at what changes when the index at ``uri`` is replaced, cheap enough for each request.

    Of a folder its manifest's (or database's) inode, mtime in ns and size; None while there is nothing, or nothing that
    this program can open. On a server what ``version`` gives, asked for every ``LOOK_S``; the last one where it cannot
    be asked.
    """
    return Polled(version) if is_server(uri) else lambda: _stat(uri)


class Polled:
    """The version that is current on a server, at most ``LOOK_S`` old. Safe to call from several threads."""

    def __init__(self, version: Callable[[], str]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._known, self._until = "", -math.inf

    def __call__(self) -> str:
        """The version, "" where there is none or nobody knows."""
        if time.monotonic() >= self._until and self._lock.acquire(blocking=False):  # one asks, the others go on
            try:
                with suppress(IndexUnavailable):
                    self._known = self._version()
                self._until = time.monotonic() + LOOK_S
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
