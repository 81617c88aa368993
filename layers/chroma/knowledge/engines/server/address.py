"""Addresses of an index on Chroma's server: ``chroma://host:port/tenant/database``, ``https://host/tenant/database``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

from knowledge.model.errors import IndexMissing

PORTS = {"chroma": 8000, "https": 443}
_VERSION = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A database of a Chroma server. ``version`` names a content version, "" the current one."""

    host: str
    port: int
    tls: bool
    tenant: str
    database: str
    version: str = ""

    @classmethod
    def parse(cls, uri: str) -> Self:
        """Parse the address ``uri``; ``?version=`` names a content version.

        Raises:
            IndexMissing: the address has another form; the message shows the accepted ones.
        """
        try:
            parts = urlsplit(uri)
            port, query = parts.port, parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        except ValueError as exc:
            raise _address_error(uri) from exc
        names = [unquote(name) for name in parts.path.strip("/").split("/")]
        version = query.pop("version", [""])[0]
        is_valid = parts.scheme in PORTS and parts.hostname and port != 0
        is_valid = is_valid and len(names) == 2 and all(names) and not query
        if not is_valid or parts.username or parts.fragment or (version and not _VERSION.fullmatch(version)):
            raise _address_error(uri)
        tenant, database = names
        return cls(str(parts.hostname), port or PORTS[parts.scheme], parts.scheme == "https", tenant, database, version)

    def at_version(self, version: str) -> Self:
        """Return this address with another ``version``."""
        return replace(self, version=version)

    def __str__(self) -> str:
        scheme = "https" if self.tls else "chroma"
        host = f"[{self.host}]" if ":" in self.host else self.host
        version = f"?version={self.version}" if self.version else ""
        tenant, database = quote(self.tenant, safe=""), quote(self.database, safe="")
        return f"{scheme}://{host}:{self.port}/{tenant}/{database}{version}"


def is_server(uri: object) -> bool:
    """Return whether ``uri`` names a server rather than a folder."""
    return isinstance(uri, str) and uri.startswith(tuple(f"{scheme}://" for scheme in PORTS))


def _address_error(uri: str) -> IndexMissing:
    shown = uri.rsplit("@", 1)[-1]  # what stands before it may be a password
    return IndexMissing(
        f"The index address {shown!r} cannot be used: write chroma://HOST:PORT/TENANT/DATABASE, or "
        "https://HOST/TENANT/DATABASE, with ?version=VERSION for another version than the current one"
    )
