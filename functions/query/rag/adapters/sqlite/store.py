"""All that one SQLite file keeps."""

from __future__ import annotations

from pathlib import Path

from rag.adapters.sqlite.database import SqliteDatabase
from rag.adapters.sqlite.stores import SqliteAnswerCache, SqliteFeedback, SqliteMemory
from rag.config.settings import Settings
from rag.errors import ConfigurationError
from rag.values.stored import ErasedCounts


class SqliteStore:
    """See ``rag.ports.stores.Store``."""

    def __init__(self, settings: Settings) -> None:
        """Make nothing yet.

        Raises:
            ConfigurationError: the file is open to others.
        """
        self._path = Path(settings.store_path)
        self.database = SqliteDatabase(self._path)
        if exposed := self.database.exposed():
            raise ConfigurationError(
                f"STORE_PATH: others than its owner may read or write {exposed}, which holds what people asked."
                f" Run: chmod 600 {exposed}"
            )
        self.cache = SqliteAnswerCache(self.database)
        self.memory = SqliteMemory(self.database)
        self.feedback = SqliteFeedback(self.database, per_hour=settings.feedback_per_hour)
        self.renew = self.database.close

    def warm(self) -> None:
        """Nothing: there is no client."""

    def forget(self, session_id: str) -> ErasedCounts | None:
        """See ``rag.ports.stores.Store``."""
        from rag.adapters.sqlite.sessions import SqliteSessions  # late: the function never asks for it

        return SqliteSessions(self.database).forget(session_id) if self._path.exists() else None
