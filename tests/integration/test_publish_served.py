"""``ragctl publish`` to Chroma's own server: a version beside the one that answers, then the stack's parameter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_model
from chroma_server import ChromaServer, new_name
from command_line import Run, runner
from published import STACK, Deployed, deployed

from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import Database
from publish.publisher import Waits
from smoke.stack import Patience

pytestmark = pytest.mark.slow

OPENING = "# Opening hours\n\nThe shop opens at nine in the morning. It closes at six, and on Sundays it stays shut.\n"
RETURNS = "# Returns\n\nGoods are taken back within thirty days, with the receipt. The money is paid within a week.\n"

run = pytest.fixture(runner)


@pytest.fixture
def database(run: Run, chroma: ChromaServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """What is published to, as its operator sees it."""
    name = new_name()
    monkeypatch.setenv("CHROMA_COLLECTION", name)
    connection = Connection(ServerAddress.parse(chroma.uri))
    yield Database(connection, name)
    connection.close()


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "opening.md").write_text(OPENING, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    at_once = Waits(Patience(seconds=60, pause_s=0), Patience(seconds=0, pause_s=0))
    monkeypatch.setattr("publish.served.Waits", lambda: at_once)
    with deployed(tmp_path, monkeypatch) as made, real_model.few_background_questions():
        yield made


def test_a_version_is_written_beside_and_switched_to_and_the_former_is_a_command_away(
    run: Run, stack: Deployed, chroma: ChromaServer, database: Database, tmp_path: Path
) -> None:
    first = run("publish", "docs", "--stack", STACK, "--index", chroma.uri, "--json")
    assert (first["published"], first["documents"], first["former"]) == (True, 1, "")
    assert stack.serves() == first["version"] == database.current()[0]
    [update] = stack.formation.updates
    assert {one["ParameterKey"] for one in update["Parameters"] if not one.get("UsePreviousValue")} == {"IndexUri"}

    # The stack's own server is where the next one goes; what did not change is not embedded again.
    (tmp_path / "docs" / "returns.md").write_text(RETURNS, encoding="utf-8")
    second = run("publish", "docs", "--stack", STACK, "--json")
    assert (second["documents"], second["ingest"]["added"], second["former"]) == (2, 1, first["version"])
    assert stack.serves() == second["version"]
    assert set(database.versions()) == {first["version"], second["version"]}

    back = run("publish", "--stack", STACK, "--version", first["version"], "--json")
    assert back["published"] is True
    assert stack.serves() == first["version"]


def test_what_fails_its_golden_questions_reaches_nobody(
    run: Run, stack: Deployed, chroma: ChromaServer, database: Database, tmp_path: Path
) -> None:
    first = run("publish", "docs", "--stack", STACK, "--index", chroma.uri, "--json")
    (tmp_path / "docs" / "opening.md").write_text(RETURNS, encoding="utf-8")
    question = {"question": "Who sells tickets to Mars?", "answer": "Acme"}
    (tmp_path / "q.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    asked = ("--questions", "q.jsonl", "--fail-under", "right=1")
    status, out, _ = run("publish", "docs", "--stack", STACK, *asked, "--json")
    assert (status, json.loads(out)["code"]) == (1, "below_limit")
    assert stack.serves() == first["version"] == database.current()[0]
