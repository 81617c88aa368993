"""The built function, with the pruned layer, answers from a published archive and from Chroma's own server."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import chroma_server
import pytest
import real_model
from functional.harness import Json, post, rest_event
from made_files import write_files

from emulator.session import Session, built
from knowledge.build.ingest import ingest
from knowledge.build.server_ingest import ingest_to_server
from knowledge.model.values import Document
from knowledge.open.place import read_manifest
from knowledge.read.documents import read
from publish.publisher import pack_index

pytestmark = [pytest.mark.build, pytest.mark.slow]

HOURS = "# Opening hours\n\nThe shop opens at nine in the morning. It closes at six, and on Sundays it stays closed.\n"
OPENS, CLOSES = (post({"query": f"When does the shop {verb}?"}) for verb in ("open", "close"))


@pytest.fixture
def documents(tmp_path: Path) -> list[Document]:
    """The shop's one page."""
    return list(read([write_files(tmp_path / "docs", {"hours.md": HOURS})]).documents)


def body(session: Session, event: Any) -> Json:
    found: Json = json.loads(session.invoke(event).body["body"])
    return found


def test_a_published_archive_is_answered_from(tmp_path: Path, documents: list[Document]) -> None:
    with real_model.few_background_questions():
        ingest(documents, target=tmp_path / "made", embedder=real_model.model())
    pack_index(tmp_path / "made", tmp_path / "index.zip")
    with zipfile.ZipFile(tmp_path / "index.zip") as packed:
        packed.extractall(tmp_path / "opt")  # as Lambda unpacks it
    artefacts = built()
    opt = {**artefacts.opt, "index": tmp_path / "opt" / "index"}

    with Session(replace(artefacts, opt=opt), parameters={"Profile": "house"}) as session:
        health, answer = body(session, rest_event("GET", "/api/health")), body(session, OPENS)

    manifest = read_manifest(tmp_path / "made")
    assert manifest is not None
    assert health["index"]["version"] == manifest.version
    assert "nine in the morning" in answer["answer"]


def test_a_server_s_index_is_answered_from(tmp_path: Path, documents: list[Document]) -> None:
    (tmp_path / "chroma").mkdir()
    for server in chroma_server.running(tmp_path / "chroma"):
        with real_model.few_background_questions():
            made = ingest_to_server(documents, uri=server.uri, work=tmp_path / "work", embedder=real_model.model())
        with Session(built(), parameters={"Profile": "house", "IndexUri": server.uri}, network=True) as session:
            health, answer = body(session, rest_event("GET", "/api/health")), body(session, OPENS)
            server.stop()
            gone = body(session, CLOSES)

    assert health["index"]["version"] == made.version
    assert "nine in the morning" in answer["answer"]
    assert gone["code"] == "index_unavailable"
