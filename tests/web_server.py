"""A web site on 127.0.0.1 that behaves, and misbehaves, on script; and a machine whose clock and sleep are fakes."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from listening import Quiet, listening

from documents.crawl.client import SystemAccess

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a path answers. ``etag`` makes it answer 304 to a request that has it."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""


type Misbehave = Callable[[BaseHTTPRequestHandler], None]
"""Writes to the handler's ``wfile`` whatever it likes."""


def html(body: str, *, title: str = "A page", head: str = "") -> Answer:
    """A page with a title and ``body`` as its main part."""
    text = f"<!doctype html><html><head><title>{title}</title>{head}</head><body><main>{body}</main></body></html>"
    return Answer(body=text.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def links(*targets: str) -> Answer:
    """A page that leads to ``targets``."""
    return html("".join(f'<p><a href="{target}">words</a></p>' for target in targets), title=f"Links {len(targets)}")


def urlset(*entries: str) -> Answer:
    """A sitemap of ``<url>`` elements' inner XML, or of plain addresses."""
    rows = "".join(f"<url>{entry if '<' in entry else f'<loc>{entry}</loc>'}</url>" for entry in entries)
    text = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
    return Answer(body=text.encode(), headers={"Content-Type": "application/xml"})


def moved(to: str, status: int = 302) -> Answer:
    """A redirect."""
    return Answer(status=status, headers={"Location": to})


def zipped(answer: Answer) -> Answer:
    """The same in gzip, as a Content-Encoding."""
    return Answer(body=gzip.compress(answer.body), headers={**answer.headers, "Content-Encoding": "gzip"})


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Promise a page, send a part, and cut the connection."""
    _begin(handler, "Content-Length: 100000\r\n")
    handler.wfile.write(b"<p>half")
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() sends RST


def too_short(handler: BaseHTTPRequestHandler) -> None:
    """Declare more bytes than come."""
    _begin(handler, "Content-Length: 100000\r\n")
    handler.wfile.write(b"<p>That is all.")


def endless(handler: BaseHTTPRequestHandler) -> None:
    """A body that has no end."""
    _begin(handler, "")
    _forever(handler, b"<p>and on and on</p>" * 500)


def dripping(handler: BaseHTTPRequestHandler) -> None:
    """One byte of the head after the other, without end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _forever(handler, b"z")


def not_http(handler: BaseHTTPRequestHandler) -> None:
    """Something else on that port."""
    handler.wfile.write(b"220 mail.example.com ESMTP\r\n")


def http_1_0(handler: BaseHTTPRequestHandler) -> None:
    """The oldest form that is still met: no length, the end of the connection is the end of the page."""
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Old</title><p>Old but good.")


def _begin(handler: BaseHTTPRequestHandler, headers: str) -> None:
    handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}\r\n".encode())


def _forever(handler: BaseHTTPRequestHandler, piece: bytes) -> None:
    try:
        while True:
            handler.wfile.write(piece)
    except OSError:
        return  # the reader had enough


def self_signed(folder: Path, host: str = "127.0.0.1") -> ssl.SSLContext:
    """A server's certificate for ``host`` that nobody vouches for; it is in server.pem, for who is told to trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(NOW - timedelta(days=365)).not_valid_after(NOW + timedelta(days=9999))
    named = x509.IPAddress(IPv4Address(host)) if host[0].isdigit() else x509.DNSName(host)
    alone = x509.SubjectAlternativeName([named])
    signed = made.add_extension(alone, critical=False).sign(key, hashes.SHA256())
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "server.pem").write_bytes(signed.public_bytes(Encoding.PEM) + secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


class WebServer:
    """``site`` says what each path (with its query) answers; ``asked`` are the requests: path and headers."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.site: dict[str, Any] = {}  # an Answer, a Misbehave, or a list of them: one after the other
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self.address = f"http{'s' if tls else ''}://127.0.0.1:{self._http.server_address[1]}"

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, without robots.txt."""
        return [path for path, _ in self.asked if path != "/robots.txt"]

    @contextmanager
    def running(self) -> Iterator[WebServer]:
        """Serve in a thread."""
        with listening(self._http):
            yield self

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                answer = server.site.get(self.path, Answer(status=404))
                if isinstance(answer, list):  # one after the other, the last for ever
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
                if isinstance(answer, Answer):
                    self._send(answer)
                else:
                    self.close_connection = True
                    answer(self)

            def _send(self, answer: Answer) -> None:
                unchanged = answer.etag and self.headers.get("If-None-Match") == answer.etag
                self.send_response(304 if unchanged else answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if answer.etag:
                    self.send_header("ETag", answer.etag)
                if not unchanged:
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(b"" if unchanged else answer.body)

        return Handler


class FakeMachine:
    """``slept`` are the waits that were asked for; each look at the clock takes ``tick_s``."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.tick_s = 0.0
        self._time = 0.0

    @property
    def system(self) -> SystemAccess:
        """What to hand to a crawl."""
        return SystemAccess(clock=self._clock, sleep=self._sleep, now=lambda: NOW)

    def _clock(self) -> float:
        self._time += self.tick_s
        return self._time

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._time += seconds
