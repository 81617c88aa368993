"""ragctl mcp: the Model Context Protocol over stdin and stdout, for programs that start their servers themselves."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from ragctl.console import note
from ragctl.options import IndexDir, Profile, read_settings

if TYPE_CHECKING:
    from rag.values.answer import Answer
    from rag.values.question import Question
    from rag.values.request import Listen


def mcp(*, profile: Profile = None, index: IndexDir = None) -> None:
    """Serve the Model Context Protocol on stdin and stdout: the tools ask and search, and passages as resources.

    Programs such as Claude Code start it by themselves; it ends with its input. Messages for people go to stderr.
    """
    settings = read_settings(index=index, profile=profile)

    import json

    from rag.http.failures import explain
    from rag.mcp.tools import build_server
    from rag.values.chat import Deadline
    from rag.wiring import build_application
    from rag.wiring.application import Library

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
