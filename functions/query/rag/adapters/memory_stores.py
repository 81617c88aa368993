"""The stores in this process's own memory: for tests and for trying things out. They do not shrink by themselves."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rag.adapters.store_format import (
    clip_question,
    decode_answer,
    decode_response,
    decode_turn,
    encode_answer,
    encode_response,
    encode_turn,
    expiry,
)
from rag.values.stored import (
    MAX_CHUNK_IDS,
    MAX_TURNS,
    MAX_VOTES_PER_CHUNK,
    MAX_VOTES_PER_VOTER,
    RESPONSE_TTL_S,
    TURN_TTL_S,
    VOTE_TTL_S,
    CachedAnswer,
    CacheHit,
    ResponseRecord,
    Turn,
    Vote,
)


class InMemoryAnswerCache:
    """See ``rag.ports.AnswerCache``. It stands in for an L2, and says so in its hits."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._answers: dict[str, tuple[str, int]] = {}

    def get(self, key: str) -> CacheHit | None:
        """The answer under ``key``, if there is one."""
        body, expires_at = self._answers.get(key, ("", 0))
        answer = decode_answer(body) if expires_at > self._clock() else None
        return CacheHit(key=key, answer=answer, layer="l2", expires_at=expires_at) if answer else None

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Keep ``answer`` for ``ttl_s`` seconds."""
        if (body := encode_answer(answer)) is not None:
            self._answers[key] = (body, expiry(self._clock(), ttl_s))

    def evict(self, key: str) -> None:
        """Forget the answer under ``key``."""
        self._answers.pop(key, None)


class InMemoryMemory:
    """See ``rag.ports.Memory``."""

    def __init__(self, *, clock: Callable[[], float] = time.time, ttl_s: float = TURN_TTL_S) -> None:
        self._clock = clock
        self._ttl_s = ttl_s
        self._lock = threading.Lock()
        self._sessions: dict[str, list[tuple[float, str, int]]] = defaultdict(list)

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``."""
        with self._lock:
            turns = self._sessions[session_id]
            turns.append((turn.at, encode_turn(turn), expiry(self._clock(), self._ttl_s)))
            turns.sort(key=lambda entry: entry[0])  # a stable sort: arrival decides between equals
            del turns[:-MAX_TURNS]

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """The last ``limit`` turns, oldest first."""
        now = self._clock()
        with self._lock:
            bodies = [body for _, body, expires_at in self._sessions.get(session_id, ()) if expires_at > now]
        turns = (decode_turn(body) for body in bodies[-limit:] if limit > 0)
        return tuple(turn for turn in turns if turn)


@dataclass(frozen=True, slots=True)
class _Standing:
    response: ResponseRecord
    voter: str
    helpful: bool | None
    at: float
    expires_at: int


class InMemoryFeedback:
    """See ``rag.ports.FeedbackStore``."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        response_ttl_s: float = RESPONSE_TTL_S,
        vote_ttl_s: float = VOTE_TTL_S,
    ) -> None:
        self._clock = clock
        self._response_ttl_s = response_ttl_s
        self._vote_ttl_s = vote_ttl_s
        self._lock = threading.Lock()
        self._responses: dict[str, tuple[str, int]] = {}
        self._votes: dict[tuple[str, str], _Standing] = {}
        self.comments: dict[tuple[str, str], str] = {}
        """By response id and voter."""

    def record(self, response: ResponseRecord) -> None:
        """Keep ``response``."""
        self._responses[response.response_id] = (
            encode_response(response),
            expiry(self._clock(), self._response_ttl_s),
        )

    def response(self, response_id: str) -> ResponseRecord | None:
        """The response that was given this id."""
        body, expires_at = self._responses.get(response_id, ("", 0))
        return decode_response(body) if expires_at > self._clock() else None

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> None:
        """Let ``voter``'s vote on ``response`` be ``helpful``."""
        place = (response.response_id, voter)
        with self._lock:
            before = self._votes.get(place)
            if before is None or before.at <= at:
                self._votes[place] = _Standing(response, voter, helpful, at, expiry(self._clock(), self._vote_ttl_s))
                self.comments[place] = comment or ""

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """The standing votes from ``since`` on, oldest first, by chunk."""
        standing = sorted(self._standing(), key=lambda vote: vote.at)
        found: dict[str, tuple[Vote, ...]] = {}
        for chunk_id in chunk_ids:
            by_voter: dict[str, deque[_Standing]] = defaultdict(lambda: deque(maxlen=MAX_VOTES_PER_VOTER))
            for vote in standing:
                if chunk_id in vote.response.chunk_ids[:MAX_CHUNK_IDS]:
                    by_voter[vote.voter].append(vote)
            about = sorted(chain.from_iterable(by_voter.values()), key=lambda vote: vote.response.at)
            votes = [
                Vote(
                    helpful=bool(vote.helpful),
                    question=clip_question(vote.response.question),
                    voter=vote.voter,
                    at=vote.at,
                    vector=vote.response.vector,
                )
                for vote in about[-MAX_VOTES_PER_CHUNK:]
                if vote.at >= since
            ]
            if votes:
                found[chunk_id] = tuple(sorted(votes, key=lambda vote: vote.at))
        return found

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Whether a vote against a response of this cache key stands."""
        return any(
            vote.helpful is False and vote.at >= since and cache_key in vote.response.cache_keys
            for vote in self._standing()
        )

    def _standing(self) -> list[_Standing]:
        now = self._clock()
        with self._lock:
            return [vote for vote in self._votes.values() if vote.helpful is not None and vote.expires_at > now]
