"""The stores of a service: on one table, behind one guard, with the layered answer cache in front."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.adapters.vendors import open_table
from rag.config.settings import Settings
from rag.errors import StoreUnavailable
from rag.profiles.shared.pipeline import Stores

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from rag.adapters.stores.cache import LayeredCache
    from rag.adapters.stores.guard import StoreGuard
    from rag.adapters.stores.table import Table


@dataclass(frozen=True, slots=True)
class OpenStores(Stores):
    """The stores with the parts that a snapshot renews: table, cache of this process, guard."""

    cache: LayeredCache
    table: Table
    guard: StoreGuard

    def warm(self) -> None:
        """Prepare the imports, models and client of the first call; no request is sent."""
        from rag.adapters.stores import layout

        layout.warm()
        try:
            self.table.warm()
        except StoreUnavailable as exc:
            # It must not fail the snapshot: the first call tries again, and its stage is skipped if it fails.
            logger.warning("the stores cannot be warmed: %s", exc)

    def renew(self) -> None:
        """Empty this process's cache, forget the guard's state and close all connections."""
        self.cache.clear()
        self.guard.reset()
        self.table.renew()


def build_stores(settings: Settings) -> OpenStores | None:
    """Return the stores that ``settings`` name; nothing is connected yet, and boto3 is not imported.

    They share one guard, so that a table that one of them finds out of reach holds up none of the others.

    Raises:
        ConfigurationError: others may read or write the table's file.
    """
    table = open_table(settings)
    if table is None:
        return None
    from rag.adapters.stores.cache import LayeredCache, TableAnswerCache
    from rag.adapters.stores.feedback import TableFeedback
    from rag.adapters.stores.guard import StoreGuard
    from rag.adapters.stores.sessions import TableMemory

    guard = StoreGuard(settings.store_wait_s, vote_s=settings.request_deadline_s, prepare=table.warm)
    cache = LayeredCache(TableAnswerCache(table, guard))  # not guarded itself: its own layer needs no time limit
    feedback = TableFeedback(table, guard, votes_per_hour=settings.feedback_per_hour)
    return OpenStores(cache, TableMemory(table, guard), feedback, table, guard)
