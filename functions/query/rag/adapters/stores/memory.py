"""Conversations, one item a turn."""

from __future__ import annotations

from rag.adapters.stores.guard import StoreGuard, guarded_read, guarded_write
from rag.adapters.stores.layout import new_turn_key, session_pk
from rag.adapters.stores.records import decode, encode_turn, expiry
from rag.adapters.stores.table import Table, TableItem
from rag.values.question import Turn
from rag.values.stored import MAX_TURNS, TURN_TTL_S


class TableMemory:
    """See ``rag.ports.stores.Memory``."""

    def __init__(self, table: Table, guard: StoreGuard | None = None) -> None:
        self.guard = guard
        self._table = table

    @guarded_write
    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``."""
        expires_at = expiry(self._table.clock(), TURN_TTL_S)
        self._table.put(TableItem(new_turn_key(session_id, turn.at), {"body": encode_turn(turn)}, expires_at))

    @guarded_read
    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """Return the last ``limit`` turns, oldest first."""
        limit = max(0, min(limit, MAX_TURNS))
        items = self._table.newest(session_pk(session_id), prefix="turn#", limit=limit)
        turns = (decode(Turn, str(item.attributes["body"])) for item in reversed(items))
        return tuple(turn for turn in turns if turn)
