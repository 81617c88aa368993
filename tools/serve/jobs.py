"""``POST /v1/ingest`` and ``GET /v1/ingest/{id}`` of the local server: index again while the service runs.

A job is a separate process (``ragctl ingest``), so that requests are answered meanwhile; the next request uses the new
index.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

PATH = "/v1/ingest"
_COMMAND = "from ragctl.cli import main; main()"


class AlreadyRunning(Exception):
    """Another ingest is running. It cannot serve this request: files that it has read may have changed since."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job


@dataclass(frozen=True, slots=True)
class IngestJobs:
    """Jobs that index ``sources`` into ``index``; their output goes to ``folder``. Without sources no job starts."""

    sources: tuple[str, ...]
    index: str
    profile: str
    folder: Path
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> str:
        """Start a job and return its id.

        Raises:
            AlreadyRunning: another job is running.
        """
        command = [sys.executable, "-c", _COMMAND, "ingest", *self.sources]
        command += ["--index", self.index, "--profile", self.profile, "--json"]
        with self._lock:
            for running, process in self._processes.items():
                if process.poll() is None:
                    raise AlreadyRunning(running)
            job = secrets.token_urlsafe(12)
            with self._output(job).open("wb") as out:
                self._processes[job] = subprocess.Popen(
                    command, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True
                )
        return job

    def state(self, job: str) -> dict[str, Any] | None:
        """Return ``{"id", "state": "running" | "done" | "failed", "summary" | "error", "code"}``, or None.

        None is for an unknown id. Only the last part of the folders' paths is shown.
        """
        process = self._processes.get(job)
        if process is None:
            return None
        if process.poll() is None:
            return {"id": job, "state": "running"}
        with suppress(ValueError):
            result = json.loads(self._shorten_paths(self._output(job).read_text(encoding="utf-8")))
            if "error" in result:
                return {"id": job, "state": "failed", "error": result["error"], "code": result["code"]}
            return {"id": job, "state": "done", "summary": result}
        return {"id": job, "state": "failed", "error": "The ingest ended without a word", "code": "ingest_ended"}

    def _output(self, job: str) -> Path:
        return self.folder / f"{job}.out"

    def _shorten_paths(self, output: str) -> str:
        places = [Path(place.removeprefix("file://")) for place in (*self.sources, self.index)]
        for place in sorted({*places, *(path.resolve() for path in places)}, key=lambda path: -len(str(path))):
            if place.name:
                output = output.replace(json.dumps(str(place), ensure_ascii=False)[1:-1], place.name)
        return output


type Handler = Callable[[dict[str, Any], Any], object]


def with_ingest(handler: Handler, jobs: IngestJobs) -> Handler:
    """Return ``handler`` with the two ingest routes in front of it."""

    def answer(event: dict[str, Any], context: Any) -> object:
        path = str(event["path"]).rstrip("/")
        if path != PATH and not path.startswith(f"{PATH}/"):
            return handler(event, context)
        allowed = "POST" if path == PATH else "GET"
        if event["httpMethod"] != allowed:
            sentence = f"Method not allowed; use {allowed}"
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, _error_body(sentence, "method_not_allowed"), Allow=allowed)
        if path == PATH:
            return _start_job(jobs)
        state = jobs.state(path.removeprefix(f"{PATH}/"))
        if state is None:
            return _response(HTTPStatus.NOT_FOUND, _error_body("No such ingest", "not_found"))
        return _response(HTTPStatus.OK, state)

    return answer


def _start_job(jobs: IngestJobs) -> dict[str, Any]:
    if not jobs.sources:
        sentence = "No folder is configured: start with ragctl serve --source PATH"
        return _response(HTTPStatus.CONFLICT, _error_body(sentence, "not_configured"))
    try:
        return _response(HTTPStatus.ACCEPTED, {"id": jobs.start(), "state": "running"})
    except AlreadyRunning as running:
        sentence = "An ingest is running; start another when it is done"
        return _response(HTTPStatus.CONFLICT, {**_error_body(sentence, "ingest_running"), "id": running.job})


def _error_body(sentence: str, code: str) -> dict[str, str]:
    return {"error": sentence, "code": code}


def _response(status: HTTPStatus, body: Mapping[str, Any], **extra: str) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return {"statusCode": int(status), "headers": {**headers, **extra}, "body": json.dumps(body, ensure_ascii=False)}
