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
    """See ``rag.ports.stores.AnswerCache``. Uses GetItem, PutItem, DeleteItem."""

    def __init__(self, table: DynamoDbTable) -> None:
        self._table = table

    def get(self, key: str) -> CacheHit | None:
        """The answer under ``key``, if there is one."""
        item = self._table.get(answer_key(key))
        answer = decode(CachedAnswer, str(item["body"])) if item else None
        if item is None or answer is None:
            return None
        return CacheHit(key=key, answer=answer, layer="l2", expires_at=int(item["expiresAt"]))

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Keep ``answer`` for ``ttl_s`` seconds."""
        if (body := encode_answer(answer)) is not None:
            self._table.put(Row(answer_key(key), {"body": body}, expiry(self._table.clock(), ttl_s)))

    def evict(self, key: str) -> None:
        """Forget the answer under ``key``."""
        self._table.delete(answer_key(key))


def answer_key(key: str) -> Key:
    """Where the answer under ``key`` lies."""
    return Key(f"answer#{key}", "answer")
