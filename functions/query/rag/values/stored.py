"""The frozen values that outlive a request: what the answer cache, the memory and the feedback store keep.

Moments (``at``, ``expires_at``) are Unix seconds by the wall clock, which goes on while a process is
frozen. Vectors are questions' directions as ``quantise`` makes them, ``b""`` where nobody embedded the question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from rag.values.answer import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY_S = 86_400

ANSWER_TTL_S = 30 * DAY_S
TURN_TTL_S = DAY_S
RESPONSE_TTL_S = 30 * DAY_S
"""How long after an answer a vote on it is accepted."""
VOTE_TTL_S = 180 * DAY_S

MAX_TURNS = 50
"""Turns of one session that are ever looked at."""
MAX_QUESTION_CHARS = 2_000
MAX_ANSWER_CHARS = 4_000
"""Of a remembered turn: it is there for the context of the next question, not for the record."""
MAX_COMMENT_CHARS = 2_000
MAX_SOURCES = 20
MAX_SOURCE_CHARS = 500
MAX_CHUNK_IDS = 40
"""Chunks of one response that a vote on it reaches: as many as a transaction of DynamoDB has room for."""
MAX_VOTES_PER_CHUNK = 100
"""The votes on a chunk that count: those on its newest responses."""
MAX_VOTES_PER_VOTER = 5
"""The votes of one voter that count among them, the newest: nobody can crowd out the others."""
MAX_ANSWER_BYTES = 256 * 1024
"""A larger answer is not cached: DynamoDB takes 400 KB an item."""

ANONYMOUS = "anonymous#"
"""What a voter without a session begins with; no session id holds such a sign."""
HOURS_AGAINST = 2
"""Hours whose anonymous votes keep a question out of the cache together."""

type Layer = Literal["l1", "l2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer:
    """An answer without what belongs to one request (its ids, its timings).

    ``vector`` and ``chunk_ids`` are there so that a vote on a cached answer teaches as much as on a fresh one.
    ``version`` is that of the index's content when it was last found right, ``passages`` a digest of what its writer
    saw.
    """

    answer: Answer
    chunk_ids: tuple[str, ...]
    vector: bytes = b""
    version: str = ""
    passages: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHit:
    """What the cache had under ``key``. ``layer`` is "l1" when it lay in this process."""

    key: str
    answer: CachedAnswer
    layer: Layer
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRecord:
    """What must be known of a response to learn from a vote on it.

    ``cache_keys`` are those of the question, whether the answer was stored or not: a vote against it keeps later
    answers out. There are none when the question has no key (its prompt held history). ``chunk_ids`` name what the
    answer rests on, best first. ``session_id`` is the caller's own, None where the service gave the first one, which
    is then ``began``: nobody votes under it, but with the rest of the session the response can be forgotten.
    """

    response_id: str
    question: str
    chunk_ids: tuple[str, ...]
    profile: str
    at: float
    vector: bytes = b""
    session_id: str | None = None
    cache_keys: tuple[str, ...] = ()
    began: str | None = None

    @property
    def session(self) -> str:
        """Under which its votes are counted: its session, the one that it began, else itself."""
        return self.session_id or self.began or self.response_id

    @property
    def voter(self) -> str:
        """Whose vote a vote on this response is: its session's, else that of all who got this answer in the same hour.

        An answer is the chunks that it rests on: other words, filters or numbers that lead to the same make no other
        one. The (UTC) hour is the response's, so that its vote can be changed and withdrawn in any later one.
        """
        if self.session_id:
            return self.session_id
        rests_on = sorted(self.chunk_ids) or self.cache_keys or (self.question,)
        name = hashlib.sha256("\n".join(rests_on).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{ANONYMOUS}{name}#{self.at // 3600:.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One standing vote on a response, seen from a chunk that the response used.

    ``voter`` tells voices apart, ``question`` and ``vector`` are those of the response.
    """

    helpful: bool
    question: str
    voter: str
    at: float
    vector: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class ErasedCounts:
    """How much was erased of one session."""

    turns: int
    responses: int
    votes: int
    answers: int
    """Out of the answer cache. Others who asked the same had them too."""


def quantise(vector: Sequence[float] | NDArray[np.floating]) -> bytes:
    """The direction of ``vector`` as one int8 a dimension; a cosine between two such differs by less than .01.

    The scale, ``127 / max |x|``, is not kept: cosines do not need it. ``np.frombuffer(stored, np.int8)`` reads it.
    Vectors of different lengths come from different embedding models and must not be compared.
    """
    values = np.asarray(vector, dtype=np.float32)
    peak = float(np.abs(values).max(initial=0.0))
    scaled = values / peak * 127 if peak else values
    return np.rint(scaled).astype(np.int8).tobytes()
