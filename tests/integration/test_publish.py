"""``ragctl publish`` against moto as a server; what moto leaves out is stated in tests/published.py.

At the end: to Chroma's own server, where a version stands beside the one that answers.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chroma_server import ChromaServer, new_name
from command_line import Run
from fakes_embedding import HashingEmbedder
from published import STACK, Deployed, deployed

from knowledge.build.ingest import ingest
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import Database
from knowledge.open.place import read_manifest
from knowledge.read.documents import read
from publish.publisher import content_key, pack_index

pytestmark = pytest.mark.slow

OPENING = (
    "# Opening hours\n\nThe shop opens at nine in the morning. It closes at six, and on Sundays it stays closed.\n"
)
RETURNS = "# Returns\n\nGoods are taken back within thirty days, with the receipt. The money is paid within a week.\n"
WRONG = '{"question": "Who sells tickets to Mars?", "answer": "Acme"}\n'


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    """The stack, with documents in ``docs``."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "opening.md").write_text(OPENING, encoding="utf-8")
    with deployed(tmp_path, monkeypatch) as made:
        yield made


def test_documents_are_answered_from_and_neither_the_same_again_nor_an_emptied_folder_is_published(
    run: Run, stack: Deployed, tmp_path: Path
) -> None:
    # When they are published
    first = run("publish", "docs", "--stack", STACK, "--json")
    # Then the stack answers from that version, and the update changed its key alone
    assert (first["published"], first["documents"], first["former"]) == (True, 1, "")
    assert stack.serves() == first["version"]
    assert stack.keys() == [first["key"]]
    [update] = stack.formation.updates
    others = {one["ParameterKey"] for one in update["Parameters"] if one.get("UsePreviousValue")}
    assert update["UsePreviousTemplate"] is True
    assert others == {"IndexUri", "Profile", "EmbedModel", "IndexSource", "Revision"}
    assert [one for one in update["Parameters"] if "ParameterValue" in one] == [
        {"ParameterKey": "IndexKey", "ParameterValue": first["key"]}
    ]
    # And the same documents are the same version, wherever they are ingested
    status, out, _ = run("publish", "docs", "--stack", STACK)
    assert (status, out.startswith("Nothing to publish: published answers from")) == (0, True)
    # And none at all are no version
    (tmp_path / "docs" / "opening.md").unlink()
    status, out, _ = run("publish", "docs", "--stack", STACK, "--json")
    assert status == 1
    assert json.loads(out)["code"] in {"removals_refused", "source_unreadable"}
    assert (stack.serves(), len(stack.formation.updates)) == (first["version"], 1)


def test_only_what_changed_is_embedded_and_the_former_version_is_a_command_away(
    run: Run, stack: Deployed, tmp_path: Path
) -> None:
    first = run("publish", "docs", "--stack", STACK, "--json")
    (tmp_path / "docs" / "returns.md").write_text(RETURNS, encoding="utf-8")

    # The index remembers what it was made of
    second = run("publish", "--stack", STACK, "--json")
    assert {name: second["ingest"][name] for name in ("added", "unchanged")} == {"added": 1, "unchanged": 1}
    assert stack.serves() == second["version"] != first["version"]

    told = run("publish", "--stack", STACK, "--list", "--json")["versions"]
    assert {one["key"]: (one["documents"], one["answers"]) for one in told} == {
        second["key"]: (2, True),
        first["key"]: (1, False),
    }
    back = run("publish", "--stack", STACK, "--version", Path(first["key"]).stem, "--json")
    assert (back["key"], back["former"], back["ingest"]) == (first["key"], second["key"], None)
    assert stack.serves() == first["version"]
    assert run("publish", "--stack", STACK, "--version", first["key"], "--json")["published"] is False


def test_a_version_that_cannot_answer_is_refused_and_the_old_one_stays(run: Run, stack: Deployed) -> None:
    first = run("publish", "docs", "--stack", STACK, "--json")
    # Given a version one of whose files is cut short
    good = zipfile.ZipFile(io.BytesIO(stack.s3.get_object(Bucket=stack.bucket, Key=first["key"])["Body"].read()))
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        for name in good.namelist():
            packed.writestr(name, good.read(name)[: 100 if name.endswith("sqlite3") else None])
    told = {"version": "other", "documents": "1", "chunks": "1"}
    stack.s3.put_object(Bucket=stack.bucket, Key="index/broken.zip", Body=body.getvalue(), Metadata=told)

    status, out, err = run("publish", "--stack", STACK, "--version", "broken", "--json")
    failure: dict[str, Any] = json.loads(out)
    assert (status, failure["code"]) == (1, "version_refused")
    assert failure["error"] == (
        "The version was refused, and the stack published went back to the one before: rehearsing, and taking the "
        "snapshot failed: Resource handler returned message: Error: Runtime exited before the snapshot (IndexDamaged). "
        "What the function said is in its log, /aws/lambda/published-query"
    )
    assert "giving the function its layer\n" in err
    assert stack.serves() == first["version"]


