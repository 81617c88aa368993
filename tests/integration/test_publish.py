"""``ragctl publish``, and by infra/refresh.yaml, against moto as a server; what moto leaves out: tests/published.py.

The buildspec and rules run as CodeBuild and EventBridge would, after AWS's documentation: a project with a limit of one
refuses to start a second build; a refused start is not tried again, as the rule's target says; when a build that
documents started has ended, one more is started.
"""

import io
import json
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
import yaml
from botocore.client import BaseClient  # type: ignore[import-untyped, unused-ignore]
from chroma_server import ChromaServer, new_name
from command_line import Run
from fakes_embedding import HashingEmbedder
from published import STACK, Deployed, deployed

from emulator.template import read_template
from knowledge.build.ingest import ingest
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import Database
from knowledge.open.place import read_manifest
from knowledge.read.documents import read
from publish.publisher import content_key, pack_index

pytestmark = pytest.mark.slow

OPENING = "# Opening hours\n\nThe shop opens at nine in the morning. It closes at six, on Sundays never.\n"
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


# By infra/refresh.yaml


TEMPLATE = read_template(Path(__file__).resolve().parents[2] / "infra" / "refresh.yaml")["Resources"]
COMMANDS = yaml.safe_load(TEMPLATE["Project"]["Properties"]["Source"]["BuildSpec"])["phases"]["build"]["commands"]
PAGES = {
    "opening.md": OPENING,
    "returns.md": RETURNS,
    "tickets.md": "# Tickets\n\nA ticket costs four dollars. Children under six years travel for free.\n",
    "lost.md": "# Lost property\n\nWhat was found is kept for ninety days in the office at the harbour.\n",
}
ACTIONS = {"ListObjectsV2": "ListBucket", "HeadObject": "GetObject", "GetApiKey": "GET"}
"""What IAM calls an operation, where that is another name."""


class Project:
    """The CodeBuild project, and the rules that start it. ``started`` has the reason of each build that ran."""

    def __init__(self, run: Run, bucket: str, folder: Path) -> None:
        self.started: list[str] = []
        self.told: list[Any] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._run, self._bucket, self._folder = run, bucket, folder
        self._running = False

    def event(self) -> bool:
        """An object was created or deleted; whether that started a build, which is over then."""
        return self._start("documents")

    def _start(self, reason: str) -> bool:
        if self._running:
            return False
        self._running = True
        self.started.append(reason)
        self.told.append(self._build(reason))
        self._running = False
        if reason == "documents":
            self._start("check")
        return True

    def _build(self, reason: str) -> Any:
        folder = self._folder / str(len(self.started))
        variables = {
            **{one["Name"]: "" for one in TEMPLATE["Project"]["Properties"]["Environment"]["EnvironmentVariables"]},
            "STACK": STACK,
            "DOCUMENTS": f"s3://{self._bucket}",
            "MINUTES": "0",
            "REASON": reason,
        }
        # The shell says what the command is called with; it runs in this process, which has the stand-ins.
        says = 'ragctl() { for each in "$@"; do printf \'%s\\0\' "$each"; done; }\n'
        shell = ["sh", "-c", says + "\n".join(COMMANDS).replace("/tmp/documents", str(folder))]
        argv = subprocess.run(shell, env=variables, capture_output=True, check=True, text=True).stdout.split("\0")[:-1]
        self.meanwhile()
        return self._run(*argv)


