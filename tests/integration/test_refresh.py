"""infra/refresh.yaml's buildspec and rules, run as CodeBuild and EventBridge would, against moto as a server.

Stated here, after AWS's documentation: a project with a limit of one refuses to start a second build; a refused start
is not tried again, as the rule's target says; when a build that documents started has ended, one more is started.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
import yaml
from botocore.client import BaseClient  # type: ignore[import-untyped, unused-ignore]
from command_line import Run
from published import STACK, Deployed, deployed

from emulator.template import read_template

pytestmark = pytest.mark.slow

TEMPLATE = read_template(Path(__file__).resolve().parents[2] / "infra" / "refresh.yaml")["Resources"]
COMMANDS = yaml.safe_load(TEMPLATE["Project"]["Properties"]["Source"]["BuildSpec"])["phases"]["build"]["commands"]
PAGES = {
    "opening.md": "# Opening hours\n\nThe shop opens at nine in the morning. It closes at six, on Sundays never.\n",
    "returns.md": "# Returns\n\nGoods are taken back within thirty days. The money is paid within a week.\n",
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
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    with deployed(tmp_path, monkeypatch) as made:
        yield made


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
