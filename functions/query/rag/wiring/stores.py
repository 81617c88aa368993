"""Which stores there are: one DynamoDB table, one SQLite file, or none."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag.adapters import store_format
from rag.adapters.layered_cache import LayeredCache
from rag.config.settings import Settings
from rag.errors import StoreUnavailable
from rag.profiles.services import Stores

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from rag.adapters.dynamodb.table import DynamoDbTable


@dataclass(frozen=True, slots=True)
class OpenStores:
    """The stores and what belongs to the moment of a snapshot: connections, and what this process has cached."""

    stores: Stores
    cache: LayeredCache
    table: DynamoDbTable | None

    def warm(self) -> None:
        """Import what the first access will need, without reading or writing anything."""
        store_format.warm()
        if self.table:
            try:
                self.table.warm()
            except StoreUnavailable as exc:
                # No snapshot fails for it: the first access tries again, and fails soft.
                logger.warning("the stores cannot be warmed: %s", exc)

    def renew(self) -> None:
        """Close connections and forget what this process has cached."""
        self.cache.clear()
        if self.table:
            self.table.reset()


def build_stores(settings: Settings) -> OpenStores | None:
    """The stores that ``settings`` name; nothing is connected yet, and boto3 not imported."""
    if settings.table_name:
        from rag.adapters.dynamodb.cache import DynamoDbAnswerCache
        from rag.adapters.dynamodb.feedback import DynamoDbFeedback
        from rag.adapters.dynamodb.memory import DynamoDbMemory
        from rag.adapters.dynamodb.table import DynamoDbTable

        table = DynamoDbTable(settings.table_name, endpoint_url=settings.table_endpoint or None)
        cache = LayeredCache(DynamoDbAnswerCache(table))
        return OpenStores(Stores(cache, DynamoDbMemory(table), DynamoDbFeedback(table)), cache, table)
    if settings.store_path:
        from rag.adapters.sqlite.database import SqliteDatabase
        from rag.adapters.sqlite.stores import SqliteAnswerCache, SqliteFeedback, SqliteMemory

        database = SqliteDatabase(Path(settings.store_path))
        cache = LayeredCache(SqliteAnswerCache(database))
        return OpenStores(Stores(cache, SqliteMemory(database), SqliteFeedback(database)), cache, None)
    return None
