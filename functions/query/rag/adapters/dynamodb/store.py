"""All that one DynamoDB table keeps."""

from __future__ import annotations

from rag.adapters.dynamodb.cache import DynamoDbAnswerCache
from rag.adapters.dynamodb.feedback import DynamoDbFeedback
from rag.adapters.dynamodb.memory import DynamoDbMemory
from rag.adapters.dynamodb.table import DynamoDbTable
from rag.config.settings import Settings
from rag.values.stored import ErasedCounts


class DynamoDbStore:
    """See ``rag.ports.stores.Store``; boto3 is imported by ``warm`` or the first call."""

    def __init__(self, settings: Settings) -> None:
        self.table = DynamoDbTable(settings.table_name, endpoint_url=settings.table_endpoint or None)
        self.cache = DynamoDbAnswerCache(self.table)
        self.memory = DynamoDbMemory(self.table)
        self.feedback = DynamoDbFeedback(self.table, per_hour=settings.feedback_per_hour)
        self.warm = self.table.warm

    def renew(self) -> None:
        """See ``rag.ports.stores.Store``; a new connection is opened in a thread meanwhile."""
        self.table.reset()
        self.table.connect()

    def forget(self, session_id: str) -> ErasedCounts:
        """See ``rag.ports.stores.Store``."""
        from rag.adapters.dynamodb.sessions import DynamoDbSessions  # late: the function never asks for it

        return DynamoDbSessions(self.table).forget(session_id)
