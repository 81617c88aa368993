"""Which version an index on Chroma's server has, and what it was made with: told without opening it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import Database
from knowledge.engines.server.facts import DIMENSIONS, MODEL
from knowledge.model.errors import IndexMissing


def served_model(uri: str, *, collection: str, token: Callable[[], str] = str) -> tuple[str, int]:
    """The name and dimensions of the embedding model that an index on a server was made with.

    Raises:
        IndexMissing, IndexUnreachable: as ``open_served``.
    """
    address = ServerAddress.parse(uri)
    with closing(Connection(address, token)) as connection:
        database = Database(connection, collection)
        said = database.described(database.facts(version_at(database, address)))
    if MODEL not in said:
        raise IndexMissing("The index on Chroma's server is not whole. Run: ragctl ingest PATH")
    return str(said[MODEL]), int(said[DIMENSIONS])


def current_version(uri: str, *, collection: str, token: Callable[[], str] = str) -> str:
    """The version that ``uri`` names, or that is current there; "" where there is none. IndexUnreachable: no answer."""
    address = ServerAddress.parse(uri)
    if address.version:
        return address.version
    with closing(Connection(address, token)) as connection:
        return Database(connection, collection).current()[0]


def version_at(database: Database, address: ServerAddress) -> str:
    """The version that ``address`` names, else the current one. IndexMissing: there is none."""
    version = address.version or database.current()[0]
    if not version:
        raise IndexMissing(
            f"There is no index {database.name!r} at {address}. Run: ragctl ingest PATH --index {address}"
        )
    return version
