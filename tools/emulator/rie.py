"""One process of the Runtime Interface Emulator, and calls to it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_INIT = re.compile(r"INIT REPORT\(durationMs: ([\d.]+)\)")
_READY_WAIT_S = 30
_LOG_WAIT_S = 5


class Rie:
    """Runs ``command`` (a runtime client and its handler) under the emulator ``binary`` as a context manager."""

    def __init__(self, binary: Path, command: list[str], environment: Mapping[str, str]) -> None:
        self._binary = binary
        self._command = command
        self._environment = dict(environment)
        self._lines: list[str] = []
        self._grown = threading.Condition()

    def __enter__(self) -> Self:
        self._port = _free_port()
        address = f"127.0.0.1:{self._port}"
        self._process = subprocess.Popen(
            [str(self._binary), "--runtime-interface-emulator-address", address, *self._command],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._collect, daemon=True).start()
        _wait_for_port(self._port, self._process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def invoke(self, event: object, *, timeout_s: float = 60) -> tuple[Any, list[str]]:
        """What the function returned for ``event``, and the lines that it and the emulator wrote meanwhile."""
        with self._grown:
            start = len(self._lines)
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/2015-03-31/functions/function/invocations",
            data=json.dumps(event).encode(),
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=timeout_s) as reply:
            body = json.loads(reply.read() or b"null")
        with self._grown:
            self._grown.wait_for(lambda: any(line.startswith("REPORT") for line in self._lines[start:]), _LOG_WAIT_S)
            return body, self._lines[start:]

    def _collect(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe
        for line in self._process.stdout:
            with self._grown:
                self._lines.append(line.rstrip("\n"))
                self._grown.notify_all()


def init_ms(lines: list[str]) -> float | None:
    """The duration in the INIT REPORT line, in milliseconds; the first REPORT's own figure means nothing."""
    found = _INIT.search("\n".join(lines))
    return float(found[1]) if found else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for_port(port: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + _READY_WAIT_S
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError("The Runtime Interface Emulator did not start")
