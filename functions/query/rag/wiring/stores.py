"""The stores of a service: guarded, and the cache of answers in front of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.adapters import store_format
from rag.adapters.layered_cache import LayeredCache
from rag.adapters.vendors import open_store
from rag.config.settings import Settings
from rag.errors import StoreUnavailable
from rag.profiles.shared.optional_stages import Stores

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from rag.adapters.store_guard import StoreGuard
    from rag.ports.stores import Store


@dataclass(frozen=True, slots=True)
class OpenStores:
    """The stores and what belongs to the moment of a snapshot: connections, and what this process has cached."""

    stores: Stores
    cache: LayeredCache
    store: Store
    guard: StoreGuard

    def warm(self) -> None:
        """Import what the first access will need, without reading or writing anything."""
        store_format.warm()
        try:
            self.store.warm()
        except StoreUnavailable as exc:
            # No snapshot fails for it: the first access tries again, and fails soft.
            logger.warning("the stores cannot be warmed: %s", exc)

    def renew(self) -> None:
        """Forget what this process has cached and how the store was; a new connection is opened meanwhile."""
        self.cache.clear()
        self.guard.reset()
        self.store.renew()


def build_stores(settings: Settings) -> OpenStores | None:
    """The stores that ``settings`` name; nothing is connected yet, and boto3 not imported.

    What one of them finds out of reach, none of them waits for.

    Raises:
        ConfigurationError: the file of one is open to others.
    """
    store = open_store(settings)
    if store is None:
        return None
    from rag.adapters.guarded_stores import guarded
    from rag.adapters.store_guard import StoreGuard

    guard = StoreGuard(settings.store_wait_s, vote_s=settings.request_deadline_s, prepare=store.warm)
    layered = LayeredCache(guarded(store.cache, guard))  # what this process holds is nobody's to wait for
    stores = Stores(layered, guarded(store.memory, guard), guarded(store.feedback, guard))
    return OpenStores(stores, layered, store, guard)
