"""Conversations in DynamoDB, one item a turn: writers that meet do not overwrite each other, and nothing is locked.

    pk                            sk                                       attributes
    session#<sha256 of the id>    turn#<at, us>#<written, ns>#<random>     body (JSON), expiresAt

The sort key orders turns by ``at``, then by arrival. It is made once
for each turn, so a repeated write changes nothing.
"""

from __future__ import annotations

import secrets
import time

from rag.adapters.dynamodb.items import Key, Row
from rag.adapters.dynamodb.table import DynamoDbTable
from rag.adapters.store_format import decode, digest, encode_turn, expiry
from rag.values.question import Turn
from rag.values.stored import MAX_TURNS, TURN_TTL_S


class DynamoDbMemory:
    """See ``rag.ports.stores.Memory``. Uses PutItem, Query."""

    def __init__(self, table: DynamoDbTable, *, ttl_s: float = TURN_TTL_S) -> None:
        self._table = table
        self._ttl_s = ttl_s

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``."""
        sk = f"turn#{round(turn.at * 1e6):017d}#{time.time_ns():020d}#{secrets.token_hex(8)}"
        expires_at = expiry(self._table.clock(), self._ttl_s)
        self._table.put(Row(Key(session_pk(session_id), sk), {"body": encode_turn(turn)}, expires_at))

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """The last ``limit`` turns, oldest first."""
        items = self._table.newest(session_pk(session_id), prefix="turn#", limit=min(limit, MAX_TURNS))
        turns = (decode(Turn, str(item["body"])) for item in reversed(items))
        return tuple(turn for turn in turns if turn)


def session_pk(session_id: str) -> str:
    """Where the turns of a session lie."""
    return f"session#{digest(session_id)}"
