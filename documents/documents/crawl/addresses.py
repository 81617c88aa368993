"""Web addresses: their normal form, their origin and folder, and the name of their page."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from documents.errors import Unreadable

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_ADDRESS_CHARS = 2000
_UNRESERVED = "/:@!$&'()*+,;=~-._%"
_INDEX = ("index.html", "index.htm", "index.php")


class InvalidAddress(ValueError):
    """A text that is not an address of a web page; the message is the reason."""


@dataclass(frozen=True, slots=True)
class WebOrigin:
    """The host and port of an address; ``is_secure``: its scheme is https."""

    host: str
    port: int | None
    is_secure: bool

    @classmethod
    def from_url(cls, url: str) -> WebOrigin:
        """Return the origin of an address in normal form."""
        parts = urlsplit(url)
        return cls(parts.hostname or "", parts.port, parts.scheme == "https")

    def match_url(self, url: str) -> str | None:
        """Return ``url``, with https if this origin has it; None if it is on another host or port."""
        parts = urlsplit(url)
        if (parts.hostname, parts.port) != (self.host, self.port):
            return None
        scheme = "https" if self.is_secure and self.port is None else parts.scheme
        if self.is_secure and scheme == "http":
            return None
        return urlunsplit((scheme, *parts[1:]))


def normalise_url(url: str, *, base: str = "") -> str:
    """Return ``url`` in normal form: absolute, host in lower case, no default port, no dots in the path, no fragment.

    Raises:
        InvalidAddress: another scheme than http and https, a name or password in it, no host, a bad port.
    """
    try:
        parts = urlsplit(urljoin(base, url.strip()))
        port, host = parts.port, (parts.hostname or "").rstrip(".")
    except ValueError as exc:
        raise InvalidAddress("is not a valid web address") from exc
    if parts.scheme not in DEFAULT_PORTS:
        raise InvalidAddress("is not an http or https address")
    if parts.username is not None or parts.password is not None:
        raise InvalidAddress("holds a user name or password, which is not sent")
    host = _ascii_host(host)
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != DEFAULT_PORTS[parts.scheme]:
        netloc += f":{port}"
    path = posixpath.normpath("/" + parts.path.lstrip("/"))
    if parts.path.endswith(("/", "/.", "/..")) and path != "/":
        path += "/"
    path, query = quote(path, safe=_UNRESERVED), quote(parts.query, safe=_UNRESERVED + "?[]")
    address = urlunsplit((parts.scheme, netloc, path, query, ""))
    if len(address) > MAX_ADDRESS_CHARS:
        raise InvalidAddress(f"is longer than {MAX_ADDRESS_CHARS} characters")
    return address


def _ascii_host(host: str) -> str:
    try:
        name = host if ":" in host else host.encode("idna").decode("ascii").lower()
    except UnicodeError as exc:
        raise InvalidAddress("has no valid host") from exc
    if not name or any(char in name for char in " /\\@?#%"):
        raise InvalidAddress("has no valid host")
    return name


def parse_address(address: str) -> str:
    """Return the address that a user gave in normal form.

    Raises:
        Unreadable: it is not an address of a web page.
    """
    try:
        return normalise_url(address)
    except InvalidAddress as exc:
        scheme, slashes, rest = address.partition("://")
        shown = f"{scheme}{slashes}{rest.rpartition('@')[2]}" if slashes else address  # without user and password
        raise Unreadable(
            f"{shown} {exc}: give the http or https address of a page, a folder of pages or a sitemap"
        ) from exc


def folder_path(url: str) -> str | None:
    """Return the path of the folder that ``url`` names; None if it names one page.

    ``/guide/`` and ``/guide/index.html`` are the folder ``/guide/``, and so is ``/guide``; ``/guide/a.html`` is a page.
    """
    parent, _, last = urlsplit(url).path.rpartition("/")
    if not last or last in _INDEX:
        return f"{parent}/"
    return None if posixpath.splitext(last)[1][1:].isalpha() or urlsplit(url).query else f"{parent}/{last}/"


def page_name(url: str, suffix: str) -> str:
    """Return a page's name: host and path, ``suffix`` if it lacks one, and a hash of the query if it has one."""
    parts = urlsplit(url)
    path = unquote(parts.path, errors="replace")
    path = "".join(char if char.isprintable() and char not in '\\:*?"<>|' else "_" for char in path)
    path = "/".join(segment if segment.strip(".") else "_" * len(segment) for segment in path.split("/"))
    if path.endswith("/"):
        path += "index"
    stem, ending = posixpath.splitext(path)
    if ending.lower() not in (suffix, ".htm" if suffix == ".html" else suffix):
        stem, ending = path, suffix
    mark = f"-{short_hash(parts.query)}" if parts.query else ""
    return f"{parts.netloc.replace(':', '_')}{stem}{mark}{ending}"


def short_hash(text: str) -> str:
    """Return eight hexadecimal digits of the hash of ``text``."""
    return sha256(text.encode()).hexdigest()[:8]
