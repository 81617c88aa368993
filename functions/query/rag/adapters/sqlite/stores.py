"""The stores in one SQLite file, for the local server: the same behaviour as DynamoDB without an account."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from rag.adapters.sqlite.database import SqliteDatabase
from rag.adapters.store_format import (
    clip_comment,
    clip_question,
    decode,
    digest,
    encode_answer,
    encode_response,
    encode_turn,
    expiry,
)
from rag.adapters.vote_count import VoteCount, one_more
from rag.values.question import Turn
from rag.values.stored import (
    ANONYMOUS,
    HOURS_AGAINST,
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
    Vote,
)

MAX_KNOWN_VOTES = 5_000
"""Votes that a process keeps in memory, about 1 KB each: reading one takes as long as finding ten."""

type _Counting = tuple[int, int, float]
"""A vote's number, whether it is helpful, its moment: what is read of it each time. The rest never changes."""


class SqliteAnswerCache:
    """See ``rag.ports.stores.AnswerCache``."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def get(self, key: str) -> CacheHit | None:
        """The answer under ``key``, if there is one."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT body, expires_at FROM answers WHERE key = ? AND expires_at > ?",
                (key, self._database.clock()),
            ).fetchone()
        answer = decode(CachedAnswer, row[0]) if row else None
        return CacheHit(key=key, answer=answer, layer="l2", expires_at=row[1]) if answer else None

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Keep ``answer`` for ``ttl_s`` seconds."""
        if (body := encode_answer(answer)) is None:
            return
        with self._database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, body, expiry(self._database.clock(), ttl_s))
            )

    def evict(self, key: str) -> None:
        """Forget the answer under ``key``."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM answers WHERE key = ?", (key,))


class SqliteMemory:
    """See ``rag.ports.stores.Memory``."""

    def __init__(self, database: SqliteDatabase, *, ttl_s: float = TURN_TTL_S) -> None:
        self._database = database
        self._ttl_s = ttl_s

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``, and drop what is older than the last ``MAX_TURNS``."""
        session = digest(session_id)
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO turns (session, at, body, expires_at) VALUES (?, ?, ?, ?)",
                (session, turn.at, encode_turn(turn), expiry(self._database.clock(), self._ttl_s)),
            )
            connection.execute(
                "DELETE FROM turns WHERE id IN"
                " (SELECT id FROM turns WHERE session = ? ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)",
                (session, MAX_TURNS),
            )

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """The last ``limit`` turns, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT body FROM turns WHERE session = ? AND expires_at > ? ORDER BY at DESC, id DESC LIMIT ?",
                (digest(session_id), self._database.clock(), max(0, min(limit, MAX_TURNS))),
            ).fetchall()
        turns = (decode(Turn, body) for (body,) in reversed(rows))
        return tuple(turn for turn in turns if turn)


