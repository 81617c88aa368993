"""serve.jobs: ingest jobs of the local server, through the handler that it puts in front of the function."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from made_files import write_files

from knowledge.build.durable import LOCK_NAME
from serve import jobs as module
from serve.jobs import IngestJobs, with_ingest

PERMITS = {"permits.md": "# Permits\n\nA permit is needed for every import.\n"}


def jobs(tmp_path: Path, *sources: str) -> IngestJobs:
    return IngestJobs(sources, str(tmp_path / "index"), "waypoint", tmp_path)


def call(found: IngestJobs, method: str, path: str) -> tuple[int, Any]:
    reply: Any = with_ingest(lambda event, context: "the function", found)({"httpMethod": method, "path": path}, None)
    return (200, reply) if isinstance(reply, str) else (reply["statusCode"], json.loads(reply["body"]))


def finished(found: IngestJobs, job: str) -> Any:
    for _ in range(6000):
        state = found.state(job)
        if state is None or state["state"] != "running":
            return state
        time.sleep(0.05)
    raise AssertionError("the job never ended")


NOT_CONFIGURED = "No folder is configured: start with ragctl serve --source PATH"


@pytest.mark.parametrize(
    ("sources", "request_line", "reply"),
    [
        (["x"], "GET /api/health", (200, "the function")),
        (["x"], "POST /v1/ingestion", (200, "the function")),
        ([], "POST /v1/ingest", (409, {"error": NOT_CONFIGURED, "code": "not_configured"})),
        (["x"], "GET /v1/ingest/never-was-started", (404, {"error": "No such ingest", "code": "not_found"})),
        (["x"], "GET /v1/ingest/../../../etc/pwd", (404, {"error": "No such ingest", "code": "not_found"})),
    ],
)
def test_requests_that_start_no_job(tmp_path: Path, sources: list[str], request_line: str, reply: object) -> None:
    assert call(jobs(tmp_path, *sources), *request_line.split()) == reply


@pytest.mark.slow
def test_a_job_that_succeeds_names_what_was_not_read_below_its_source(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "my docs", {**PERMITS, "broken.md": bytes(9)})
    found = jobs(tmp_path, str(folder))

    status, body = call(found, "POST", "/v1/ingest/")
    assert (status, body["state"]) == (202, "running")

    done = finished(found, body["id"])
    assert done["state"] == "done"
    assert (done["summary"]["documents"], done["summary"]["added"]) == (1, 1)
    assert done["summary"]["failed"] == [{"path": "my docs/broken.md", "error": "is a binary file, not text"}]
    assert call(found, "GET", f"/v1/ingest/{body['id']}") == (200, done)

    (folder / "permits.md").write_text("", encoding="utf-8")
    emptied = finished(found, found.start())
    assert emptied["state"] == "done"
    assert emptied["summary"]["emptied"] == [{"path": "my docs/permits.md", "error": "is empty, it held 1 chunk"}]


@pytest.mark.slow
def test_a_job_that_fails_says_why_and_no_path(tmp_path: Path) -> None:
    found = jobs(tmp_path, str(tmp_path / "nowhere"))
    state = finished(found, found.start())
    sentence = "Cannot read 'nowhere': No such file or directory"
    assert state == {"id": state["id"], "state": "failed", "error": sentence, "code": "source_unreadable"}


def test_an_index_that_somebody_else_writes_is_named_without_its_path(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "docs", PERMITS)
    (tmp_path / "index").mkdir()
    found = jobs(tmp_path, str(folder))
    with FileLock(tmp_path / "index" / LOCK_NAME):
        state = finished(found, found.start())
    sentence = f"Another process is writing the index in 'index' ({LOCK_NAME} is held)"
    assert (state["state"], state["code"], state["error"]) == ("failed", "index_locked", sentence)


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jobs run until somebody writes to this pipe what they are to print."""
    pipe = tmp_path / "gate"
    os.mkfifo(pipe)
    monkeypatch.setattr(module, "_COMMAND", f"print(open({str(pipe)!r}).read())")
    return pipe


def test_one_ingest_at_a_time_whoever_asks(tmp_path: Path, gate: Path) -> None:
    replies: list[tuple[int, Any]] = []
    found = jobs(tmp_path, "x")
    threads = [threading.Thread(target=lambda: replies.append(call(found, "POST", "/v1/ingest"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ((_, begun),) = [reply for reply in replies if reply[0] == 202]
    sentence = "An ingest is running; start another when it is done"
    refused = (409, {"error": sentence, "code": "ingest_running", "id": begun["id"]})
    assert [reply for reply in replies if reply[0] != 202] == [refused] * 3
    assert found.state(begun["id"]) == {"id": begun["id"], "state": "running"}

    gate.write_text('{"documents": 1}')
    assert finished(found, begun["id"]) == {"id": begun["id"], "state": "done", "summary": {"documents": 1}}
    status, again = call(found, "POST", "/v1/ingest")
    assert (status, again["id"] != begun["id"]) == (202, True)
    gate.write_text("{}")
    assert finished(found, again["id"])["state"] == "done"


def test_a_job_that_dies_is_not_running(tmp_path: Path, gate: Path) -> None:
    found = jobs(tmp_path, "x")
    job = found.start()
    gate.write_text("Killed")
    sentence = "The ingest ended without a word"
    assert finished(found, job) == {"id": job, "state": "failed", "error": sentence, "code": "ingest_ended"}


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("DELETE", "/v1/ingest/", "POST"), ("POST", "/v1/ingest/abcdefghijklmnop", "GET")]
)
def test_another_method_is_405(tmp_path: Path, method: str, path: str, allowed: str) -> None:
    handler = with_ingest(lambda event, context: None, jobs(tmp_path, "x"))
    reply: Any = handler({"httpMethod": method, "path": path}, None)
    assert (reply["statusCode"], reply["headers"]["Allow"]) == (405, allowed)
    body = {"error": f"Method not allowed; use {allowed}", "code": "method_not_allowed"}
    assert json.loads(reply["body"]) == body
