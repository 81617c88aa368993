"""Clients that are slow to ask or to listen, kept away from a worker that serves one request at a time.

gunicorn's sync worker reads a request and sends its answer byte by byte with its one thread: whoever sends or takes
them slowly has the worker for himself. Its threaded worker would accept requests that it has no turn for, while other
workers have nothing to do. So a request is gathered first, beside those of others, and served when all of it is there;
what a client does not take at once is sent by a thread of its own.
"""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import BoundedSemaphore, Thread

from gunicorn.util import close_graceful

from ragctl.wsgi import MAX_BODY_BYTES

BLOCK_BYTES = 64 * 1024
HEAD_BYTES = 64 * 1024
"""A head that is longer has arrived: gunicorn refuses it sooner."""
ENOUGH_BYTES = MAX_BODY_BYTES + HEAD_BYTES
"""A request that is longer has arrived: it is too large, and may be read and thrown away."""
SLOW_ANSWERS = BoundedSemaphore(64)
"""Answers that are on their way at once; a client beyond them must take what it has got."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r\n]*chunked", re.IGNORECASE)
_LAST_CHUNK = re.compile(rb"\r\n0+\r\n(?:[^\r\n]+\r\n)*\r\n\Z")
_LAST_CHUNK_BYTES = 4096
_EXPECTS_CONTINUE = re.compile(rb"\r\nexpect:[ \t]*100-continue", re.IGNORECASE)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def has_arrived(request: bytes | bytearray) -> bool:
    """Whether ``request`` is all of one, or so much that no more is wanted. Whether it is right, gunicorn says."""
    end = request.find(b"\r\n\r\n", 0, HEAD_BYTES)
    if end < 0:
        return len(request) >= HEAD_BYTES
    if len(request) >= ENOUGH_BYTES:
        return True
    if _CHUNKED.search(request, 0, end):
        return _LAST_CHUNK.search(request[max(end + 2, len(request) - _LAST_CHUNK_BYTES) :]) is not None
    length = _LENGTH.search(request, 0, end)
    return len(request) >= end + 4 + (int(length[1]) if length else 0)


class Client:
    """A connection, as gunicorn's worker uses a socket: nothing in it waits but ``recv``, until ``ends_at``.

    ``clock`` counts seconds, monotonically; ``ends_at`` is on it.
    """

    def __init__(
        self, connection: socket.socket, address: object, *, limit_s: float, clock: Callable[[], float]
    ) -> None:
        connection.setblocking(False)
        self.ends_at = clock() + limit_s
        self.gone = False
        self.address = address
        self._connection = connection
        self._limit_s = limit_s
        self._clock = clock
        self._came = bytearray()
        self._unsent = b""
        self._told_to_continue = False
        self._parted = False

    def fileno(self) -> int:
        """For ``select``."""
        return self._connection.fileno()

    @property
    def began(self) -> bool:
        """Whether anything came."""
        return bool(self._came)

    def gathered(self, wait_s: float = 0.0) -> bool:
        """Read what is there, or comes within ``wait_s``; whether the request has arrived."""
        until = self._clock() + wait_s
        while not has_arrived(self._came) and not self.gone:
            try:
                some = self._connection.recv(BLOCK_BYTES)
            except BlockingIOError:
                left_s = until - self._clock()
                if left_s <= 0 or not select.select([self], [], [], left_s)[0]:
                    break
                continue
            except OSError:
                some = b""
            self._came += some
            self.gone = not some
            self._let_continue()
        return not self.gone and has_arrived(self._came)

    def recv(self, size: int) -> bytes:
        """Up to ``size`` bytes: of what was gathered, then of what comes.

        Raises:
            TimeoutError: nothing came before ``ends_at``.
        """
        if not self._came and not self._parted:
            left_s = self.ends_at - self._clock()
            if left_s <= 0 or not select.select([self], [], [], left_s)[0]:
                raise TimeoutError
            return self._connection.recv(size)
        some = bytes(self._came[:size])
        del self._came[:size]
        return some

    def send(self, data: bytes) -> int:
        """See ``sendall``."""
        self.sendall(data)
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Send as much as the client takes; the rest waits for the next piece, or for ``shutdown``.

        Raises:
            OSError: the client has gone.
        """
        self._unsent += data
        with suppress(BlockingIOError):
            while self._unsent:
                self._unsent = self._unsent[self._connection.send(self._unsent) :]

    def shutdown(self, how: int) -> None:
        """The answer is complete: send the rest, wait for the client to close, and close, all in a thread."""
        self._parted = True
        self._came.clear()
        if not SLOW_ANSWERS.acquire(blocking=False):
            self._connection.close()
            return
        Thread(target=self._part, name="slow-answer", daemon=True).start()

    def settimeout(self, value: float | None) -> None:
        """Nothing waits here."""

    def setblocking(self, flag: bool) -> None:
        """Nothing waits here."""

    def gettimeout(self) -> float:
        """Nothing waits here."""
        return 0.0

    def close(self) -> None:
        """Close the connection, unless a thread is at it."""
        if not self._parted:
            self._connection.close()

    def _part(self) -> None:
        try:
            with suppress(OSError), self._connection:
                self._connection.settimeout(self._limit_s)  # for all of it
                self._connection.sendall(self._unsent)
                close_graceful(self._connection)
        finally:
            SLOW_ANSWERS.release()

    def _let_continue(self) -> None:
        """Some clients send a body only when told to."""
        if not self._told_to_continue and b"\r\n\r\n" in self._came and not has_arrived(self._came):
            self._told_to_continue = True
            if _EXPECTS_CONTINUE.search(self._came, 0, HEAD_BYTES):
                with suppress(OSError):
                    self._connection.send(_CONTINUE)


class Lobby:
    """Clients whose requests have not arrived yet. ``clock`` counts seconds, monotonically."""

    def __init__(self, clock: Callable[[], float], *, places: int = 32) -> None:
        self._clock = clock
        self._places = places
        self._clients: list[Client] = []

    def __iter__(self) -> Iterator[Client]:
        return iter(tuple(self._clients))

    def seat(self, client: Client) -> None:
        """Let ``client`` wait; where all places are taken, the one that came first must go."""
        self._clients.append(client)
        for oldest in self._clients[: -self._places]:
            self._clients.remove(oldest)
            oldest.close()

    def left_s(self) -> float | None:
        """Seconds until the first of them has waited too long; None where nobody waits."""
        return max(0.0, min(one.ends_at for one in self._clients) - self._clock()) if self._clients else None

    def next_arrived(self) -> Client | None:
        """One whose request has arrived; it is no longer here then. Who has gone is forgotten."""
        for client in self:
            arrived = client.gathered()
            if arrived or client.gone:
                self._clients.remove(client)
            if client.gone:
                client.close()
            if arrived:
                return client
        return None

    def late(self) -> tuple[Client, ...]:
        """Those who have waited too long; they are no longer here."""
        now = self._clock()
        late = tuple(client for client in self._clients if client.ends_at <= now)
        self._clients = [client for client in self._clients if client.ends_at > now]
        return late

    def wait_longer(self, seconds: float) -> None:
        """All of them may take ``seconds`` more: nobody listened to them."""
        for client in self._clients:
            client.ends_at += seconds
