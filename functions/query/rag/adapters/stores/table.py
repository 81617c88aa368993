"""The storage port: one table of items, each under a partition key and a sort key.

Implemented by ``rag.adapters.dynamodb`` and ``rag.adapters.sqlite``. ``rag.adapters.stores.layout`` lists
the items of the stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rag.errors import StoreUnavailable


@dataclass(frozen=True, slots=True)
class TableKey:
    """The place of an item: partition key and sort key."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class TableItem:
    """An item; it expires at the Unix second ``expires_at``.

    Its attributes are str, int, float, bool or bytes. A number may be read back as a float.
    """

    key: TableKey
    attributes: Mapping[str, Any]
    expires_at: int


@dataclass(frozen=True, slots=True)
class Swap:
    """A write of ``item`` on condition that ``before`` is still stored as it was read; None: no item, or expired."""

    item: TableItem
    before: TableItem | None


class SwapConflict(StoreUnavailable):
    """Nothing was written: another writer changed the item of a ``Swap`` after it was read."""


class Table(Protocol):
    """A table of items. Serves any number of threads; nothing is connected before the first call.

    Reads see every earlier write of any process. Every method may raise ``StoreUnavailable``.
    """

    clock: Callable[[], float]
    """The current Unix time in seconds."""

    def warm(self) -> None:
        """Make the client, with its imports, if there is one; no request is sent."""
        return

    def renew(self) -> None:
        """Close all connections; the next call opens others. Not while calls are running."""

    def exists(self) -> bool:
        """Return False if no item was ever written."""
        return True

    def get(self, key: TableKey) -> TableItem | None:
        """Return the item at ``key`` unless it has expired."""

    def get_many(self, keys: Iterable[TableKey]) -> list[TableItem]:
        """Return the items at ``keys`` that exist and have not expired, in any order."""

    def newest(self, pk: str, *, prefix: str, limit: int) -> list[TableItem]:
        """Return at most ``limit`` items whose sort key begins with ``prefix``, last sort key first.

        Expired items are left out; they may count towards ``limit``.
        """

    def newest_of_each(self, pks: Sequence[str], *, prefix: str, limit: int) -> list[list[TableItem]]:
        """Return the result of ``newest`` for each of ``pks``, in their order."""
        return [self.newest(pk, prefix=prefix, limit=limit) for pk in pks]

    def list_partition(self, pk: str) -> list[TableItem]:
        """Return every item under ``pk``, expired ones too."""

    def scan(self, *, prefix: str, text: str) -> list[TableItem]:
        """Return every item whose partition key begins with ``prefix`` and whose ``body`` contains ``text``.

        Expired items too. Reads the whole table, which the function has no right to; an operator does.
        """

    def put(self, item: TableItem) -> None:
        """Write ``item``, replacing the one at its key."""
        self.put_many([item])

    def put_many(self, items: Iterable[TableItem]) -> None:
        """Write ``items``, each at another key; if this raises, some may have been written."""

    def delete(self, key: TableKey) -> None:
        """Delete the item at ``key`` if there is one."""
        self.delete_many([key])

    def delete_many(self, keys: Iterable[TableKey]) -> None:
        """Delete the items at ``keys``; if this raises, some may have been deleted."""

    def replace_unless_newer(
        self, item: TableItem, *, puts: Sequence[TableItem], deletes: Sequence[TableKey], swap: Swap | None = None
    ) -> bool:
        """Write ``item``, ``puts``, ``deletes`` and ``swap`` (fewer than 100 in all) in one transaction.

        Return False and write nothing if the stored item has a larger attribute ``at`` than ``item``.

        Raises:
            SwapConflict: the item of ``swap`` has changed; nothing was written.
        """

    def purge_deleted(self) -> None:
        """Remove the bytes of deleted items that are still readable, if there are any."""
        return