def test_what_is_not_as_it_should_be_reaches_nobody(run: Run, stack: Deployed, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(WRONG, encoding="utf-8")

    def refused(*arguments: str) -> str:
        status, out, _ = run("publish", *arguments, "--stack", STACK, "--json")
        told = json.loads(out)
        assert (status, (stack.formation.updates, stack.keys())) == (1, ([], []))
        return f"{told['code']}: {told['error']}"

    assert refused("--version", "nothing").startswith("no_such_version: There is no index/nothing.zip in the bucket")
    assert refused("--version", "../x").startswith("no_such_version: '../x' is no version")
    limit = ("--questions", "q.jsonl", "--fail-under", "right=1")
    assert refused("docs", *limit).startswith("below_limit: Not published. Not kept:")


def test_a_stack_that_is_busy_or_unknown_is_left_alone(run: Run, stack: Deployed) -> None:
    stack.formation.status = ["UPDATE_IN_PROGRESS"]
    status, out, _ = run("publish", "docs", "--stack", STACK, "--json")
    assert (status, json.loads(out)["code"]) == (1, "stack_busy")
    stack.formation.status = []
    status, out, _ = run("publish", "docs", "--stack", "another", "--json")
    assert (status, json.loads(out)["error"]) == (1, "There is no stack 'another' in this account and region")


def test_a_key_is_of_all_that_answers_depend_on_and_of_nothing_else(tmp_path: Path) -> None:
    def ingested(name: str, text: str) -> Path:
        (tmp_path / "docs" / "opening.md").write_text(text, encoding="utf-8")
        index = tmp_path / name
        ingest(read([tmp_path / "docs"]).documents, target=index, embedder=HashingEmbedder())
        return index

    (tmp_path / "docs").mkdir()
    once, again, other = ingested("once", OPENING), ingested("again", OPENING), ingested("other", RETURNS)
    keys = [pack_index(index, tmp_path / "packed.zip") for index in (once, again, other)]
    assert keys[0] == keys[1] != keys[2]
    manifest = read_manifest(once)
    assert manifest is not None
    assert content_key(replace(manifest, made=replace(manifest.made, tables={"acronyms.json": "x"}))) != keys[0]
    packed = [(tmp_path / name, pack_index(once, tmp_path / name))[0].read_bytes() for name in ("a.zip", "b.zip")]
    assert packed[0] == packed[1]


# To Chroma's own server


@pytest.fixture
def database(run: Run, chroma: ChromaServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """What is published to, as its operator sees it."""
    name = new_name()
    monkeypatch.setenv("CHROMA_COLLECTION", name)
    connection = Connection(ServerAddress.parse(chroma.uri))
    yield Database(connection, name)
    connection.close()


def test_a_version_is_written_beside_and_switched_to_and_the_former_is_a_command_away(
    run: Run, stack: Deployed, chroma: ChromaServer, database: Database, tmp_path: Path
) -> None:
    first = run("publish", "docs", "--stack", STACK, "--index", chroma.uri, "--json")
    assert (first["published"], first["documents"], first["former"]) == (True, 1, "")
    assert stack.serves() == first["version"] == database.current()[0]
    [update] = stack.formation.updates
    assert {one["ParameterKey"] for one in update["Parameters"] if not one.get("UsePreviousValue")} == {"IndexUri"}

    # What fails its golden questions reaches nobody.
    (tmp_path / "docs" / "returns.md").write_text(RETURNS, encoding="utf-8")
    (tmp_path / "q.jsonl").write_text(WRONG, encoding="utf-8")
    asked = ("--questions", "q.jsonl", "--fail-under", "right=1")
    status, out, _ = run("publish", "docs", "--stack", STACK, *asked, "--json")
    assert (status, json.loads(out)["code"]) == (1, "below_limit")
    assert stack.serves() == first["version"] == database.current()[0]

    # The stack's own server is where the next one goes; what did not change is not embedded again.
    second = run("publish", "docs", "--stack", STACK, "--json")
    assert (second["documents"], second["ingest"]["added"], second["former"]) == (2, 1, first["version"])
    assert stack.serves() == second["version"]
    assert set(database.versions()) == {first["version"], second["version"]}

    back = run("publish", "--stack", STACK, "--version", first["version"], "--json")
    assert back["published"] is True
    assert stack.serves() == first["version"]
