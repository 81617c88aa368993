"""``POST /v1/ingest`` and ``GET /v1/ingest/{id}`` of the local server: re-indexing beside the running service.

A job is a process of its own (``ragctl ingest``), so that requests are answered meanwhile; the new index is noticed at
the next request.
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
    """An ingest is running. What it has read already may have changed since: it is not the one that was asked for."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job


@dataclass(frozen=True, slots=True)
class IngestJobs:
    """Jobs that index ``sources`` into ``index``; ``folder`` takes what they print. Without sources there are none."""

    sources: tuple[str, ...]
    index: str
    profile: str
    folder: Path
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> str:
        """Start a job; its id.

        Raises:
            AlreadyRunning: there is one.
        """
        command = [sys.executable, "-c", _COMMAND, "ingest", *self.sources]
        command += ["--index", self.index, "--profile", self.profile, "--json"]
        with self._lock:
            for running in (job for job, process in self._processes.items() if process.poll() is None):
                raise AlreadyRunning(running)
            job = secrets.token_urlsafe(12)
            with self._output(job).open("wb") as out:
                self._processes[job] = subprocess.Popen(
                    command, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True
                )
        return job

    def state(self, job: str) -> dict[str, Any] | None:
        """``{"id", "state": "running" | "done" | "failed", "summary" | "error", "code"}``; None for an unknown id.

        Of this machine's folders it tells the last part only.
        """
        process = self._processes.get(job)
        if process is None:
            return None
        if process.poll() is None:
            return {"id": job, "state": "running"}
        with suppress(ValueError):
            result = json.loads(self._without_folders(self._output(job).read_text(encoding="utf-8")))
            if "error" in result:
                return {"id": job, "state": "failed", "error": result["error"], "code": result["code"]}
            return {"id": job, "state": "done", "summary": result}
        return {"id": job, "state": "failed", "error": "The ingest ended without a word", "code": "ingest_ended"}

    def _output(self, job: str) -> Path:
        return self.folder / f"{job}.out"

    def _without_folders(self, said: str) -> str:
        given = [Path(place.removeprefix("file://")) for place in (*self.sources, self.index)]
        for place in sorted({*given, *(path.resolve() for path in given)}, key=lambda path: -len(str(path))):
            if place.name:
                said = said.replace(json.dumps(str(place), ensure_ascii=False)[1:-1], place.name)
        return said


type Handler = Callable[[dict[str, Any], Any], object]


def with_ingest(handler: Handler, jobs: IngestJobs) -> Handler:
    """``handler``, with the two ingest routes in front of it."""

    def answer(event: dict[str, Any], context: Any) -> object:
        path = str(event["path"]).rstrip("/")
        if path != PATH and not path.startswith(f"{PATH}/"):
            return handler(event, context)
        allowed = "POST" if path == PATH else "GET"
        if event["httpMethod"] != allowed:
            sentence = f"Method not allowed; use {allowed}"
            return _reply(HTTPStatus.METHOD_NOT_ALLOWED, _error(sentence, "method_not_allowed"), Allow=allowed)
        if path == PATH:
            return _started(jobs)
        state = jobs.state(path.removeprefix(f"{PATH}/"))
        if state is None:
            return _reply(HTTPStatus.NOT_FOUND, _error("No such ingest", "not_found"))
        return _reply(HTTPStatus.OK, state)

    return answer


def _started(jobs: IngestJobs) -> dict[str, Any]:
    if not jobs.sources:
        sentence = "No folder is configured: start with ragctl serve --source PATH"
        return _reply(HTTPStatus.CONFLICT, _error(sentence, "not_configured"))
    try:
        return _reply(HTTPStatus.ACCEPTED, {"id": jobs.start(), "state": "running"})
    except AlreadyRunning as running:
        sentence = "An ingest is running; start another when it is done"
        return _reply(HTTPStatus.CONFLICT, {**_error(sentence, "ingest_running"), "id": running.job})


def _error(sentence: str, code: str) -> dict[str, str]:
    return {"error": sentence, "code": code}


def _reply(status: HTTPStatus, body: Mapping[str, Any], **more: str) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return {"statusCode": int(status), "headers": {**headers, **more}, "body": json.dumps(body, ensure_ascii=False)}
