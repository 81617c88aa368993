"""Values that outlive a request: records of the answer cache and the feedback store, and their limits.

Times (``at``, ``expires_at``) are Unix seconds of the wall clock, which goes on while a process is frozen. Vectors are
questions' embeddings by ``quantise``, ``b""`` for a question without an embedding.
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
"""Time after an answer in which a vote on it is accepted."""
VOTE_TTL_S = 180 * DAY_S

MAX_TURNS = 50
"""Turns of one session that are read."""
MAX_QUESTION_CHARS = 2_000
MAX_ANSWER_CHARS = 4_000
"""Length of an answer in a remembered turn, which only serves as context of the next question."""
MAX_COMMENT_CHARS = 2_000
MAX_SOURCES = 20
MAX_SOURCE_CHARS = 500
MAX_CHUNK_IDS = 40
"""Chunks of one response that a vote applies to: the limit of a DynamoDB transaction."""
MAX_VOTES_PER_CHUNK = 100
"""Votes on a chunk that count: those on its newest responses."""
MAX_VOTES_PER_VOTER = 5
"""Newest votes of one voter that count among them, so that one voter cannot crowd out the others."""
MAX_ANSWER_BYTES = 256 * 1024
"""Size limit of a cached answer: DynamoDB takes 400 KB an item."""

ANONYMOUS = "anonymous#"
"""Prefix of a voter without a session; no session id has a ``#``."""
HOURS_AGAINST = 2
"""Hours of anonymous votes that together keep a question out of the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer:
    """An answer without the parts of one request (ids, timings).

    A vote on a cached answer needs ``vector`` and ``chunk_ids`` to teach as much as on a new one. ``version`` is the
    last version of the index's content for which the answer was valid, ``passages`` a digest of its writer's passages.
    """

    answer: Answer
    chunk_ids: tuple[str, ...]
    vector: bytes = b""
    version: str = ""
    passages: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHit:
    """A cached answer; ``layer`` is "l1" for this process's memory, "l2" for the store."""

    key: str
    answer: CachedAnswer
    layer: Literal["l1", "l2"]
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRecord:
    """A response as votes on it need it.

    ``cache_keys`` are the question's, whether its answer is cached or not: a vote against the response keeps later
    answers out of the cache. A question with history has no key. ``chunk_ids`` are the chunks behind the answer, best
    first. ``session_id`` is the caller's. If the service began the session with this response, it is None and
    ``began`` is the new id: no vote is counted under it, but erasing the session erases the response.
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
        """The id under which votes are counted: the session, the session that it began, else the response."""
        return self.session_id or self.began or self.response_id

    @property
    def voter(self) -> str:
        """The voter behind a vote: the session, else all anonymous callers who got this answer in the same hour.

        The chunks behind an answer identify it: other words, filters or numbers with the same chunks are the same
        answer. The (UTC) hour is the response's, so that a vote can be changed and withdrawn in any later hour.
        """
        if self.session_id:
            return self.session_id
        rests_on = sorted(self.chunk_ids) or self.cache_keys or (self.question,)
        name = hashlib.sha256("\n".join(rests_on).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{ANONYMOUS}{name}#{self.at // 3600:.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A vote on a response, as a record of one of the response's chunks.

    ``question`` and ``vector`` are the response's.
    """

    helpful: bool
    question: str
    voter: str
    at: float
    vector: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class ErasedCounts:
    """Numbers of erased records of one session."""

    turns: int
    responses: int
    votes: int
    answers: int
    """Answers in the cache, which others who asked the same got too."""


def quantise(vector: Sequence[float] | NDArray[np.floating]) -> bytes:
    """Return ``vector`` as one int8 for each dimension; cosines of two such vectors differ by less than .01.

    The scale, ``127 / max |x|``, is dropped: cosines do not need it. ``np.frombuffer(stored, np.int8)`` reads the
    vector. Vectors of different lengths are of different embedding models and must not be compared.
    """
    values = np.asarray(vector, dtype=np.float32)
    peak = float(np.abs(values).max(initial=0.0))
    scaled = values / peak * 127 if peak else values
    return np.rint(scaled).astype(np.int8).tobytes()
