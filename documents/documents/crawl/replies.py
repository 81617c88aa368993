"""One request over HTTP and its reply, within limits of bytes and time; redirects are followed hop by hop."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from urllib.parse import urlsplit

import httpcore2

from documents.crawl.addresses import NotWeb, normal
from documents.crawl.networks import Deadline, GuardedBackend, Refused
from documents.crawl.pace import Pace
from documents.crawl.world import World
from documents.values import MIB, Limits

USER_AGENT = "ragctl"
REPLY_TIMEOUTS = 10
"""How many times ``Limits.timeout_s`` a whole reply may take."""
_REDIRECTS = (301, 302, 303, 307, 308)
_READ = (200,)
_ANY_ZLIB = 47  # zlib's own number for "gzip or zlib, by its header"


class Trouble(Exception):
    """An address that could not be fetched now; the message says why.

    ``again`` is whether to try once more, ``refused`` whether its network address is private, ``answered`` whether the
    server did answer for itself, so that it is worth asking for other pages.
    """

    def __init__(self, reason: str, *, again: bool = False, refused: bool = False, answered: bool = False) -> None:
        super().__init__(reason)
        self.again, self.refused, self.answered = again, refused, answered


class Exhausted(Exception):
    """All bytes that a crawl may fetch were fetched."""


@dataclass(frozen=True, slots=True)
class Reply:
    """``url`` is where it came from after redirects; ``body`` is decoded, and empty unless ``status`` is 200."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def media_type(self) -> tuple[str, str]:
        """The declared type in lower case and the charset, ``""`` where nothing is declared."""
        message = Message()
        message["Content-Type"] = self.headers.get("content-type", "")
        declared = message.get_content_type() if self.headers.get("content-type") else ""
        return declared, str(message.get_param("charset") or "") if declared else ""


class Client:
    """GETs one address after the other, with no cookies, no proxies of the environment and checked certificates."""

    def __init__(self, *, limits: Limits, allow_hosts: frozenset[str], world: World, pace: Pace) -> None:
        self._limits = limits
        self._pace = pace
        self._deadline = Deadline(world.clock)
        self._bytes_left = limits.bytes_total
        backend = GuardedBackend(allow_hosts=allow_hosts, deadline=self._deadline, resolve=world.resolve)
        self._pool = httpcore2.ConnectionPool(network_backend=backend)  # certificates are checked by default

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def get(
        self,
        url: str,
        *,
        hop: Callable[[str], str] = lambda target: target,
        conditions: Callable[[str], Mapping[str, str]] = lambda _: {},
        max_bytes: int | None = None,
    ) -> Reply:
        """Fetch ``url``.

        ``hop`` says where a redirect's target is read (and raises when it is not), ``conditions`` what headers an
        address gets.

        Raises:
            Trouble: there is no usable reply.
            Exhausted: the bytes of the whole crawl are used up.
        """
        asked: set[str] = set()
        for _ in range(self._limits.redirects + 1):
            asked.add(url)
            reply = self._patiently(url, conditions(url), max_bytes or self._limits.bytes_per_page)
            if reply.status not in _REDIRECTS:
                return reply
            try:
                target = normal(reply.headers.get("location", ""), base=url)
            except NotWeb as exc:
                raise Trouble(f"it redirects to what {exc}") from exc
            url = hop(target)
            if url in asked:
                raise Trouble("it redirects in a circle", answered=True)
        raise Trouble(f"it redirects more than {self._limits.redirects} times", answered=True)

    def _patiently(self, url: str, headers: Mapping[str, str], max_bytes: int) -> Reply:
        attempt = 1
        while True:
            self._pace.before_request()
            try:
                reply = self._once(url, headers, max_bytes)
            except Trouble as exc:
                if not (exc.again and self._pace.before_again(attempt)):
                    raise
            else:
                if not self._pace.asks_for_patience(reply.status):
                    return reply
                if not self._pace.before_again(attempt, reply.headers.get("retry-after", "")):
                    return reply
            attempt += 1

    def _once(self, url: str, headers: Mapping[str, str], max_bytes: int) -> Reply:
        wait = self._limits.timeout_s
        self._deadline.start(wait * REPLY_TIMEOUTS)
        own = {"Host": urlsplit(url).netloc, "User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        sent = list({**own, **headers}.items())
        timeouts = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), wait)}
        try:
            with self._pool.stream("GET", url, headers=sent, extensions=timeouts) as response:
                found = _headers(response.headers)
                body = self._body(response, found, max_bytes) if response.status in _READ else b""
        except Refused as exc:
            raise Trouble(str(exc), refused=True) from exc
        except httpcore2.TimeoutException as exc:
            raise Trouble(f"no whole answer in {wait:g} seconds a wait, {wait * REPLY_TIMEOUTS:g} in all") from exc
        except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError, OSError, ValueError) as exc:
            raise _in_words(exc, urlsplit(url).hostname or "") from exc
        return Reply(url, response.status, found, body)

    def _body(self, response: httpcore2.Response, headers: Mapping[str, str], max_bytes: int) -> bytes:
        coding = headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Trouble(f"it is sent as {coding[:20]!r}, which was not asked for", answered=True)
        unpack = zlib.decompressobj(_ANY_ZLIB) if coding not in ("", "identity") else None
        body, raw_bytes = bytearray(), 0
        for chunk in response.iter_stream():
            raw_bytes += len(chunk)
            try:
                body += unpack.decompress(chunk, max_bytes + 1 - len(body)) if unpack else chunk
            except zlib.error as exc:
                raise Trouble("its compressed form is damaged", again=True) from exc
            if max(len(body), raw_bytes) > max_bytes:
                raise Trouble(f"it is larger than {max_bytes / MIB:g} MiB", answered=True)
            if max(len(body), raw_bytes) > self._bytes_left:
                raise Exhausted
        if unpack and raw_bytes and not unpack.eof:
            raise Trouble("its compressed form ends too early", again=True)
        self._bytes_left -= max(len(body), raw_bytes)
        return bytes(body)


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Names in lower case; what is sent twice is joined with a comma, as HTTP says."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _in_words(error: Exception, host: str) -> Trouble:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Trouble(f"the certificate of {host} is not valid: {cause.verify_message}")
    if cause is not None:
        return Trouble(f"no secure connection to {host}")
    match error:
        case httpcore2.ConnectError():
            known = f"the name {host} " in str(error)
            return Trouble(str(error) if known else f"{host} does not accept the connection", again=not known)
        case httpcore2.NetworkError() | httpcore2.RemoteProtocolError():
            return Trouble("the connection broke in the middle, or what came is not HTTP", again=True)
        case _:
            return Trouble("the request could not be sent as this address wants it")
