"""HTTP requests at a polite pace: limits of bytes and time, retries, and redirects that are checked hop by hop."""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from itertools import count
from urllib.parse import urlsplit

import httpcore2

from documents.crawl.addresses import InvalidAddress, normalise_url
from documents.crawl.networks import GuardedBackend, PrivateAddress, ReplyDeadline, Resolve, resolve
from documents.values import MIB, Limits

USER_AGENT = "ragctl"
REPLY_TIMEOUTS = 10
"""Longest time for a whole reply, as a multiple of ``Limits.timeout_s``."""
MAX_CRAWL_DELAY_S = 30.0
"""A longer ``Crawl-delay`` than this counts as this: a thousand pages take eight hours then."""
MAX_RETRY_AFTER_S = 60.0
TRIES = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_RETRIED = (429, 502, 503, 504)
_ANY_ZLIB = 47  # zlib's own number for "gzip or zlib, by its header"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemAccess:
    """Clocks, sleep and name resolution, which tests replace. ``clock`` is monotonic; ``now`` is in UTC."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    resolve: Resolve = resolve


class FetchError(Exception):
    """An address that could not be fetched; the message is the reason.

    ``retry``: another attempt may succeed. ``private``: its network address is not public. ``answered``: the server
    replied, so other pages are still worth a request.
    """

    def __init__(self, reason: str, *, retry: bool = False, private: bool = False, answered: bool = False) -> None:
        super().__init__(reason)
        self.retry, self.private, self.answered = retry, private, answered


class ByteLimitReached(Exception):
    """The crawl has fetched all the bytes that it may fetch."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A reply. ``url`` is its address after redirects; ``body`` is decoded, and empty unless ``status`` is 200."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def media_type(self) -> tuple[str, str]:
        """The declared type in lower case and the charset, ``""`` if not declared."""
        message = Message()
        message["Content-Type"] = self.headers.get("content-type", "")
        declared = message.get_content_type() if self.headers.get("content-type") else ""
        return declared, str(message.get_param("charset") or "") if declared else ""


