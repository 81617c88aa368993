"""Sessions: the turns of their conversations, and forgetting a session.

Forgetting erases everything under the session's id, its responses, and the answers and vote copies they lead to. Turns
and votes lie under the session's digest. Responses do not: the whole table is scanned for those that name the session,
so that no answer pays for a list of them.
"""

from __future__ import annotations

from rag.adapters.stores import layout
from rag.adapters.stores.guard import GuardedStore, guarded_read, guarded_write
from rag.adapters.stores.layout import decode, digest, encode_turn, expiry
from rag.adapters.stores.table import Table, TableItem, TableKey
from rag.values.question import Turn
from rag.values.stored import MAX_TURNS, TURN_TTL_S, ErasedCounts, ResponseRecord


class TableMemory(GuardedStore):
    """See ``rag.ports.Memory``."""

    @guarded_write
    def remember(self, session_id: str, turn: Turn) -> None:
        expires_at = expiry(self._table.clock(), TURN_TTL_S)
        self._table.put(TableItem(layout.new_turn_key(session_id, turn.at), {"body": encode_turn(turn)}, expires_at))

    @guarded_read
    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        limit = max(0, min(limit, MAX_TURNS))
        items = self._table.newest(layout.session_pk(session_id), prefix="turn#", limit=limit)
        turns = (decode(Turn, item.attributes["body"]) for item in reversed(items))
        return tuple(turn for turn in turns if turn)


def forget_session(table: Table, session_id: str) -> ErasedCounts | None:
    """Erase what ``table`` holds of a session and return the counts; None if the table was never written.

    A vote is erased with all its copies. The items that lead to others are erased last, so that after a failure the
    same call finds the rest.

    Raises:
        StoreUnavailable: the table cannot be read or written.
    """
    if not table.exists():
        return None
    turns = [item.key for item in table.list_partition(layout.session_pk(session_id))]
    responses = _find_responses(table, session_id)
    session_votes = table.list_partition(layout.voter_pk(session_id))
    response_votes = [layout.vote_key(response, response.voter) for response in responses]  # some voters are anonymous
    votes = {vote.key for vote in session_votes} | {item.key for item in table.get_many(response_votes)}

    cache_keys: list[str] = []
    copies: list[TableKey] = []
    for vote in session_votes:
        chunks, keys = (vote.attributes.get(name, "").split() for name in ("chunks", "keys"))
        cache_keys += keys
        copies += layout.copy_keys(vote.key.sk, session_id, chunks=chunks, cache_keys=keys)
    for response, key in zip(responses, response_votes, strict=True):
        cache_keys += response.cache_keys
        chunks = [digest(chunk_id) for chunk_id in response.chunk_ids]
        copies += layout.copy_keys(key.sk, response.voter, chunks=chunks, cache_keys=response.cache_keys)
    answers = [layout.answer_key(cache_key) for cache_key in cache_keys]
    cached = len(table.get_many(answers))

    table.delete_many([*answers, *copies])
    table.delete_many([*votes, *response_votes])
    response_keys = [layout.response_key(response.response_id) for response in responses]
    table.delete_many([*turns, *response_keys, layout.vote_count_key(session_id)])
    table.purge_deleted()
    return ErasedCounts(turns=len(turns), responses=len(responses), votes=len(votes), answers=cached)


def _find_responses(table: Table, session_id: str) -> list[ResponseRecord]:
    items = table.scan(prefix="response#", text=session_id)
    records = (decode(ResponseRecord, item.attributes["body"]) for item in items)
    return [record for record in records if record and session_id in (record.session_id, record.began)]
