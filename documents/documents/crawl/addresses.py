"""Web addresses as text: one form for each, which site and folder it belongs to, and what its page is called."""

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


class NotWeb(ValueError):
    """Not an address of a web page; the message says why."""


@dataclass(frozen=True, slots=True)
class Site:
    """A host with its port, as one address names it; ``secure`` is whether it is read over https."""

    host: str
    port: int | None
    secure: bool

    @classmethod
    def of(cls, url: str) -> Site:
        """The site of a normal address."""
        parts = urlsplit(url)
        return cls(parts.hostname or "", parts.port, parts.scheme == "https")

    def take(self, url: str) -> str | None:
        """``url`` as it is read on this site: over https if the site is; None if it is on another host or port."""
        parts = urlsplit(url)
        if (parts.hostname, parts.port) != (self.host, self.port):
            return None
        scheme = "https" if self.secure and self.port is None else parts.scheme
        if self.secure and scheme == "http":
            return None
        return urlunsplit((scheme, *parts[1:]))


def normal(url: str, *, base: str = "") -> str:
    """``url`` in one form: absolute, host in lower case, no default port, no dots in the path, no fragment.

    Raises:
        NotWeb: another scheme than http and https, a name or password in it, no host, a bad port.
    """
    try:
        parts = urlsplit(urljoin(base, url.strip()))
        port, host = parts.port, (parts.hostname or "").rstrip(".")
    except ValueError as exc:
        raise NotWeb("is not a valid web address") from exc
    if parts.scheme not in DEFAULT_PORTS:
        raise NotWeb("is not an http or https address")
    if parts.username is not None or parts.password is not None:
        raise NotWeb("holds a user name or password, which is not sent")
    host = _host(host)
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != DEFAULT_PORTS[parts.scheme]:
        netloc += f":{port}"
    path = quote(_without_dots(parts.path or "/"), safe=_UNRESERVED)
    address = urlunsplit((parts.scheme, netloc, path, quote(parts.query, safe=_UNRESERVED + "?[]"), ""))
    if len(address) > MAX_ADDRESS_CHARS:
        raise NotWeb(f"is longer than {MAX_ADDRESS_CHARS} characters")
    return address


def _host(host: str) -> str:
    try:
        name = host if ":" in host else host.encode("idna").decode("ascii").lower()
    except UnicodeError as exc:
        raise NotWeb("has no valid host") from exc
    if not name or any(char in name for char in " /\\@?#%"):
        raise NotWeb("has no valid host")
    return name


def _without_dots(path: str) -> str:
    plain = posixpath.normpath("/" + path.lstrip("/"))
    return plain + "/" if path.endswith(("/", "/.", "/..")) and plain != "/" else plain


def given(address: str) -> str:
    """The address that a person gave, in its normal form.

    Raises:
        Unreadable: it is none that can be read.
    """
    try:
        return normal(address)
    except NotWeb as exc:
        raise Unreadable(
            f"{_shown(address)} {exc}: give the http or https address of a page, a folder of pages or a sitemap"
        ) from exc


def _shown(address: str) -> str:
    scheme, slashes, rest = address.partition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}" if slashes else address


def folder(url: str) -> str | None:
    """The path below which a person who gives ``url`` expects pages; None when it names one page.

    ``/guide/`` and ``/guide/index.html`` are the folder ``/guide/``, and so is ``/guide``; ``/guide/a.html`` is a page.
    """
    parent, _, last = urlsplit(url).path.rpartition("/")
    if not last or last in _INDEX:
        return f"{parent}/"
    return None if posixpath.splitext(last)[1][1:].isalpha() or urlsplit(url).query else f"{parent}/{last}/"


def path_name(url: str, suffix: str) -> str:
    """A page's name: host and path, with ``suffix`` unless it is there, and a hash of the query if it has one."""
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
    """Eight hexadecimal digits that stand for ``text``."""
    return sha256(text.encode()).hexdigest()[:8]
