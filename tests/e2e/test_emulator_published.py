"""The built function under the emulator answers from a published archive, as Lambda unpacks it."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import real_model
from artefacts import require_emulator
from functional.harness import post, rest_event

from emulator.session import Session, built
from knowledge.build.ingest import ingest
from knowledge.open.source import read_manifest
from knowledge.read.documents import read
from publish.publisher import pack_index

pytestmark = [pytest.mark.build, pytest.mark.slow]

HOURS = "# Opening hours\n\nThe shop opens at nine in the morning. It closes at six, and on Sundays it stays closed.\n"


def test_a_published_archive_is_answered_from(tmp_path: Path) -> None:
    require_emulator()
    (tmp_path / "hours.md").write_text(HOURS, encoding="utf-8")
    with real_model.few_background_questions():
        ingest(read([tmp_path / "hours.md"]).documents, target=tmp_path / "made", embedder=real_model.model())
    pack_index(tmp_path / "made", tmp_path / "index.zip")
    with zipfile.ZipFile(tmp_path / "index.zip") as packed:
        packed.extractall(tmp_path / "opt")
    artefacts = built()
    opt = {**artefacts.opt, "index": tmp_path / "opt" / "index"}

    with Session(replace(artefacts, opt=opt), parameters={"Profile": "house"}) as session:
        health = json.loads(session.invoke(rest_event("GET", "/api/health")).body["body"])
        answer = json.loads(session.invoke(post({"query": "When does the shop open?"})).body["body"])

    manifest = read_manifest(tmp_path / "made")
    assert manifest is not None
    assert health["index"]["version"] == manifest.version
    assert "nine in the morning" in answer["answer"]
