"""Which stores there are: one DynamoDB table, one SQLite file, or none."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag.adapters import store_format
from rag.adapters.layered_cache import LayeredCache
from rag.config.settings import Settings
from rag.errors import ConfigurationError, StoreUnavailable
from rag.profiles.shared.optional_stages import Stores

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from rag.adapters.dynamodb.table import DynamoDbTable
    from rag.adapters.sqlite.database import SqliteDatabase
    from rag.adapters.store_guard import StoreGuard
    from rag.ports import AnswerCache, FeedbackStore, Memory


@dataclass(frozen=True, slots=True)
class OpenStores:
    """The stores and what belongs to the moment of a snapshot: connections, and what this process has cached."""

    stores: Stores
    cache: LayeredCache
    table: DynamoDbTable | None
    database: SqliteDatabase | None
    guard: StoreGuard

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
        """Forget what this process has cached and how the store was; a new connection is opened meanwhile."""
        self.cache.clear()
        self.guard.reset()
        if self.table:
            self.table.reset()
            self.table.connect()
        if self.database:
            self.database.close()


def build_stores(settings: Settings) -> OpenStores | None:
    """The stores that ``settings`` name; nothing is connected yet, and boto3 not imported.

    Raises:
        ConfigurationError: the file of one is open to others.
    """
    if settings.table_name:
        from rag.adapters.dynamodb.cache import DynamoDbAnswerCache
        from rag.adapters.dynamodb.feedback import DynamoDbFeedback
        from rag.adapters.dynamodb.memory import DynamoDbMemory
        from rag.adapters.dynamodb.table import DynamoDbTable

        table = DynamoDbTable(settings.table_name, endpoint_url=settings.table_endpoint or None)
        return _guarded(
            settings,
            DynamoDbAnswerCache(table),
            DynamoDbMemory(table),
            DynamoDbFeedback(table, per_hour=settings.feedback_per_hour),
            table=table,
        )
    if settings.store_path:
        from rag.adapters.sqlite.database import SqliteDatabase
        from rag.adapters.sqlite.stores import SqliteAnswerCache, SqliteFeedback, SqliteMemory

        database = SqliteDatabase(Path(settings.store_path))
        if exposed := database.exposed():
            raise ConfigurationError(
                f"STORE_PATH: others than its owner may read or write {exposed}, which holds what people asked."
                f" Run: chmod 600 {exposed}"
            )
        return _guarded(
            settings,
            SqliteAnswerCache(database),
            SqliteMemory(database),
            SqliteFeedback(database, per_hour=settings.feedback_per_hour),
            database=database,
        )
    return None


def _guarded(
    settings: Settings,
    cache: AnswerCache,
    memory: Memory,
    feedback: FeedbackStore,
    *,
    table: DynamoDbTable | None = None,
    database: SqliteDatabase | None = None,
) -> OpenStores:
    """The stores of one table or file: what one of them finds out of reach, none of them waits for."""
    from rag.adapters.guarded_stores import GuardedAnswerCache, GuardedFeedback, GuardedMemory
    from rag.adapters.store_guard import StoreGuard

    prepare = table.warm if table else lambda: None
    guard = StoreGuard(settings.store_wait_s, vote_s=settings.request_deadline_s, prepare=prepare)
    layered = LayeredCache(GuardedAnswerCache(cache, guard))  # what this process holds is nobody's to wait for
    stores = Stores(layered, GuardedMemory(memory, guard), GuardedFeedback(feedback, guard))
    return OpenStores(stores, layered, table, database, guard)
