"""ragctl mcp: the Model Context Protocol over stdin and stdout, for programs that start their servers themselves."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.console import note
from ragctl.options import IndexDir, Profile, read_settings

if TYPE_CHECKING:
    from knowledge.search.passage import ChunkView
    from rag.values.answer import Answer, Hit, Question
    from rag.wiring import Application


@dataclass(frozen=True, slots=True)
class _Local:
    """The service in this process."""

    service: Application

    def ask(self, question: Question) -> Answer:
        """The answer."""
        from rag.values.answer import Deadline

        limit = Deadline.after(self.service.settings.request_deadline_s, time.monotonic)
        return self.service.pipeline.run(question, deadline=limit)

    def search(self, text: str, *, k: int) -> tuple[Hit, ...]:
        """What retrieval finds."""
        return self.service.search(text, k=k)

    def chunk(self, chunk_id: str) -> ChunkView:
        """A chunk."""
        return self.service.chunk(chunk_id)


def mcp(*, profile: Profile = None, index: IndexDir = None) -> None:
    """Serve the Model Context Protocol on stdin and stdout: the tools ask and search, and passages as resources.

    Programs such as Claude Code start it by themselves; it ends with its input. Messages for people go to stderr.
    """
    settings = read_settings(index=index, profile=profile)

    import json

    from rag.http.replies import error_reply
    from rag.mcp.tools import server
    from rag.wiring import build_application

    offered = server(
        _Local(build_application(settings)), profile=settings.profile, tell=lambda error: error_reply(error)["error"]
    )
    note(f"MCP on stdin and stdout for {settings.profile} (index {settings.index_place})")
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        reply = offered.respond(line.decode("utf-8", "replace"))
        if reply.message is not None:
            sys.stdout.write(json.dumps(reply.message, ensure_ascii=True, separators=(",", ":")) + "\n")
            sys.stdout.flush()
