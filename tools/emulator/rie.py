"""One process of the Runtime Interface Emulator, calls to it, and its errors."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class EmulatorError(Exception):
    """Base of every error that this package raises on purpose."""


class NotBuilt(EmulatorError):
    """The build or the emulator is missing; the message says what to run."""


class EmulatorEnded(EmulatorError):
    """The emulator did not start, or ended; its own output is on standard error."""


class FunctionFailed(EmulatorError):
    """The function returned neither an answer nor an error; the message is its output, then the reason."""

    def __init__(self, reason: str, lines: Sequence[str] = ()) -> None:
        super().__init__("\n".join([*lines, f"The function failed: {reason}"]))
        self.reason = reason
        self.lines = tuple(lines)


PROC = Path("/proc")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_PARENT = re.compile(r"^PPid:\s+(\d+)$", re.MULTILINE)


def peak_bytes(process: int | str = "self", *, proc: Path = PROC) -> int | None:
    """Return the peak memory of ``process`` (a process id) since its program began; None if it is unknown.

    Not ``ru_maxrss``, which begins with the memory of the parent process.
    """
    found = _PEAK.search(_status(proc / str(process)))
    return int(found[1]) * 1024 if found else None


def children(parent: int, *, proc: Path = PROC) -> list[int]:
    """Return the ids of the running processes that ``parent`` started."""
    found = ((folder, _PARENT.search(_status(folder))) for folder in proc.glob("[0-9]*"))
    return [int(folder.name) for folder, line in found if line and int(line[1]) == parent]


def _status(folder: Path) -> str:
    try:
        return (folder / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended, or this is not Linux
        return ""


_INIT = re.compile(r"INIT REPORT\(durationMs: ([\d.]+)\)")
_LAST_LINE = re.compile(r"^REPORT |\(rapid\) Invoke DONE failed")
_PRELUDE_END = b"\0" * 8
_READY_WAIT_S = 30
_ANSWER_WAIT_S = 60
_LOG_WAIT_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One invocation: the function's return value ``body``, or the reason of its ``failure``, and its log ``lines``.

    ``peak_bytes`` is the peak memory of the function's process so far, None if it has ended; the figure in the REPORT
    line has no meaning. ``streamed``: the response has the format for a streaming stage, which no other stage reads.
    """

    body: Any
    failure: str | None
    lines: list[str]
    peak_bytes: int | None
    streamed: bool

    @property
    def init_ms(self) -> float | None:
        """Milliseconds of INIT, on the first invocation of a session only."""
        found = _INIT.search("\n".join(self.lines))
        return float(found[1]) if found else None


class Rie:
    """Runs ``command`` (a runtime client and its handler) under the emulator ``binary`` as a context manager."""

    def __init__(self, binary: str, command: list[str], environment: Mapping[str, str]) -> None:
        self._binary = binary
        self._command = command
        self._environment = environment
        self._lines: list[str] = []
        self._grown = threading.Condition()

    def __enter__(self) -> Self:
        # The Runtime API's own default is one port for all: two emulators in one network could not start.
        self._port, runtime_api = _two_free_ports()
        addresses = ("--runtime-interface-emulator-address", self._port), ("--runtime-api-address", runtime_api)
        options = [part for option, port in addresses for part in (option, f"127.0.0.1:{port}")]
        self._process = subprocess.Popen(
            [self._binary, *options, *self._command],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._collect, daemon=True).start()
        if not _wait_for_port(self._port, self._process):
            self.__exit__(None, None, None)
            raise EmulatorEnded("\n".join([*self._lines, "The Runtime Interface Emulator did not start"]))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def invoke(self, event: object) -> Invocation:
        """Invoke the function once; the outcome tells of a start that failed, and of an end before the answer.

        Raises:
            OSError: the emulator does not answer.
        """
        with self._grown:
            start = len(self._lines)
        status, content = _post(self._port, json.dumps(event).encode())
        body, failure = read_reply(status, content)
        with self._grown:
            self._grown.wait_for(lambda: any(map(_LAST_LINE.search, self._lines[start:])), _LOG_WAIT_S)
            lines = self._lines[start:]
        peaks = [peak for child in children(self._process.pid) if (peak := peak_bytes(child))]
        streamed = failure is None and _PRELUDE_END in content
        peak = max(peaks, default=None)
        return Invocation(body=body, failure=failure, lines=lines, peak_bytes=peak, streamed=streamed)

    def _collect(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe
        for line in self._process.stdout:
            with self._grown:
                self._lines.append(line.rstrip("\n"))
                self._grown.notify_all()


def read_reply(status: int, content: bytes) -> tuple[Any, str | None]:
    """Return the function's return value, or None and the reason, from the emulator's HTTP reply.

    The emulator answers 200 with the function's return value or exception, 200 with a sentence after a timeout, and
    502 with an error object, or with an empty body, when its process ended. A streamed response comes as one: JSON with
    status and headers, eight NUL bytes, the body. It is returned as API Gateway would send it.
    """
    prelude, end, streamed = content.partition(_PRELUDE_END)
    if end and status == HTTPStatus.OK:
        return {**json.loads(prelude), "body": streamed.decode("utf-8", "replace"), "isBase64Encoded": False}, None
    text = content.decode("utf-8", "replace")
    try:
        body = json.loads(text or "null")
    except ValueError:
        return None, text
    if status == HTTPStatus.OK:
        return body, None
    if isinstance(body, dict) and "errorType" in body:
        return None, f"{body['errorType']}: {body.get('errorMessage', '')}"
    return None, text or "its process ended without a word"


def _post(port: int, body: bytes) -> tuple[int, bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/2015-03-31/functions/function/invocations", data=body)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=_ANSWER_WAIT_S
        ) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def _two_free_ports() -> list[int]:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in (one, other)]


def _wait_for_port(port: int, process: subprocess.Popen[str]) -> bool:
    until = time.monotonic() + _READY_WAIT_S
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.02)
    return False