@pytest.fixture
def project(stack: Deployed, run: Run, tmp_path: Path) -> Project:
    stack.s3.create_bucket(Bucket="documents", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return Project(run, "documents", tmp_path / "mirror")


def upload(stack: Deployed, *names: str, more: str = "") -> None:
    for name in names:
        stack.s3.put_object(Bucket="documents", Key=name, Body=(PAGES[name] + more).encode())


def report(stack: Deployed) -> dict[str, Any]:
    body = stack.s3.get_object(Bucket=stack.bucket, Key="refresh/report.json")["Body"].read()
    told: dict[str, Any] = json.loads(body)
    return told


def test_uploads_changes_and_deletions_are_published_and_an_emptied_bucket_is_not(
    stack: Deployed, project: Project, called: set[tuple[str, str]]
) -> None:
    upload(stack, *PAGES)
    project.event()
    assert project.started == ["documents", "check"]
    assert [one["outcome"] for one in project.told[0]["rounds"]] == ["published"]
    assert project.told[1]["rounds"] == []
    first = report(stack)
    assert (first["documents"], first["version"], first["failed"]) == (4, stack.serves(), [])

    # A change that a thousand events tell of while the build of a deletion runs
    def change() -> None:
        if project.started == ["documents", "check", "documents"]:
            upload(stack, "tickets.md", more="\nA day ticket costs ten dollars.\n")
            assert [project.event() for _ in range(1_000)] == [False] * 1_000

    stack.s3.delete_object(Bucket="documents", Key="lost.md")
    project.meanwhile = change
    project.event()
    assert project.started == ["documents", "check"] * 2
    second = report(stack)
    assert (second["documents"], second["version"]) == (3, stack.serves())
    assert second["version"] != first["version"]

    # When all is deleted by accident
    for name in PAGES:
        stack.s3.delete_object(Bucket="documents", Key=name)
    updates = len(stack.formation.updates)
    project.event()
    status, out, _ = project.told[-1]
    assert (status, json.loads(out)["code"]) == (1, "bucket_empty")
    assert report(stack)["error"] == "The bucket documents holds no documents; nothing is published"
    assert (stack.serves(), len(stack.formation.updates)) == (second["version"], updates)

    # And most of it at once is as suspicious
    upload(stack, "opening.md")
    project.event()
    assert report(stack)["code"] == "removals_refused"
    assert stack.serves() == second["version"]
    assert metrics() >= {"Documents", "FailedDocuments", "FailedRuns", "Published", "Seconds"}
    # And the build's role allows what was done, of S3 and the others that are called here
    assert {one for one in called if not allowed(*one)} == set()
    assert ("s3", "GetObject") in called


def metrics() -> set[str]:
    told = boto3.client("cloudwatch").list_metrics(Namespace=f"RagRefresh/{STACK}")["Metrics"]
    return {one["MetricName"] for one in told}


def test_what_changes_while_it_is_published_is_published_next(
    stack: Deployed, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(stack, "opening.md", "returns.md")
    update = stack.formation.update_stack

    def changing(**asked: Any) -> Any:
        if len(stack.formation.updates) == 0:
            upload(stack, "tickets.md")
            assert [project.event() for _ in range(1_000)] == [False] * 1_000
        return update(**asked)

    monkeypatch.setattr(stack.formation, "update_stack", changing)
    project.event()
    rounds = [(one["outcome"], one["documents"]) for one in project.told[0]["rounds"]]
    assert rounds == [("published", 2), ("published", 3)]
    assert project.told[1]["rounds"] == []
    assert report(stack)["version"] == stack.serves()


@pytest.fixture
def called(stack: Deployed, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """What the command asks of AWS; what the test itself asks is not in it."""
    seen: set[tuple[str, str]] = set()
    call = BaseClient._make_api_call

    def noted(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
        if client is not stack.s3 and client is not stack.formation.real:
            service = client.meta.service_model.service_name
            seen.add(("cloudwatch" if service == "monitoring" else service, ACTIONS.get(operation, operation)))
        return call(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    return seen


def allowed(service: str, action: str) -> bool:
    """Whether a statement of the build's role names it."""
    policies = TEMPLATE["BuildRole"]["Properties"]["Policies"]
    lines = [line for policy in policies for line in policy["PolicyDocument"]["Statement"] if "Effect" in line]
    named = [[line["Action"]] if isinstance(line["Action"], str) else line["Action"] for line in lines]
    return any(fnmatchcase(f"{service}:{action}", one) for one in chain(*named)) or action == "ListMetrics"
