"""The layout of the table: which items the stores write, and under which keys.

    pk               sk                               attributes (each item also has an expiry)
    answer#<key>     answer                           body (JSON)
    session#<id>     turn#<at, us>#<written, ns>#<random>   body (JSON)
    response#<id>    response                         body (JSON)
    voter#<voter>    vote#<response at>#<id>          helpful (absent if withdrawn), comment, question, vector,
                                                      chunks (each <chunk> on a line), keys (each cache key on a
                                                      line), at
    chunk#<chunk>    vote#<response at>#<id>#<voter>  helpful, question, voter, vector, at
    chunk#<chunk>    voted                            none
    bar#<cache key>  vote#<response at>#<id>#<voter>  at; only while the vote is negative
                     anonymous#<...>                  the same for a voter without a session
    count#<session>  hour                             given: the session's votes within its hour

<id>, <chunk>, <voter> and <session> are sha256 digests: ids come from callers and documents and may have any length and
characters. Each turn is a separate item, so that concurrent writers neither overwrite nor lock each other; its sort key
orders turns by ``at``, then by arrival.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

from rag.adapters.stores.records import digest
from rag.adapters.stores.table import TableKey
from rag.values.stored import ANONYMOUS, ResponseRecord


def answer_key(cache_key: str) -> TableKey:
    """Return the key of a cached answer."""
    return TableKey(f"answer#{cache_key}", "answer")


def session_pk(session_id: str) -> str:
    """Return the partition of a session's turns."""
    return f"session#{digest(session_id)}"


def new_turn_key(session_id: str, at: float) -> TableKey:
    """Return a new key for a turn; to be made once per turn, so that a repeated write changes nothing."""
    return TableKey(session_pk(session_id), f"turn#{round(at * 1e6):017d}#{time.time_ns():020d}#{secrets.token_hex(8)}")


def response_key(response_id: str) -> TableKey:
    """Return the key of a response."""
    return TableKey(f"response#{digest(response_id)}", "response")


def vote_key(response: ResponseRecord, voter: str) -> TableKey:
    """Return the key of ``voter``'s vote on ``response``."""
    return TableKey(voter_pk(voter), f"vote#{round(response.at * 1e6):017d}#{digest(response.response_id)}")


def voter_pk(voter: str) -> str:
    """Return the partition of a voter's votes."""
    return f"voter#{digest(voter)}"


def vote_count_key(session: str) -> TableKey:
    """Return the key of a session's vote count."""
    return TableKey(f"count#{digest(session)}", "hour")


def chunk_pk(chunk: str) -> str:
    """Return the partition of the votes on a chunk, which is named by its digest."""
    return f"chunk#{chunk}"


def voted_key(chunk: str) -> TableKey:
    """Return the key of the mark that a chunk has votes; the chunk is named by its digest."""
    return TableKey(chunk_pk(chunk), "voted")


def chunk_vote_key(chunk: str, sk: str, voter: str) -> TableKey:
    """Return the key of the copy, under a chunk's digest, of the vote with the sort key ``sk``."""
    return TableKey(chunk_pk(chunk), f"{sk}#{digest(voter)}")


def bar_pk(cache_key: str) -> str:
    """Return the partition of the negative votes on a cache key."""
    return f"bar#{cache_key}"


def bar_key(cache_key: str, sk: str, voter: str) -> TableKey:
    """Return the key of the copy, under a cache key, of the negative vote with the sort key ``sk``."""
    copy = f"{sk}#{digest(voter)}"
    return TableKey(bar_pk(cache_key), ANONYMOUS + copy.removeprefix("vote#") if voter.startswith(ANONYMOUS) else copy)


def copy_keys(sk: str, voter: str, *, chunks: Iterable[str], cache_keys: Iterable[str]) -> list[TableKey]:
    """Return every key to which a vote may have been copied; ``chunks`` are digests."""
    under_chunks = [chunk_vote_key(chunk, sk, voter) for chunk in chunks]
    return under_chunks + [bar_key(cache_key, sk, voter) for cache_key in cache_keys]
