"""Forgetting a session in DynamoDB: all that lies under its id, and what the responses to it lead to.

Turns and votes lie under the session's digest. Responses do not: the whole table is scanned for those that name it, so
that no answer pays for a list of them. That needs dynamodb:Scan, which the function does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag.adapters.dynamodb.cache import answer_key
from rag.adapters.dynamodb.feedback import copies_of, count_key, response_key, vote_sk, voter_pk
from rag.adapters.dynamodb.items import Item, Key
from rag.adapters.dynamodb.memory import session_pk
from rag.adapters.dynamodb.table import DynamoDbTable
from rag.adapters.store_format import decode, digest
from rag.values.stored import ErasedCounts, ResponseRecord


@dataclass(frozen=True, slots=True)
class _Vote:
    """A vote, and what it names: digests of chunks, cache keys."""

    voter: str
    sk: str
    chunks: tuple[str, ...]
    cache_keys: tuple[str, ...]

    @property
    def key(self) -> Key:
        return Key(voter_pk(self.voter), self.sk)

    @property
    def copies(self) -> tuple[Key, ...]:
        return copies_of(self.sk, self.voter, chunks=self.chunks, cache_keys=self.cache_keys)


class DynamoDbSessions:
    """Uses Query, Scan, BatchGetItem and BatchWriteItem (of DeleteItem)."""

    def __init__(self, table: DynamoDbTable) -> None:
        self._table = table

    def forget(self, session_id: str) -> ErasedCounts:
        """Erase what is kept of the session; a vote goes with what was learnt from it.

        What leads to the rest is erased last: after a failure half way the same call goes on.

        Raises:
            StoreUnavailable: the table cannot be reached, or refuses.
        """
        turns = [_key(item) for item in self._table.under(session_pk(session_id))]
        responses = self._responses(session_id)
        under_session = list(self._votes(session_id))
        on_responses = [_vote_on(response) for response in responses]
        votes = {vote.key for vote in under_session}
        votes |= {_key(item) for item in self._table.get_many(vote.key for vote in on_responses)}
        named = [*under_session, *on_responses]
        answers = [answer_key(key) for vote in named for key in vote.cache_keys]
        kept = len(self._table.get_many(answers))
        self._table.delete_many([*answers, *(copy for vote in named for copy in vote.copies)])
        self._table.delete_many([vote.key for vote in named])
        kept_of = [response_key(response.response_id) for response in responses]
        self._table.delete_many([*turns, *kept_of, count_key(session_id)])
        return ErasedCounts(turns=len(turns), responses=len(responses), votes=len(votes), answers=kept)

    def _responses(self, session_id: str) -> list[ResponseRecord]:
        items = self._table.scan(prefix="response#", holding=session_id)
        records = (decode(ResponseRecord, str(item["body"])) for item in items)
        return [record for record in records if record and session_id in (record.session_id, record.began)]

    def _votes(self, session_id: str) -> Iterator[_Vote]:
        for item in self._table.under(voter_pk(session_id)):
            chunks, keys = (tuple(str(item.get(name, "")).split()) for name in ("chunks", "keys"))
            yield _Vote(session_id, str(item["sk"]), chunks, keys)


def _vote_on(response: ResponseRecord) -> _Vote:
    chunks = tuple(digest(chunk_id) for chunk_id in response.chunk_ids)
    return _Vote(response.voter, vote_sk(response), chunks, response.cache_keys)


def _key(item: Item) -> Key:
    return Key(str(item["pk"]), str(item["sk"]))
