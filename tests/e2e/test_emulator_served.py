"""The built function, with the pruned layer, answers from an index on Chroma's own server."""

from __future__ import annotations

import json
from pathlib import Path

import chroma_server
import pytest
import real_model
from artefacts import require_emulator
from functional.harness import post, rest_event

from emulator.session import Session, built
from knowledge.build.served.ingest import ingest_served
from knowledge.read.documents import read

pytestmark = [pytest.mark.build, pytest.mark.slow]

HOURS = "# Opening hours\n\nThe shop opens at nine in the morning. It closes at six, and on Sundays it stays closed.\n"


def test_a_server_s_index_is_answered_from(tmp_path: Path) -> None:
    require_emulator()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "hours.md").write_text(HOURS, encoding="utf-8")
    (tmp_path / "chroma").mkdir()
    for server in chroma_server.running(tmp_path / "chroma"):
        with real_model.few_background_questions():
            documents = read([tmp_path / "docs"]).documents
            made = ingest_served(documents, uri=server.uri, work=tmp_path / "work", embedder=real_model.model())
        with Session(built(), parameters={"Profile": "house", "IndexUri": server.uri}, network=True) as session:
            health = json.loads(session.invoke(rest_event("GET", "/api/health")).body["body"])
            answer = json.loads(session.invoke(post({"query": "When does the shop open?"})).body["body"])
            server.stop()
            gone = json.loads(session.invoke(post({"query": "When does the shop close?"})).body["body"])

    assert health["index"]["version"] == made.version
    assert "nine in the morning" in answer["answer"]
    assert gone["code"] == "index_unavailable"
