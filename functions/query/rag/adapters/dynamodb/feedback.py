"""Responses and votes in DynamoDB. <id> is the sha256 of a response's id, <chunk> of a chunk's, <voter> of a voter's.

    pk               sk                               attributes
    response#<id>    response                         body (JSON), expiresAt
    voter#<voter>    vote#<response at>#<id>          helpful (absent when withdrawn), comment, question, vector,
                                                      chunks (each <chunk> on a line), keys (each <cache key> on
                                                      a line), at, expiresAt
    chunk#<chunk>    vote#<response at>#<id>#<voter>  helpful, question, voter, vector, at, expiresAt
    chunk#<chunk>    voted                            expiresAt
    bar#<cache key>  vote#<response at>#<id>#<voter>  at, expiresAt; only while the vote is negative;
                     anonymous#<...>                  the same of a voter without a session
    count#<session>  hour                             given, expiresAt: the votes of a session within its hour, see
                                                      rag.adapters.vote_count

The vote under its voter decides: it is written on condition that none newer is there, and the copies, from which votes
are read, are written in the same transaction. A chunk has copies of a voter's newest votes only: which ones is worked
out from the voter's own, so that nobody's votes crowd out another's. The count is written in it too, on condition that
it is still what was read: two votes at once do not both take the last place. (A counter that DynamoDB itself raises
would need UpdateItem, a right of its own.) ``voted`` tells in one call which of a question's chunks have any votes; it
is written before, not in the transaction: all who vote on a chunk write that item, and would conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from rag.adapters.dynamodb.items import Item, Key, Row, Swap, Value
from rag.adapters.dynamodb.table import DynamoDbTable, Overtaken
from rag.adapters.store_format import clip_comment, clip_question, decode, digest, encode_response, expiry
from rag.adapters.vote_count import VoteCount, one_more
from rag.values.stored import (
    ANONYMOUS,
    HOURS_AGAINST,
    MAX_CHUNK_IDS,
    MAX_VOTES_PER_CHUNK,
    MAX_VOTES_PER_VOTER,
    RESPONSE_TTL_S,
    VOTE_TTL_S,
    ResponseRecord,
    Vote,
)

QUERIES_AT_ONCE = 3
"""Each further one may open a connection; docs/benchmarks.md has what that costs."""
MAX_BARS = 100
"""Negative votes on one cache key that are looked at, of sessions and others each, newest response first."""
MAX_OF_VOTER = 100
"""A voter's votes that are looked at when one of them changes, newest response first."""
TRIES_AT_ONCE = 10
"""Of a vote while others of its session are written; each time one of them is."""


