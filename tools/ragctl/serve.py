"""ragctl serve, the Lambda handler behind a local HTTP server; and ragctl mcp, its tools over stdin and stdout."""

from __future__ import annotations

import errno
import json
import shlex
import socket
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.console import CommandFailed, emit_json, note
from ragctl.options import DEFAULT_PORT, IndexDir, Json, Profile, choose_store, read_settings

if TYPE_CHECKING:
    from rag.values.answer import Answer
    from rag.values.question import Question
    from rag.values.request import Listen

ANY_QUESTION = "What can you tell me?"
_SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def serve(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = DEFAULT_PORT,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    source: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="What POST /v1/ingest indexes again; repeatable.")
    ] = None,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Serve the HTTP API as Lambda and API Gateway would; Ctrl-C ends it.

    Turns and votes are kept in INDEX.store.sqlite, or where STORE_PATH says; STORE_PATH=none keeps nothing. The
    function's logs and metrics go to stdout as they are, one line about each request to stderr.
    """
    settings, store = choose_store(read_settings(index=index, profile=profile))
    listener = _listen(host, port)
    url = f"http://{host}:{listener.getsockname()[1]}"
    note(f"Starting {settings.profile} (index {settings.index_place}) ...")
    note(store)
    from knowledge.open.scratch import Scratch
    from ragctl.doctor import SEED_RULES_OFF, check_seed_rules

    if (seed_rules := check_seed_rules(settings)) != SEED_RULES_OFF:
        note(seed_rules)

    def announce() -> None:
        if as_json:
            emit_json({"url": url, "profile": settings.profile})
        else:
            note(_welcome(url, settings.profile))

    with suppress(KeyboardInterrupt), closing(Scratch()) as folder:
        from routes import page

        from app import lambda_handler
        from serve.jobs import IngestJobs, with_ingest
        from serve.server import serve_forever
        from serve.web_pages import bundle
        from serve.wsgi import Gateway

        page.load_page = bundle

        jobs = IngestJobs(tuple(source or ()), settings.index_place, settings.profile, folder.path)
        is_local = listener.getsockname()[0] in {"127.0.0.1", "::1"}
        serve_forever(Gateway(with_ingest(lambda_handler, jobs), local=is_local), listener, ready=announce)
    note("Stopped.")


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on ``host``:``port``; 0 is any free port.

    Raises:
        CommandFailed: the port is in use or not allowed, or the address does not exist.
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


def _welcome(url: str, profile: str) -> str:
    try:
        with (_SAMPLES / profile / "questions.jsonl").open(encoding="utf-8") as lines:
            question = str(json.loads(next(lines))["question"])
    except (OSError, ValueError, KeyError, StopIteration):
        question = ANY_QUESTION
    body = shlex.quote(json.dumps({"query": question}, ensure_ascii=False))
    curl = f"curl -s {url}/api/query -H 'Content-Type: application/json' -d {body}"
    return f"Ready: {url} (Ctrl-C ends it). Try:\n\n  {curl}\n  curl -s {url}/api/health\n\n"


def mcp(*, profile: Profile = None, index: IndexDir = None) -> None:
    """Serve the Model Context Protocol on stdin and stdout: the tools ask and search, and passages as resources.

    Programs such as Claude Code start it by themselves; it ends with its input. Messages for people go to stderr.
    """
    settings = read_settings(index=index, profile=profile)

    from rag.http.failures import explain
    from rag.mcp.server import build_server
    from rag.values.chat import Deadline
    from rag.wiring.application import Library, build_application

    service = build_application(settings)

    def ask(question: Question, listen: Listen | None) -> Answer:
        limit = Deadline.after(service.settings.request_deadline_s, time.monotonic)
        return service.pipeline.run(question, deadline=limit, listen=listen)

    def send(message: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(message, ensure_ascii=True, separators=(",", ":")) + "\n")
        sys.stdout.flush()

    server = build_server(
        Library(service, ask),
        profile=settings.profile,
        describe_error=lambda error: explain(error).sentence,
        notify=send,
    )
    note(f"MCP on stdin and stdout for {settings.profile} (index {settings.index_place})")
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        reply = server.respond(line.decode("utf-8", "replace"))
        if reply.message is not None:
            send(reply.message)
