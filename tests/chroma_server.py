"""Chroma's own server, as ``chroma run`` starts it, on a free port of this machine."""

import http.client
import itertools
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from local_server import Reading

PROGRAM = Path(sys.executable).with_name("chroma")
START_S = 120
_names = itertools.count(1)


@dataclass
class ChromaServer:
    """A server on ``folder`` at ``port``; it can be stopped, and started again with all that it holds."""

    folder: Path
    port: int = field(default_factory=lambda: free_port())
    _process: subprocess.Popen[str] | None = None
    _output: Reading | None = None

    @property
    def uri(self) -> str:
        """Its default database, as ``INDEX_URI`` names it."""
        return uri_of(self.port)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            [str(PROGRAM), "run", "--path", str(self.folder), "--port", str(self.port), "--host", "127.0.0.1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
        )
        assert self._process.stdout is not None
        self._output = Reading(self._process.stdout)
        until = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise AssertionError(f"chroma run does not answer: {self._output.result()[-500:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._output is not None
            self._output.result()
            self._process = None

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/api/v2/heartbeat")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()


def running(folder: Path) -> Iterator[ChromaServer]:
    """One that runs on ``folder``; for a fixture."""
    server = ChromaServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def uri_of(port: int) -> str:
    """The default database of a server at ``port`` of this machine."""
    return f"chroma://127.0.0.1:{port}/default_tenant/default_database"


def new_name() -> str:
    """The name of an index that no other test of this run has."""
    return f"index_{next(_names)}"


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