class DynamoDbFeedback:
    """See ``rag.ports.stores.FeedbackStore``; ``per_hour`` votes of a session are taken within an hour, 0: any.

    Uses GetItem, PutItem, Query, BatchGetItem, BatchWriteItem, and a transaction of PutItem and DeleteItem.
    """

    def __init__(
        self,
        table: DynamoDbTable,
        *,
        response_ttl_s: float = RESPONSE_TTL_S,
        vote_ttl_s: float = VOTE_TTL_S,
        per_hour: int = 0,
    ) -> None:
        self._table = table
        self._response_ttl_s = response_ttl_s
        self._vote_ttl_s = vote_ttl_s
        self._per_hour = per_hour

    def record(self, response: ResponseRecord) -> None:
        """Keep ``response``."""
        expires_at = expiry(self._table.clock(), self._response_ttl_s)
        self._table.put(Row(response_key(response.response_id), {"body": encode_response(response)}, expires_at))

    def response(self, response_id: str) -> ResponseRecord | None:
        """The response that was given this id."""
        item = self._table.get(response_key(response_id))
        return decode(ResponseRecord, str(item["body"])) if item else None

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        """Let ``voter``'s vote on ``response`` be ``helpful``."""
        chunks = [digest(chunk_id) for chunk_id in dict.fromkeys(response.chunk_ids[:MAX_CHUNK_IDS])]
        values: Mapping[str, Value | None] = {
            "helpful": helpful,
            "comment": clip_comment(comment),
            "question": clip_question(response.question),
            "vector": response.vector,
            "chunks": "\n".join(chunks),
            "keys": "\n".join(response.cache_keys) or None,
            "at": at,
        }
        key = Key(voter_pk(voter), vote_sk(response))
        decisive = Row(key, values, expiry(self._table.clock(), self._vote_ttl_s))
        for _ in range(TRIES_AT_ONCE - 1):
            try:
                return self._written(decisive, response, chunks, voter)
            except Overtaken:
                continue
        return self._written(decisive, response, chunks, voter)

    def _written(self, decisive: Row, response: ResponseRecord, chunks: Sequence[str], voter: str) -> bool:
        """Write the vote ``decisive`` and all that goes with it; see ``vote`` for what it tells."""
        swap = self._one_more(response.session) if self._per_hour else None  # first: a refused vote costs one read
        puts, deletes, content = self._copies(decisive, chunks, voter)
        for cache_key in response.cache_keys:
            bar = Key(_bar_pk(cache_key), _bar_sk(decisive.key.sk, voter))
            if decisive.values["helpful"] is False:
                puts.append(Row(bar, {"at": decisive.values["at"]}, decisive.expires_at))
            else:
                deletes.append(bar)
        self._table.replace_unless_newer(decisive, puts=puts, deletes=deletes, swap=swap)
        return content

    def _one_more(self, session: str) -> Swap:
        item = self._table.get(count_key(session))
        before = VoteCount(int(item["given"]), int(item["expiresAt"])) if item else None
        count = one_more(before, now=self._table.clock(), per_hour=self._per_hour)
        return Swap(Row(count_key(session), {"given": count.given}, count.until), item)

    def _copies(self, decisive: Row, chunks: Sequence[str], voter: str) -> tuple[list[Row], list[Key], bool]:
        """The copies under ``chunks`` that come and go with the vote ``decisive``: at most two a chunk.

        And whether all of the voter's votes until then are for their responses.
        """
        mine = self._table.newest(decisive.key.pk, prefix="vote#", limit=MAX_OF_VOTER)
        before = {str(item["sk"]): item for item in mine}
        vote = {name: value for name, value in decisive.values.items() if value is not None}
        after = {**before, decisive.key.sk: {**vote, "expiresAt": decisive.expires_at}}
        if "helpful" in vote:
            self._table.put_many(Row(_voted(_chunk_pk(chunk)), {}, decisive.expires_at) for chunk in chunks)
        puts: list[Row] = []
        deletes: list[Key] = []
        for chunk in chunks:
            old, new = _counting(before, chunk), _counting(after, chunk)
            gone = {*old, decisive.key.sk} - set(new)
            deletes += (Key(_chunk_pk(chunk), _copy_sk(sk, voter)) for sk in gone)
            puts += (_copy(chunk, sk, item, voter) for sk, item in new.items() if old.get(sk) is not item)
        return puts, deletes, all(item.get("helpful") for item in mine)

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """The standing votes from ``since`` on, oldest first, by chunk."""
        places = {chunk_id: _chunk_pk(digest(chunk_id)) for chunk_id in chunk_ids}
        voted = {item["pk"] for item in self._table.get_many(_voted(place) for place in places.values())}
        chunks = {chunk_id: place for chunk_id, place in places.items() if place in voted}
        if not chunks:
            return {}
        with ThreadPoolExecutor(QUERIES_AT_ONCE) as threads:
            rows = list(threads.map(self._votes_under, chunks.values()))
        found: dict[str, tuple[Vote, ...]] = {}
        for chunk_id, items in zip(chunks, rows, strict=True):
            votes = tuple(sorted((_vote(item) for item in items), key=lambda vote: vote.at))
            if standing := tuple(vote for vote in votes if vote.at >= since):
                found[chunk_id] = standing
        return found

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Whether a session's vote against a response of this cache key stands, or anonymous ones of several hours."""
        bars = (self._table.newest(_bar_pk(cache_key), prefix=kind, limit=MAX_BARS) for kind in ("vote#", ANONYMOUS))
        sessions, anonymous = ([str(bar["sk"]) for bar in some if float(bar["at"]) >= since] for some in bars)
        return bool(sessions) or len({int(sk.split("#")[1]) // 3_600_000_000 for sk in anonymous}) >= HOURS_AGAINST

    def _votes_under(self, pk: str) -> list[Item]:
        return self._table.newest(pk, prefix="vote#", limit=MAX_VOTES_PER_CHUNK)[::-1]


def _counting(votes: Mapping[str, Item], chunk: str) -> dict[str, Item]:
    """Those of a voter's ``votes``, by sort key, that count for ``chunk``: the newest that stand."""
    about = [(sk, item) for sk, item in votes.items() if "helpful" in item and chunk in str(item["chunks"]).split()]
    return dict(sorted(about, key=lambda vote: (float(vote[1]["at"]), vote[0]))[-MAX_VOTES_PER_VOTER:])


def _copy(chunk: str, sk: str, item: Item, voter: str) -> Row:
    """A voter's vote as it is seen from ``chunk``."""
    values = {name: item[name] for name in ("helpful", "question", "vector", "at")}
    return Row(Key(_chunk_pk(chunk), _copy_sk(sk, voter)), {**values, "voter": voter}, int(item["expiresAt"]))


def _vote(item: Item) -> Vote:
    vector = item["vector"]
    return Vote(
        helpful=bool(item["helpful"]),
        question=str(item["question"]),
        voter=str(item["voter"]),
        at=float(item["at"]),
        vector=vector if isinstance(vector, bytes) else b"",
    )


def voter_pk(voter: str) -> str:
    """Where a voter's votes lie."""
    return f"voter#{digest(voter)}"


def vote_sk(response: ResponseRecord) -> str:
    """Where, among those of its voter, the vote on ``response`` lies."""
    return f"vote#{round(response.at * 1e6):017d}#{digest(response.response_id)}"


def copies_of(sk: str, voter: str, *, chunks: Iterable[str], cache_keys: Iterable[str]) -> tuple[Key, ...]:
    """Where a vote may have been copied to: under the ``chunks`` (their digests) and as a bar of ``cache_keys``."""
    seen = (Key(_chunk_pk(chunk), _copy_sk(sk, voter)) for chunk in chunks)
    return *seen, *(Key(_bar_pk(key), _bar_sk(sk, voter)) for key in cache_keys)


def count_key(session: str) -> Key:
    """Where the votes of a session are counted."""
    return Key(f"count#{digest(session)}", "hour")


def response_key(response_id: str) -> Key:
    """Where a response lies."""
    return Key(f"response#{digest(response_id)}", "response")


def _copy_sk(sk: str, voter: str) -> str:
    return f"{sk}#{digest(voter)}"


def _bar_sk(sk: str, voter: str) -> str:
    copy = _copy_sk(sk, voter)
    return ANONYMOUS + copy.removeprefix("vote#") if voter.startswith(ANONYMOUS) else copy


def _chunk_pk(chunk: str) -> str:
    return f"chunk#{chunk}"


def _voted(chunk_pk: str) -> Key:
    return Key(chunk_pk, "voted")


def _bar_pk(cache_key: str) -> str:
    return f"bar#{cache_key}"
