"""The items that the stores write: their keys, and records as bounded JSON that names its format.

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
orders turns by ``at``, then by arrival. A body in another format, which an older or newer release wrote, reads as
absent.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rag.adapters.stores.table import TableKey
from rag.text.template import replace_surrogates
from rag.values.question import Turn
from rag.values.stored import (
    ANONYMOUS,
    MAX_ANSWER_BYTES,
    MAX_ANSWER_CHARS,
    MAX_CHUNK_IDS,
    MAX_QUESTION_CHARS,
    MAX_SOURCE_CHARS,
    MAX_SOURCES,
    CachedAnswer,
    ResponseRecord,
)


def digest(text: str) -> str:
    """Return the sha256 of ``text`` in hex: a key for ids of any length and any characters."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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


def voted_key(chunk: str) -> TableKey:
    """Return the key of the mark that a chunk has votes; ``chunk`` is its digest."""
    return TableKey(f"chunk#{chunk}", "voted")


def chunk_vote_key(chunk: str, sk: str, voter: str) -> TableKey:
    """Return the key of the copy, under a chunk's digest, of the vote with the sort key ``sk``."""
    return TableKey(f"chunk#{chunk}", f"{sk}#{digest(voter)}")


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


def expiry(now: float, ttl_s: float) -> int:
    """Return the Unix second at which a record expires that is stored at ``now`` for ``ttl_s`` seconds."""
    return math.ceil(now + ttl_s)


def clip(text: str, limit: int) -> str:
    """Return ``text`` without lone surrogates, in at most ``limit`` characters, with an ellipsis where it was cut."""
    text = replace_surrogates(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def encode_answer(answer: CachedAnswer) -> str | None:
    """Return ``answer`` as JSON; None if it is larger than ``MAX_ANSWER_BYTES``."""
    text = _dump(answer)
    return text if len(text.encode()) <= MAX_ANSWER_BYTES else None


def encode_turn(turn: Turn) -> str:
    """Return ``turn`` as JSON, cut to its limits; too long sources are left out, because half a URL leads nowhere."""
    return _dump(
        Turn(
            question=clip(turn.question, MAX_QUESTION_CHARS),
            asked=clip(turn.asked, MAX_QUESTION_CHARS),
            answer=clip(turn.answer, MAX_ANSWER_CHARS),
            at=turn.at,
            sources=tuple(source for source in turn.sources if len(source) <= MAX_SOURCE_CHARS)[:MAX_SOURCES],
        )
    )


def encode_response(response: ResponseRecord) -> str:
    """Return ``response`` as JSON, with its best chunks."""
    question, best = clip(response.question, MAX_QUESTION_CHARS), response.chunk_ids[:MAX_CHUNK_IDS]
    return _dump(replace(response, question=question, chunk_ids=best))


def decode[T](kind: type[T], text: str) -> T | None:
    """Return the record of this ``kind`` in ``text``; None if it is in another format."""
    try:
        return _envelope(kind).model_validate_json(text).record
    except ValidationError:
        return None


def warm() -> None:
    """Build pydantic's models of the records, some ten milliseconds, before a request needs them."""
    for kind in (CachedAnswer, Turn, ResponseRecord):
        _envelope(kind)


class _Envelope[T](BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, ser_json_bytes="base64", val_json_bytes="base64")

    format: Literal[3]
    record: T


def _envelope[T](kind: type[T]) -> type[_Envelope[T]]:
    return _Envelope[kind]  # type: ignore[valid-type]


def _dump[T](record: T) -> str:
    body = _envelope(type(record))(format=3, record=record).model_dump(mode="json", exclude_defaults=True)
    return replace_surrogates(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
