"""ragctl forget: what the store holds of one session, erased."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragctl.console import emit_json, note, show
from ragctl.failures import CommandFailed
from ragctl.options import IndexDir, Json, Profile, read_settings, with_store

STAYS = (
    "a process that answers may give a kept answer from its own memory for up to a minute",
    "questions asked without a session are not found, as nothing says whose they are; they expire after 30 days,"
    " votes on them after 180",
    "backups of a DynamoDB table hold what was in it for up to 35 days",
    "an LLM's provider may keep what it was sent",
)
"""What this command does not reach."""


def forget(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The sessionId of the conversation.")],
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Erase what the store holds of a session: turns, questions, votes, kept answers.

    The store is that of TABLE_NAME, else of STORE_PATH, else the one beside the index.
    """
    from rag.adapters.stores.forget import forget_session
    from rag.adapters.vendors import open_table
    from rag.http.requests import parse_session

    session = parse_session(session)
    settings, _ = with_store(read_settings(index=index, profile=profile))
    table = open_table(settings)
    forgotten = forget_session(table, session) if table else None
    if forgotten is None:
        sentence = "There is no store: name the index (--index), its SQLite file (STORE_PATH) or the table (TABLE_NAME)"
        raise CommandFailed(sentence, code="no_store")
    if as_json:
        emit_json({"sessionId": session, **asdict(forgotten), "notes": list(STAYS)})
        return
    counts = (f"{name} {count}" for name, count in asdict(forgotten).items())
    show(f"Forgotten of {session}: {', '.join(counts)}")
    for sentence in STAYS:
        note(f"Note: {sentence}")
