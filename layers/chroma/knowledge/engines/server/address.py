"""Where an index on Chroma's server is: ``chroma://host:port/tenant/database`` or ``https://host/tenant/database``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

from knowledge.model.errors import IndexMissing

SCHEMES = ("chroma", "https")
PORTS = {"chroma": 8000, "https": 443}
_VERSION = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A database of a Chroma server. ``version`` is the content version that is asked for, "": the current one."""

    host: str
    port: int
    tls: bool
    tenant: str
    database: str
    version: str = ""

    @classmethod
    def parse(cls, uri: str) -> Self:
        """The address ``uri``; ``?version=`` names a content version.

        Raises:
            IndexMissing: it is none; the message says what is accepted.
        """
        try:
            parts = urlsplit(uri)
            port, query = parts.port, parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        except ValueError as exc:
            raise _unusable(uri) from exc
        names = [unquote(name) for name in parts.path.strip("/").split("/")]
        version = query.pop("version", [""])[0]
        good = parts.scheme in SCHEMES and parts.hostname and port != 0
        good = good and len(names) == 2 and all(names) and not query
        if not good or parts.username or parts.fragment or (version and not _VERSION.fullmatch(version)):
            raise _unusable(uri)
        tenant, database = names
        return cls(str(parts.hostname), port or PORTS[parts.scheme], parts.scheme == "https", tenant, database, version)

    def pinned(self, version: str) -> Self:
        """The same place at one content version."""
        return replace(self, version=version)

    def __str__(self) -> str:
        scheme = "https" if self.tls else "chroma"
        host = f"[{self.host}]" if ":" in self.host else self.host
        version = f"?version={self.version}" if self.version else ""
        tenant, database = quote(self.tenant, safe=""), quote(self.database, safe="")
        return f"{scheme}://{host}:{self.port}/{tenant}/{database}{version}"


def is_server(uri: object) -> bool:
    """Whether ``uri`` names a place on a server, rather than a folder."""
    return isinstance(uri, str) and uri.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def _unusable(uri: str) -> IndexMissing:
    shown = uri.rsplit("@", 1)[-1]  # what stands before it may be a password
    return IndexMissing(
        f"The index address {shown!r} cannot be used: write chroma://HOST:PORT/TENANT/DATABASE, or "
        "https://HOST/TENANT/DATABASE, with ?version=VERSION for another version than the current one"
    )
