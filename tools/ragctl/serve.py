"""ragctl serve: the Lambda handler behind a local pre-fork server, one request at a time per worker."""

from __future__ import annotations

import errno
import json
import shlex
import socket
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.console import note
from ragctl.failures import CommandFailed
from ragctl.options import DEFAULT_PORT, IndexDir, Json, Profile, cores, read_settings

MIN_WORKERS = 2
"""So that health answers while an LLM call is waiting in the other."""
MAX_WORKERS = 4
ANY_QUESTION = "What can you tell me?"

if TYPE_CHECKING:
    from rag.config.settings import Settings

_SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def serve(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = DEFAULT_PORT,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Processes, a request each at a time. Default: 2 to 4, by cores.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="What POST /v1/ingest indexes again; repeatable.")
    ] = None,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Serve the HTTP API as Lambda and API Gateway would; Ctrl-C ends it.

    The function's logs and metrics go to stdout as they are, one line about each request to stderr.
    """
    settings = read_settings(index=index, profile=profile)
    count = workers or max(MIN_WORKERS, min(MAX_WORKERS, cores()))
    listener = listen(host, port)
    url = f"http://{host}:{listener.getsockname()[1]}"
    note(f"Starting {count} worker{'s' * (count > 1)} for {settings.profile} (index {settings.index_place}) ...")
    _tell_seed_rules(settings)

    if as_json:
        said = (json.dumps({"url": url, "profile": settings.profile, "workers": count}) + "\n", "")
    else:
        said = ("", _welcome(url, settings.profile))
    # Before gunicorn takes over the signals, Ctrl-C arrives as an exception; it is no failure either.
    from knowledge.open.scratch import Scratch

    with suppress(KeyboardInterrupt), closing(Scratch()) as folder:
        from ragctl.jobs import IngestJobs
        from ragctl.prefork import serve_forever

        jobs = IngestJobs(tuple(source or ()), settings.index_place, settings.profile, folder.path)
        serve_forever(listener, workers=count, jobs=jobs, ready_stdout=said[0], ready_stderr=said[1])
    note("Stopped.")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on ``host``:``port``; 0 is any free port.

    Raises:
        CommandFailed: the port is in use, or cannot be had.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as exc:
        if isinstance(exc, PermissionError):
            raise CommandFailed(f"Port {port} needs more rights; choose one above 1023", code="port_denied") from exc
        if isinstance(exc, socket.gaierror):
            raise CommandFailed(f"There is no address {host!r}", code="address_unknown") from exc
        if exc.errno != errno.EADDRINUSE:
            raise CommandFailed(f"Cannot listen on {host!r} port {port}: {exc.strerror}", code="cannot_listen") from exc
        sentence = f"Port {port} on {host} is in use. Choose another: PORT={port + 1} make run"
        raise CommandFailed(sentence, code="port_in_use") from exc


def _tell_seed_rules(settings: Settings) -> None:
    from ragctl.checks import SEED_RULES_OFF, check_seed_rules

    if (said := check_seed_rules(settings)) != SEED_RULES_OFF:
        note(said)


def _welcome(url: str, profile: str) -> str:
    body = shlex.quote(json.dumps({"query": _sample_question(profile)}, ensure_ascii=False))
    curl = f"curl -s {url}/api/query -H 'Content-Type: application/json' -d {body}"
    return f"Ready: {url} (Ctrl-C ends it). Try:\n\n  {curl}\n  curl -s {url}/api/health\n\n"


def _sample_question(profile: str) -> str:
    try:
        with (_SAMPLES / profile / "questions.jsonl").open(encoding="utf-8") as lines:
            return str(json.loads(next(lines))["question"])
    except (OSError, ValueError, KeyError, StopIteration):
        return ANY_QUESTION