class Client:
    """An HTTP client for one crawl, with no cookies, no proxies of the environment and checked certificates."""

    def __init__(self, *, limits: Limits, allow_hosts: frozenset[str], system: SystemAccess) -> None:
        self._limits, self._system = limits, system
        self._interval_s = 1 / limits.per_second
        self._next_request = float("-inf")
        self._deadline = ReplyDeadline(system.clock)
        self._bytes_left = limits.bytes_total
        backend = GuardedBackend(allow_hosts=allow_hosts, deadline=self._deadline, resolve=system.resolve)
        self._pool = httpcore2.ConnectionPool(network_backend=backend)  # certificates are checked by default

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def slow_down(self, *delays_s: float) -> None:
        """Wait the longest of ``delays_s`` between later requests, but not longer than ``MAX_CRAWL_DELAY_S``."""
        self._interval_s = max(self._interval_s, min(max(delays_s), MAX_CRAWL_DELAY_S))

    def get(
        self,
        url: str,
        *,
        redirect: Callable[[str], str] = lambda target: target,
        conditions: Callable[[str], Mapping[str, str]] = lambda _: {},
        max_bytes: int | None = None,
    ) -> HttpReply:
        """Fetch ``url``.

        ``redirect`` maps a redirect's target to the address to fetch, or raises to refuse it; ``conditions`` gives the
        extra headers for an address.

        Raises:
            FetchError: there is no usable reply.
            ByteLimitReached: the bytes of the whole crawl are used up.
        """
        visited: set[str] = set()
        for _ in range(self._limits.redirects + 1):
            visited.add(url)
            reply = self._request_with_retries(url, conditions(url), max_bytes or self._limits.bytes_per_page)
            if reply.status not in _REDIRECTS:
                return reply
            try:
                target = normalise_url(reply.headers.get("location", ""), base=url)
            except InvalidAddress as exc:
                raise FetchError(f"it redirects to what {exc}") from exc
            url = redirect(target)
            if url in visited:
                raise FetchError("it redirects in a circle", answered=True)
        raise FetchError(f"it redirects more than {self._limits.redirects} times", answered=True)

    def _request_with_retries(self, url: str, headers: Mapping[str, str], max_bytes: int) -> HttpReply:
        for attempt in count(1):
            if (wait_s := self._next_request - self._system.clock()) > 0:
                self._system.sleep(wait_s)
            self._next_request = self._system.clock() + self._interval_s
            wait_s = 2.0 ** (attempt - 1)
            try:
                reply = self._request(url, headers, max_bytes)
            except FetchError as exc:
                if attempt >= TRIES or not exc.retry:
                    raise
            else:
                wait_s = self._retry_after_s(reply.headers.get("retry-after", ""), default=wait_s)
                if attempt >= TRIES or reply.status not in _RETRIED or wait_s > MAX_RETRY_AFTER_S:
                    return reply
            self._system.sleep(wait_s)
        raise AssertionError  # count never ends

    def _retry_after_s(self, retry_after: str, *, default: float) -> float:
        text = retry_after.strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return default
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (date - self._system.now()).total_seconds())

    def _request(self, url: str, headers: Mapping[str, str], max_bytes: int) -> HttpReply:
        timeout_s = self._limits.timeout_s
        self._deadline.start(timeout_s * REPLY_TIMEOUTS)
        own = {"Host": urlsplit(url).netloc, "User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        timeouts = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout_s)}
        received: dict[str, str] = {}
        try:
            with self._pool.stream("GET", url, headers=list({**own, **headers}.items()), extensions=timeouts) as reply:
                for raw_name, raw_value in reply.headers:
                    name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1").strip()
                    received[name] = f"{received[name]}, {value}" if name in received else value
                body = self._read_body(reply, received, max_bytes) if reply.status == 200 else b""
        except PrivateAddress as exc:
            raise FetchError(str(exc), private=True) from exc
        except httpcore2.TimeoutException as exc:
            whole_s = timeout_s * REPLY_TIMEOUTS
            raise FetchError(f"no whole answer in {timeout_s:g} seconds a wait, {whole_s:g} in all") from exc
        except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError, OSError, ValueError) as exc:
            raise _fetch_error(exc, urlsplit(url).hostname or "") from exc
        return HttpReply(url, reply.status, received, body)

    def _read_body(self, response: httpcore2.Response, headers: Mapping[str, str], max_bytes: int) -> bytes:
        coding = headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise FetchError(f"it is sent as {coding[:20]!r}, which was not asked for", answered=True)
        decompressor = zlib.decompressobj(_ANY_ZLIB) if coding not in ("", "identity") else None
        body, raw_bytes = bytearray(), 0
        for chunk in response.iter_stream():
            raw_bytes += len(chunk)
            try:
                body += decompressor.decompress(chunk, max_bytes + 1 - len(body)) if decompressor else chunk
            except zlib.error as exc:
                raise FetchError("its compressed form is damaged", retry=True) from exc
            if max(len(body), raw_bytes) > max_bytes:
                raise FetchError(f"it is larger than {max_bytes / MIB:g} MiB", answered=True)
            if max(len(body), raw_bytes) > self._bytes_left:
                raise ByteLimitReached
        if decompressor and raw_bytes and not decompressor.eof:
            raise FetchError("its compressed form ends too early", retry=True)
        self._bytes_left -= max(len(body), raw_bytes)
        return bytes(body)


def _fetch_error(error: Exception, host: str) -> FetchError:
    """Return the error of the network library as one with a sentence for users."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return FetchError(f"the certificate of {host} is not valid: {cause.verify_message}")
    if cause is not None:
        return FetchError(f"no secure connection to {host}")
    match error:
        case httpcore2.ConnectError():
            resolved = f"the name {host} " not in str(error)
            return FetchError(f"{host} does not accept the connection" if resolved else str(error), retry=resolved)
        case httpcore2.NetworkError() | httpcore2.RemoteProtocolError():
            return FetchError("the connection broke in the middle, or what came is not HTTP", retry=True)
        case _:
            return FetchError("the request could not be sent as this address wants it")
