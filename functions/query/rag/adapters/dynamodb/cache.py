"""The answer cache in DynamoDB.

pk             sk        attributes
answer#<key>   answer    body (JSON), expiresAt
"""

from __future__ import annotations

from rag.adapters.dynamodb.items import Key, Row
from rag.adapters.dynamodb.table import DynamoDbTable
from rag.adapters.store_format import decode, encode_answer, expiry
from rag.values.stored import CachedAnswer, CacheHit


class DynamoDbAnswerCache:
    """See ``rag.ports.AnswerCache``. Uses GetItem, PutItem, DeleteItem."""

    def __init__(self, table: DynamoDbTable) -> None:
        self._table = table

    def get(self, key: str) -> CacheHit | None:
        """The answer under ``key``, if there is one."""
        item = self._table.get(_place(key))
        answer = decode(CachedAnswer, str(item["body"])) if item else None
        if item is None or answer is None:
            return None
        return CacheHit(key=key, answer=answer, layer="l2", expires_at=int(item["expiresAt"]))

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Keep ``answer`` for ``ttl_s`` seconds."""
        if (body := encode_answer(answer)) is not None:
            self._table.put(Row(_place(key), {"body": body}, expiry(self._table.clock(), ttl_s)))

    def evict(self, key: str) -> None:
        """Forget the answer under ``key``."""
        self._table.delete(_place(key))


def _place(key: str) -> Key:
    return Key(f"answer#{key}", "answer")
