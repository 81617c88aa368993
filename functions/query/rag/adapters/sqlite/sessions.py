"""Forgetting a session in the SQLite file, so that its texts do not lie in the file's free pages or its log either."""

from __future__ import annotations

import sqlite3

from rag.adapters.sqlite.database import SqliteDatabase
from rag.adapters.store_format import decode, digest
from rag.errors import StoreUnavailable
from rag.values.stored import ErasedCounts, ResponseRecord

NAMED = "? IN (json_extract(body, '$.record.session_id'), json_extract(body, '$.record.began'))"


class SqliteSessions:
    """What is kept of sessions, in all tables."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def forget(self, session_id: str) -> ErasedCounts:
        """Erase what is kept of the session; a vote goes with what was learnt from it.

        Raises:
            StoreUnavailable: the file cannot be read or written, or others use it without a pause.
        """
        with self._database.writing() as connection:
            forgotten = _erase(connection, session_id)
        with self._database.reading() as connection:
            connection.execute("VACUUM")
            in_use, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if in_use:
            raise StoreUnavailable("The session is forgotten, but its texts may lie in the store's log: run it again")
        return forgotten


def _erase(connection: sqlite3.Connection, session_id: str) -> ErasedCounts:
    turns = connection.execute("DELETE FROM turns WHERE session = ?", (digest(session_id),)).rowcount
    connection.execute("DELETE FROM vote_counts WHERE session = ?", (digest(session_id),))
    bodies = connection.execute(f"SELECT body FROM responses WHERE {NAMED}", (session_id,)).fetchall()  # noqa: S608 - ours
    responses = [record for (body,) in bodies if (record := decode(ResponseRecord, body))]
    connection.execute(f"DELETE FROM responses WHERE {NAMED}", (session_id,))  # noqa: S608 - ours
    voted = connection.execute(
        "SELECT DISTINCT cache_key FROM vote_keys JOIN votes ON vote = id WHERE voter = ?", (session_id,)
    )
    keys = {key for (key,) in voted} | {key for response in responses for key in response.cache_keys}
    answers = [connection.execute("DELETE FROM answers WHERE key = ?", (key,)).rowcount for key in keys]
    votes = [connection.execute("DELETE FROM votes WHERE voter = ?", (session_id,)).rowcount]
    for response in responses:
        place = (digest(response.response_id), response.voter)
        votes.append(connection.execute("DELETE FROM votes WHERE response = ? AND voter = ?", place).rowcount)
    return ErasedCounts(turns=turns, responses=len(bodies), votes=sum(votes), answers=sum(answers))
