"""Responses and votes.

The item of a vote under its voter decides: it is written on condition that no newer one is stored, and its copies, from
which votes are read, are written in the same transaction. A chunk has copies of a voter's newest votes only. Which ones
is worked out from the voter's own votes, so that no voter crowds out another.

The count of a session's votes is written in that transaction too, on condition that it is still the one that was read,
so that two concurrent votes do not both take the last place. (A counter that DynamoDB raises itself would need
UpdateItem, another right.) The mark ``voted`` shows in one call which of a question's chunks have votes. It is written
before the transaction: every vote on a chunk writes that item, and transactions on it would conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rag.adapters.stores import layout
from rag.adapters.stores.guard import GuardedStore, StoreGuard, guarded_read, guarded_write
from rag.adapters.stores.layout import clip, decode, digest, encode_response, expiry
from rag.adapters.stores.table import Swap, SwapConflict, Table, TableItem, TableKey
from rag.errors import TooManyVotes
from rag.values.stored import (
    ANONYMOUS,
    HOURS_AGAINST,
    MAX_CHUNK_IDS,
    MAX_COMMENT_CHARS,
    MAX_QUESTION_CHARS,
    MAX_VOTES_PER_CHUNK,
    MAX_VOTES_PER_VOTER,
    RESPONSE_TTL_S,
    VOTE_TTL_S,
    ResponseRecord,
    Vote,
)

_COPIED = ("helpful", "question", "vector", "at")
"""Attributes of a vote that its copy under a chunk has, beside ``voter``; those of another release are ignored."""
MAX_BARS = 100
"""Negative votes that are read per cache key, of sessions and of others each, newest response first."""
MAX_READ_PER_VOTER = 100
"""Votes of a voter that are read when one of them changes, newest response first."""
MAX_TRIES = 10
"""Tries of a vote while other votes of its session are written; each failed try means that one of them was."""
HOUR_S = 3600


class TableFeedback(GuardedStore):
    """See ``rag.ports.FeedbackStore``. A session has ``votes_per_hour`` votes, with 0 any number."""

    def __init__(self, table: Table, guard: StoreGuard | None = None, *, votes_per_hour: int = 0) -> None:
        super().__init__(table, guard)
        self._votes_per_hour = votes_per_hour

    @guarded_write
    def record(self, response: ResponseRecord) -> None:
        expires_at = expiry(self._table.clock(), RESPONSE_TTL_S)
        self._table.put(
            TableItem(layout.response_key(response.response_id), {"body": encode_response(response)}, expires_at)
        )

    @guarded_read
    def response(self, response_id: str) -> ResponseRecord | None:
        item = self._table.get(layout.response_key(response_id))
        return decode(ResponseRecord, item.attributes["body"]) if item else None

    @guarded_write
    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        attributes = {
            "helpful": helpful,
            "comment": clip(comment, MAX_COMMENT_CHARS) if comment else None,
            "question": clip(response.question, MAX_QUESTION_CHARS),
            "vector": response.vector,
            "chunks": "\n".join(dict.fromkeys(map(digest, response.chunk_ids[:MAX_CHUNK_IDS]))),
            "keys": "\n".join(response.cache_keys) or None,
            "at": at,
        }
        vote = TableItem(
            layout.vote_key(response, voter),
            {name: value for name, value in attributes.items() if value is not None},
            expiry(self._table.clock(), VOTE_TTL_S),
        )
        for _ in range(MAX_TRIES - 1):
            try:
                return self._write_vote(vote, response, voter)
            except SwapConflict:
                continue
        return self._write_vote(vote, response, voter)

    @guarded_read
    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        marks = {chunk_id: layout.voted_key(digest(chunk_id)) for chunk_id in chunk_ids}
        voted = {item.key for item in self._table.get_many(marks.values())}
        pks = {chunk_id: mark.pk for chunk_id, mark in marks.items() if mark in voted}
        items_by_chunk = self._table.newest_of_each(list(pks.values()), prefix="vote#", limit=MAX_VOTES_PER_CHUNK)
        found: dict[str, tuple[Vote, ...]] = {}
        for chunk_id, items in zip(pks, items_by_chunk, strict=True):
            copies = ({name: item.attributes[name] for name in (*_COPIED, "voter")} for item in reversed(items))
            votes = sorted((Vote(**copy) for copy in copies), key=lambda vote: vote.at)
            if standing := tuple(vote for vote in votes if vote.at >= since):
                found[chunk_id] = standing
        return found

    @guarded_write  # it comes after the answer, in the time of the writes
    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        pk = layout.bar_pk(cache_key)
        bars = [bar for prefix in ("vote#", ANONYMOUS) for bar in self._table.newest(pk, prefix=prefix, limit=MAX_BARS)]
        standing = [bar.key.sk for bar in bars if bar.attributes["at"] >= since]
        hours = {int(sk.split("#")[1]) // (HOUR_S * 1_000_000) for sk in standing if sk.startswith(ANONYMOUS)}
        return any(sk.startswith("vote#") for sk in standing) or len(hours) >= HOURS_AGAINST

    def _write_vote(self, vote: TableItem, response: ResponseRecord, voter: str) -> bool:
        """Write ``vote`` with its copies and count; return whether the voter had no vote yet against or withdrawn."""
        # First, so that a refused vote costs one read.
        count = self._increment_count(response.session) if self._votes_per_hour else None
        earlier = {
            item.key.sk: item for item in self._table.newest(vote.key.pk, prefix="vote#", limit=MAX_READ_PER_VOTER)
        }
        chunks = vote.attributes["chunks"].split()
        if "helpful" in vote.attributes:
            self._table.put_many(TableItem(layout.voted_key(chunk), {}, vote.expires_at) for chunk in chunks)
        puts, deletes = _changed_copies(earlier, vote, chunks, voter)
        for cache_key in response.cache_keys:
            bar = layout.bar_key(cache_key, vote.key.sk, voter)
            if vote.attributes.get("helpful") is False:
                puts.append(TableItem(bar, {"at": vote.attributes["at"]}, vote.expires_at))
            else:
                deletes.append(bar)
        self._table.replace_unless_newer(vote, puts=puts, deletes=deletes, swap=count)
        return all(item.attributes.get("helpful") for item in earlier.values())

    def _increment_count(self, session: str) -> Swap:
        """Return the write of the session's next vote count; its hour begins with a vote and ends by its expiry.

        Raises:
            TooManyVotes: the session has no vote left in this hour.
        """
        now, key = self._table.clock(), layout.vote_count_key(session)
        before = self._table.get(key)
        if before is None:
            return Swap(TableItem(key, {"given": 1}, expiry(now, HOUR_S)), None)
        given = int(before.attributes["given"])
        if given >= self._votes_per_hour:
            raise TooManyVotes(self._votes_per_hour, retry_after=before.expires_at - now)
        return Swap(TableItem(key, {"given": given + 1}, before.expires_at), before)


def _changed_copies(
    earlier: Mapping[str, TableItem], vote: TableItem, chunks: Iterable[str], voter: str
) -> tuple[list[TableItem], list[TableKey]]:
    """Return the copies under ``chunks`` to write and to delete with ``vote``: at most two a chunk.

    ``earlier`` are the voter's votes until then, by sort key.
    """
    sk = vote.key.sk
    votes = {**earlier, sk: vote}
    puts: list[TableItem] = []
    deletes: list[TableKey] = []
    for chunk in chunks:
        old, new = _counting_votes(earlier, chunk), _counting_votes(votes, chunk)
        deletes += (layout.chunk_vote_key(chunk, removed, voter) for removed in {*old, sk} - set(new))
        for counted, item in new.items():
            if old.get(counted) is not item:
                values = {name: item.attributes[name] for name in _COPIED}
                copy = layout.chunk_vote_key(chunk, counted, voter)
                puts.append(TableItem(copy, {**values, "voter": voter}, item.expires_at))
    return puts, deletes


def _counting_votes(votes: Mapping[str, TableItem], chunk: str) -> dict[str, TableItem]:
    """Return the voter's newest standing votes on ``chunk``, by sort key; only these count."""
    standing = [
        (sk, item)
        for sk, item in votes.items()
        if "helpful" in item.attributes and chunk in item.attributes["chunks"].split()
    ]
    return dict(sorted(standing, key=lambda vote: (vote[1].attributes["at"], vote[0]))[-MAX_VOTES_PER_VOTER:])
