"""``ragctl serve`` as a user starts it: a process on a free port of this machine."""

import base64
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from functional.harness import SETTINGS

PROGRAM = Path(sys.executable).with_name("ragctl")
OURS = (*SETTINGS, "RAGCTL_")
STOP_S = 300


@dataclass(frozen=True)
class Response:
    """Header names are in lower case; ``json`` is the decoded body, None when there is none."""

    status: int
    headers: Mapping[str, str]
    json: Any


class Reading(threading.Thread):
    """Reads ``pipe`` to its end, so that whoever writes never waits for a reader."""

    def __init__(self, pipe: IO[str]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._text = ""
        self.start()

    def run(self) -> None:
        with self._pipe:
            self._text = self._pipe.read()

    def result(self) -> str:
        """All of it; waits for the end."""
        self.join(STOP_S)
        return self._text


@dataclass(frozen=True)
class Server:
    """A running one; ``address`` is host:port."""

    process: subprocess.Popen[str]
    address: str
    output: tuple[Reading, Reading]

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(self.address, timeout=STOP_S)
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Response(response.status, named, json.loads(response.read() or "null"))
        finally:
            connection.close()

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        """(status, decoded JSON)."""
        response = self.send(method, path, body, headers)
        return response.status, response.json

    def replay(self, event: Mapping[str, Any]) -> Response:
        """The request out of which API Gateway makes ``event``; a direct event is posted as a question's body."""
        if "httpMethod" not in event:
            return self.send("POST", "/api/query", json.dumps(event).encode(), {"Content-Type": "application/json"})
        text = event["body"] or ""
        body = base64.b64decode(text) if event["isBase64Encoded"] else text.encode()
        # Its Host is API Gateway's; this server answers under its own name only.
        headers = {name: value for name, value in event["headers"].items() if name.lower() != "host"}
        return self.send(event["httpMethod"], event["path"], body or None, headers)

    def ask(self, question: str) -> tuple[int, Any]:
        """POST /api/query: (status, decoded JSON)."""
        return self.request("POST", "/api/query", json.dumps({"query": question}).encode())

    def end(self, number: int) -> tuple[int, str, str]:
        """Send the signal to the whole group, as a terminal does: (exit status, stdout, stderr)."""
        os.killpg(self.process.pid, number)
        status = self.process.wait(timeout=STOP_S)
        out, err = (reading.result() for reading in self.output)
        return status, out, err


def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    """``ragctl serve`` with ``arguments``, in an environment without settings of this machine but ``variables``.

    Without a store: tests share an index.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return subprocess.Popen(
        [str(PROGRAM), "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**clean, "RAG_PROFILE": "waypoint", "STORE_WAIT_S": "60", "STORE_PATH": "none", **variables},
        start_new_session=True,
    )


@contextmanager
def serving(index: Path, *arguments: str, **variables: str) -> Iterator[Server]:
    """A server on ``index`` that is ready, and ends with the block."""
    process = start("--port", "0", "--json", "--index", str(index), *arguments, **variables)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        ready = process.stdout.readline()
        assert ready, process.communicate(timeout=STOP_S)[1]
        output = (Reading(process.stdout), Reading(process.stderr))
        yield Server(process, urlsplit(json.loads(ready)["url"]).netloc, output)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
