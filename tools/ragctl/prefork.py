"""gunicorn as the local server needs it: sync workers that each import the function after the fork, as Lambda does."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from ragctl.failures import CommandFailed, describe
from ragctl.jobs import IngestJobs, with_ingest
from ragctl.worker import Worker
from ragctl.wsgi import TIME_LIMIT_S, Gateway

WORKER_TIMEOUT_S = int(TIME_LIMIT_S) + 11
"""A worker that does not finish its request in that time is replaced; even the longest stream is over before that."""
STOP_TIMEOUT_S = 5

LOOKS_PER_REMINDER = 8
"""Of 0.1 s each: longer than a worker needs that heard the first time."""

_FAILURE_BYTES = 4096


class QuietLogger(Logger):  # type: ignore[misc]  # gunicorn is not typed
    """gunicorn's logger, without traces of what is no fault: slow clients, and requests that Ctrl-C ends."""

    def exception(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Log the current exception."""
        if not isinstance(sys.exception(), (SystemExit, TimeoutError)):
            super().exception(msg, *args, **kwargs)


class PatientArbiter(Arbiter):  # type: ignore[misc]
    """An arbiter that ends its workers at once, and asks again.

    Seen in 6 of 8 trials: a worker whose main thread waits for the LLM's thread notes the signal, but runs its handler
    only when another one comes. Unasked it would be killed in the end, and leave its temporary files.
    """

    _stopping = False
    _looks = 0

    def stop(self, graceful: bool = True) -> None:
        """End all workers without waiting for their requests; what gunicorn says of that is no news."""
        self._stopping = True
        self.log.error_log.setLevel(logging.CRITICAL)
        super().stop(graceful=False)

    def reap_workers(self) -> None:
        """Look for workers that have ended; gunicorn does so every 0.1 s while it stops."""
        super().reap_workers()
        self._looks += self._stopping
        if self._stopping and self._looks % LOOKS_PER_REMINDER == 0:
            self.kill_workers(signal.SIGQUIT)


class Server(BaseApplication):  # type: ignore[misc]
    """The arbiter's side. ``failures`` is a pipe in which a worker that cannot start says why."""

    def __init__(self, listener: socket.socket, *, workers: int, jobs: IngestJobs, announce: Announcement) -> None:
        self._jobs = jobs
        self._local = listener.getsockname()[0] in {"127.0.0.1", "::1"}
        self._options: dict[str, Any] = {
            "bind": [f"fd://{listener.detach()}"],
            "workers": workers,
            "worker_class": Worker,
            "logger_class": QuietLogger,
            "loglevel": "warning",
            "timeout": WORKER_TIMEOUT_S,
            "graceful_timeout": STOP_TIMEOUT_S,
            "control_socket_disable": True,
            "when_ready": _end_with_the_terminal,
            "worker_int": lambda worker: _heed_no_more_signals(),
            "post_worker_init": lambda worker: announce.one_is_ready(),
        }
        self._failure_out, self._failure_in = os.pipe()
        super().__init__()

    def load_config(self) -> None:
        """Apply the options."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Gateway:
        """In a worker: import the function. One that cannot start ends the server, not just itself."""
        try:
            from app import lambda_handler
        except Exception as error:  # noqa: BLE001 - reported by the arbiter's process, in one sentence
            problem = describe(error)
            sentence = problem.sentence if problem else f"Unexpected {type(error).__name__}: {error}"
            os.write(self._failure_in, sentence.encode("utf-8", "replace")[: _FAILURE_BYTES - 1] + b"\0")
            _heed_no_more_signals()
            os.kill(os.getppid(), signal.SIGINT)
            sys.exit(0)
        return Gateway(with_ingest(lambda_handler, self._jobs), local=self._local)

    def failure(self) -> str:
        """Why the first worker that could not start could not; "" when none failed."""
        os.close(self._failure_in)
        with os.fdopen(self._failure_out, "rb") as pipe:
            return pipe.read(_FAILURE_BYTES).split(b"\0")[0].decode("utf-8", "replace")


class Announcement:
    """Says once that all workers are ready, from whichever is ready last.

    A pipe holds a token per worker: each takes one, and whoever takes the last one speaks. Workers that replace
    others later find none. (The arbiter cannot do it: it sleeps, and a thread in it would not survive its forks.)
    """

    def __init__(self, workers: int, *, stdout: str, stderr: str) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._out, write = os.pipe()
        os.set_blocking(self._out, False)
        os.write(write, b"." * (workers - 1) + b"!")
        os.close(write)

    def one_is_ready(self) -> None:
        """Called by each worker."""
        if os.read(self._out, 1) == b"!":
            sys.stdout.write(self._stdout)
            sys.stderr.write(self._stderr)
            sys.stdout.flush()
            sys.stderr.flush()


def serve_forever(
    listener: socket.socket, *, workers: int, jobs: IngestJobs, ready_stdout: str, ready_stderr: str
) -> None:
    """Serve on ``listener`` until SIGINT or SIGTERM; the two texts are printed once all workers are ready.

    Raises:
        CommandFailed: the function cannot start.
    """
    announce = Announcement(workers, stdout=ready_stdout, stderr=ready_stderr)
    server = Server(listener, workers=workers, jobs=jobs, announce=announce)
    arbiter = os.getpid()
    status: object = 0
    try:
        PatientArbiter(server).run()
    except SystemExit as ended:  # how gunicorn returns, in the arbiter and in each forked worker
        if os.getpid() != arbiter:
            raise
        status = ended.code
    if sentence := server.failure():
        raise CommandFailed(sentence, code="cannot_start")
    if status:
        raise CommandFailed(f"The server ended with status {status}", code="server_failed")


def _heed_no_more_signals() -> None:
    """For a worker that is ending: Ctrl-C reaches it from the terminal and again from the arbiter, and the second
    one would show as a trace if it came during the interpreter's shutdown."""
    ending = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
    for number in ending:
        signal.signal(number, lambda *_: None)  # for one that has arrived already
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)


def _end_with_the_terminal(arbiter: Any) -> None:
    """A closed terminal ends the server; gunicorn would reload and live on, unseen."""
    signal.signal(signal.SIGHUP, lambda number, frame: arbiter.signal(signal.SIGTERM, frame))
