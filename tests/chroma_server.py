"""Chroma's own server, as ``chroma run`` starts it, on a free port of this machine."""

import http.client
import itertools
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("chroma")
START_S = 120
_names = itertools.count(1)


@dataclass
class ChromaServer:
    """A server on ``folder`` at ``port``; it can be stopped, and started again with all that it holds."""

    folder: Path
    port: int = field(default_factory=lambda: free_port())
    _process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """Its default database, as ``INDEX_URI`` names it."""
        return uri_of(self.port)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(PROGRAM), "run", "--path", str(self.folder), "--port", str(self.port), "--host", "127.0.0.1"]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)
        until = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise AssertionError(f"chroma run does not answer: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with suppress(OSError), closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)) as connection:
            connection.request("GET", "/api/v2/heartbeat")
            return connection.getresponse().status == http.HTTPStatus.OK
        return False


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
