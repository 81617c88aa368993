"""``POST /v1/ingest`` and ``GET /v1/ingest/{id}`` of the local server: re-indexing beside the running service.

A job is a process of its own (``ragctl ingest``), so that requests are answered meanwhile; the workers notice the new
index at their next request. Its state is what it printed, in a folder that all workers share.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

PATH = "/v1/ingest"
_ID = re.compile(r"[A-Za-z0-9_-]{16}")
_COMMAND = "from ragctl.cli import main; main()"


@dataclass(frozen=True, slots=True)
class IngestJobs:
    """Jobs that index ``sources`` into ``index``; ``folder`` holds their state. Without sources there are none."""

    sources: tuple[str, ...]
    index: str
    profile: str
    folder: Path

    def start(self) -> str:
        """Start a job; its id."""
        job = secrets.token_urlsafe(12)
        command = [sys.executable, "-c", _COMMAND, "ingest", *self.sources]
        command += ["--index", self.index, "--profile", self.profile, "--json"]
        with (self.folder / f"{job}.out").open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
        (self.folder / f"{job}.pid").write_text(str(process.pid), encoding="ascii")
        threading.Thread(target=process.wait, daemon=True).start()  # so that no zombie is taken for a running job
        return job

    def state(self, job: str) -> dict[str, Any] | None:
        """``{"id", "state": "running" | "done" | "failed", "summary" | "error", "code"}``; None for an unknown id."""
        if not _ID.fullmatch(job) or not (self.folder / f"{job}.pid").is_file():
            return None
        # Asked before the output is read: a job that ends in between has then said everything.
        running = self._runs(job)
        said = (self.folder / f"{job}.out").read_text(encoding="utf-8")
        with suppress(ValueError):
            result = json.loads(said)
            if "error" in result:
                return {"id": job, "state": "failed", "error": result["error"], "code": result["code"]}
            return {"id": job, "state": "done", "summary": result}
        if running:
            return {"id": job, "state": "running"}
        return {"id": job, "state": "failed", "error": "The ingest ended without a word", "code": "ingest_ended"}

    def _runs(self, job: str) -> bool:
        try:
            os.kill(int((self.folder / f"{job}.pid").read_text(encoding="ascii")), 0)
        except (ProcessLookupError, ValueError):
            return False
        return True


type Handler = Callable[[dict[str, Any], Any], object]


def with_ingest(handler: Handler, jobs: IngestJobs) -> Handler:
    """``handler``, with the two ingest routes in front of it."""

    def answer(event: dict[str, Any], context: Any) -> object:
        path = str(event["path"]).rstrip("/")
        if path == PATH and event["httpMethod"] == "POST":
            if not jobs.sources:
                sentence = "No folder is configured: start with ragctl serve --source PATH"
                return _reply(HTTPStatus.CONFLICT, {"error": sentence, "code": "not_configured"})
            return _reply(HTTPStatus.ACCEPTED, {"id": jobs.start(), "state": "running"})
        if path.startswith(f"{PATH}/") and event["httpMethod"] == "GET":
            state = jobs.state(path.removeprefix(f"{PATH}/"))
            unknown = {"error": "No such ingest", "code": "not_found"}
            return _reply(HTTPStatus.NOT_FOUND, unknown) if state is None else _reply(HTTPStatus.OK, state)
        return handler(event, context)

    return answer


def _reply(status: HTTPStatus, body: Mapping[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return {"statusCode": int(status), "headers": headers, "body": json.dumps(body, ensure_ascii=False)}
