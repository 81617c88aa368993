"""ragctl.jobs: ingest jobs of the local server, through the handler that it puts in front of the function."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ragctl.jobs import IngestJobs, with_ingest


def jobs(tmp_path: Path, *sources: str) -> IngestJobs:
    return IngestJobs(sources, str(tmp_path / "index"), "waypoint", tmp_path)


def call(found: IngestJobs, method: str, path: str) -> tuple[int, Any]:
    reply: Any = with_ingest(lambda event, context: "the function", found)({"httpMethod": method, "path": path}, None)
    return (200, reply) if isinstance(reply, str) else (reply["statusCode"], json.loads(reply["body"]))


def finished(found: IngestJobs, job: str) -> Any:
    for _ in range(600):
        state = found.state(job)
        if state is None or state["state"] != "running":
            return state
        time.sleep(0.05)
    raise AssertionError("the job never ended")


def test_other_requests_go_to_the_function(tmp_path: Path) -> None:
    assert call(jobs(tmp_path, "x"), "GET", "/api/health") == (200, "the function")
    assert call(jobs(tmp_path, "x"), "GET", "/v1/ingest") == (200, "the function")
    assert call(jobs(tmp_path, "x"), "POST", "/v1/ingestion") == (200, "the function")


def test_without_a_folder_there_is_nothing_to_ingest(tmp_path: Path) -> None:
    sentence = "No folder is configured: start with ragctl serve --source PATH"
    assert call(jobs(tmp_path), "POST", "/v1/ingest") == (409, {"error": sentence, "code": "not_configured"})


@pytest.mark.parametrize("job", ["never-was-started", "../../../etc/pwd", "a" * 16])
def test_unknown_jobs(tmp_path: Path, job: str) -> None:
    assert call(jobs(tmp_path, "x"), "GET", f"/v1/ingest/{job}") == (
        404,
        {"error": "No such ingest", "code": "not_found"},
    )


def test_a_job_that_succeeds(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "permits.md").write_text("# Permits\n\nA permit is needed for every import.\n", encoding="utf-8")
    found = jobs(tmp_path, str(folder))

    status, body = call(found, "POST", "/v1/ingest/")
    assert (status, body["state"]) == (202, "running")

    done = finished(found, body["id"])
    assert done["state"] == "done"
    assert (done["summary"]["documents"], done["summary"]["added"]) == (1, 1)
    assert call(found, "GET", f"/v1/ingest/{body['id']}") == (200, done)


def test_a_job_that_fails_says_why(tmp_path: Path) -> None:
    found = jobs(tmp_path, str(tmp_path / "nowhere"))
    state = finished(found, found.start())
    assert (state["state"], state["code"]) == ("failed", "source_unreadable")
    assert "nowhere" in state["error"]
