"""Which store forgets a session: the one that the settings name. The function never asks; ``ragctl forget`` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rag.config.settings import Settings
from rag.values.stored import ErasedCounts


def build_forget(settings: Settings) -> Callable[[str], ErasedCounts] | None:
    """From a session's id to what was erased of it; None where nothing is kept. It may raise ``StoreUnavailable``."""
    if settings.table_name:
        from rag.adapters.dynamodb.sessions import DynamoDbSessions
        from rag.adapters.dynamodb.table import DynamoDbTable

        return DynamoDbSessions(DynamoDbTable(settings.table_name, endpoint_url=settings.table_endpoint or None)).forget
    if settings.store_path and (path := Path(settings.store_path)).exists():
        from rag.adapters.sqlite.database import SqliteDatabase
        from rag.adapters.sqlite.sessions import SqliteSessions

        return SqliteSessions(SqliteDatabase(path)).forget
    return None