class SqliteFeedback:
    """See ``rag.ports.stores.FeedbackStore``; ``per_hour`` votes of a session are taken within an hour, 0: any."""

    def __init__(
        self,
        database: SqliteDatabase,
        *,
        response_ttl_s: float = RESPONSE_TTL_S,
        vote_ttl_s: float = VOTE_TTL_S,
        per_hour: int = 0,
    ) -> None:
        self._database = database
        self._response_ttl_s = response_ttl_s
        self._vote_ttl_s = vote_ttl_s
        self._per_hour = per_hour
        self._known: dict[_Counting, Vote] = {}

    def record(self, response: ResponseRecord) -> None:
        """Keep ``response``."""
        key, until = digest(response.response_id), expiry(self._database.clock(), self._response_ttl_s)
        with self._database.writing() as connection:
            row = (key, encode_response(response), until)
            connection.execute("INSERT OR REPLACE INTO responses VALUES (?, ?, ?)", row)

    def response(self, response_id: str) -> ResponseRecord | None:
        """The response that was given this id."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT body FROM responses WHERE id = ? AND expires_at > ?",
                (digest(response_id), self._database.clock()),
            ).fetchone()
        return decode(ResponseRecord, row[0]) if row else None

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        """Let ``voter``'s vote on ``response`` be ``helpful``; a withdrawn one stays as a row without a verdict."""
        with self._database.writing() as connection:
            if self._per_hour:
                self._count_one_more(connection, digest(response.session))
            against = connection.execute(
                "SELECT 1 FROM votes WHERE voter = ? AND helpful IS NOT 1 AND expires_at > ? LIMIT 1",
                (voter, self._database.clock()),
            ).fetchone()
            row = connection.execute(
                "INSERT INTO votes (response, response_at, question, vector,"
                " voter, helpful, comment, at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (response, voter) DO UPDATE SET helpful = excluded.helpful, comment = excluded.comment,"
                " at = excluded.at, expires_at = excluded.expires_at WHERE excluded.at >= votes.at RETURNING id",
                (
                    digest(response.response_id),
                    response.at,
                    clip_question(response.question),
                    response.vector,
                    voter,
                    helpful,
                    clip_comment(comment),
                    at,
                    expiry(self._database.clock(), self._vote_ttl_s),
                ),
            ).fetchone()
            if row:
                connection.executemany(
                    "INSERT OR IGNORE INTO vote_chunks VALUES (?, ?)",
                    [(digest(chunk_id), row[0]) for chunk_id in response.chunk_ids[:MAX_CHUNK_IDS]],
                )
                connection.executemany(
                    "INSERT OR IGNORE INTO vote_keys VALUES (?, ?)", [(key, row[0]) for key in response.cache_keys]
                )
                self._count_anew(connection, row[0], voter)
        return against is None

    def _count_one_more(self, connection: sqlite3.Connection, session: str) -> None:
        row = connection.execute("SELECT given, expires_at FROM vote_counts WHERE session = ?", (session,)).fetchone()
        count = one_more(VoteCount(*row) if row else None, now=self._database.clock(), per_hour=self._per_hour)
        connection.execute("INSERT OR REPLACE INTO vote_counts VALUES (?, ?, ?)", (session, count.given, count.until))

    def _count_anew(self, connection: sqlite3.Connection, vote: int, voter: str) -> None:
        """Choose again which of ``voter``'s votes count on the chunks that ``vote`` is about."""
        given = {"vote": vote, "voter": voter, "now": self._database.clock()}
        chunks = "chunk IN (SELECT chunk FROM vote_chunks WHERE vote = :vote)"
        votes = "vote IN (SELECT id FROM votes WHERE voter = :voter)"
        connection.execute(f"DELETE FROM counting_votes WHERE {chunks} AND {votes}", given)  # noqa: S608 - ours
        connection.execute(
            "INSERT INTO counting_votes SELECT chunk, response_at, vote, helpful, at, expires_at FROM"  # noqa: S608 - ours
            " (SELECT *, row_number() OVER (PARTITION BY chunk ORDER BY at DESC, id DESC) AS place FROM vote_chunks"
            f" JOIN votes ON vote = id WHERE {chunks} AND voter = :voter AND helpful IS NOT NULL AND expires_at > :now)"
            f" WHERE place <= {MAX_VOTES_PER_VOTER}",
            given,
        )

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """The standing votes from ``since`` on, oldest first, by chunk."""
        with self._database.reading() as connection:
            now = self._database.clock()
            counting: dict[str, list[_Counting]] = {
                chunk_id: connection.execute(
                    "SELECT vote, helpful, at FROM counting_votes WHERE chunk = ? AND expires_at > ?"
                    " ORDER BY response_at DESC, vote DESC LIMIT ?",
                    (digest(chunk_id), now, MAX_VOTES_PER_CHUNK),
                ).fetchall()
                for chunk_id in chunk_ids
            }
            known = self._read_new(connection, [vote for votes in counting.values() for vote in votes])
        found: dict[str, tuple[Vote, ...]] = {}
        for chunk_id, rows in counting.items():
            votes = [known[row] for row in reversed(rows) if row[2] >= since and row in known]
            if votes:
                found[chunk_id] = tuple(sorted(votes, key=lambda vote: vote.at))
        return found

    def _read_new(self, connection: sqlite3.Connection, wanted: Sequence[_Counting]) -> Mapping[_Counting, Vote]:
        """All votes that are known, those of ``wanted`` among them; only what this process never saw is read."""
        if len(self._known) > MAX_KNOWN_VOTES:
            self._known.clear()
        new = {row for row in wanted if row not in self._known}
        if new:
            ids = json.dumps(sorted({vote for vote, *_ in new}))
            rows = connection.execute(
                "SELECT id, question, voter, vector FROM votes WHERE id IN (SELECT value FROM json_each(?))", (ids,)
            )
            said = {vote: rest for vote, *rest in rows}
            for row in new:
                vote, helpful, at = row
                if vote in said:  # unless another process has just swept it
                    question, voter, vector = said[vote]
                    self._known[row] = Vote(helpful=bool(helpful), question=question, voter=voter, at=at, vector=vector)
        return self._known

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Whether a session's vote against a response of this cache key stands, or anonymous ones of several hours."""
        with self._database.reading() as connection:
            sessions, hours = connection.execute(
                "SELECT total(voter NOT GLOB ?), count(DISTINCT CAST(response_at / 3600 AS INTEGER))"
                " FROM vote_keys JOIN votes ON vote = id"
                " WHERE cache_key = ? AND helpful = 0 AND at >= ? AND expires_at > ?",
                (f"{ANONYMOUS}*", cache_key, since, self._database.clock()),
            ).fetchone()
        return bool(sessions) or bool(hours >= HOURS_AGAINST)
