"""A network backend that connects to public addresses only, checks each one it connects to, and keeps a deadline."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import httpcore2

type Resolve = Callable[[str, int], list[str]]
"""Maps host and port to IP addresses, in the order in which they are tried."""

_NAT64 = IPv6Network("64:ff9b::/96")


class PrivateAddress(Exception):
    """An address outside the public internet; the message names it and the option that allows it."""


def is_public(address: str) -> bool:
    """Whether ``address`` (an IP address as text) is reachable over the public internet.

    An IPv6 address that stands for an IPv4 one (mapped, NAT64) is judged by that.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        embedded = IPv4Address(int(parsed) & 0xFFFFFFFF) if parsed in _NAT64 else parsed.ipv4_mapped
        if embedded is not None:
            parsed = embedded
        elif parsed.is_site_local:  # deprecated, and still in use
            return False
    return parsed.is_global and not (parsed.is_multicast or parsed.is_reserved)


def resolve(host: str, port: int) -> list[str]:
    """Resolve ``host`` by the system's resolver, which also reads ``0x7f.1``, ``2130706433`` and the like.

    Raises:
        OSError: the name is not known, or no name server answers.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class GuardedBackend(httpcore2.NetworkBackend):
    """A backend that connects to public addresses, and to hosts that are allowed by name.

    A name is resolved once for a connection, and the connection goes to the address that was checked: a name server
    that answers otherwise the second time gains nothing. Certificates are checked against the name.
    """

    def __init__(
        self,
        *,
        allow_hosts: frozenset[str],
        deadline: ReplyDeadline,
        resolve: Resolve = resolve,
        inner: httpcore2.NetworkBackend | None = None,
    ) -> None:
        self._allowed = frozenset(host.lower().strip("[]") for host in allow_hosts)
        self._deadline = deadline
        self._resolve = resolve
        self._inner = inner or httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of ``host`` that answers.

        Raises:
            PrivateAddress: one of its addresses is not public, and the host was not allowed.
            httpcore2.ConnectError: the name is not known, or no address answers.
        """
        try:
            addresses = self._resolve(host, port)
        except (OSError, UnicodeError) as exc:
            raise httpcore2.ConnectError(f"the name {host} is not known") from exc
        if host.lower().strip("[]") not in self._allowed:
            for address in addresses:
                if not is_public(address):
                    raise PrivateAddress(
                        f"{host} is {address}, which is not an address of the public internet; "
                        f"--allow-host {host} allows it"
                    )
        last: Exception = httpcore2.ConnectError(f"the name {host} has no address")
        for address in addresses:
            try:
                remaining = self._deadline.limit_timeout(timeout)
                stream = self._inner.connect_tcp(address, port, remaining, None, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as exc:
                last = exc
            else:
                return _TimedStream(stream, self._deadline)
        raise last


class ReplyDeadline:
    """The end of the time for one whole reply: a server that drips bytes never exceeds the timeout of a single wait."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = float("inf")

    def start(self, seconds: float) -> None:
        """Start the time of a reply, which may take ``seconds``."""
        self._end = self._clock() + seconds

    def limit_timeout(self, timeout: float | None) -> float | None:
        """Return ``timeout``, or the rest of the reply's time if that is less.

        Raises:
            httpcore2.ReadTimeout: the reply's time is over.
        """
        remaining = self._end - self._clock()
        if remaining <= 0:
            raise httpcore2.ReadTimeout("the whole reply took too long")
        return remaining if timeout is None else min(timeout, remaining)


class _TimedStream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream, deadline: ReplyDeadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.limit_timeout(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.limit_timeout(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._deadline.limit_timeout(timeout))
        return _TimedStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)
