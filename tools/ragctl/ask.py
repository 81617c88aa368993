"""ragctl ask: one question through the pipeline that answers POST /api/query."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragctl.console import emit_json, show
from ragctl.options import IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from rich.console import RenderableType


def ask(
    text: Annotated[str, typer.Argument(help="The question.")],
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the index, with citations and a confidence."""
    settings = read_settings(index=index, profile=profile)

    from rag.http.replies import query_reply
    from rag.http.requests import parse_query
    from rag.values.answer import Deadline
    from rag.wiring import build_application

    question = parse_query(json.dumps({"query": text}))
    deadline = Deadline.after(settings.request_deadline_s, time.monotonic)
    reply = query_reply(build_application(settings).pipeline.run(question, deadline=deadline))
    if as_json:
        emit_json(reply)
    else:
        show(*_for_people(reply))


def _for_people(reply: dict[str, Any]) -> list[RenderableType]:
    from rich.console import NewLine
    from rich.text import Text

    lines: list[RenderableType] = [Text(reply["answer"])]
    if reply["refused"] and not reply["metadata"]["model"] and reply["metadata"]["trail"]:
        reason = reply["metadata"]["trail"][-1]
        said = reason.casefold() == reply["confidence"]["reason"].casefold()  # of a greeting, below
        lines += [] if said else [Text(f"{reason[:1].upper()}{reason[1:]}.", style="dim")]
    if reply["citations"]:
        lines += [NewLine(), Text("Citations", style="bold")]
    for number, citation in enumerate(reply["citations"], start=1):
        section = f" > {citation['section']}" if citation["section"] else ""
        link = f"  {citation['sourceUrls'][0]}" if citation["sourceUrls"] else ""
        lines.append(Text.assemble(f"  {number}. {citation['fullTitle']}{section}", (link, "dim")))
    confidence, metadata = reply["confidence"], reply["metadata"]
    color = {"High": "green", "Medium": "yellow", "Low": "red"}[confidence["level"]]
    verdict = (f"{confidence['level']} ({int(confidence['score'])}/100)", color)
    lines += [NewLine(), Text.assemble(("Confidence ", "bold"), verdict, f": {confidence['reason']}")]
    facts = [
        metadata["profile"],
        metadata["model"] or "no model",
        f"{metadata['chunksRetrieved']} chunks",
        f"{metadata['latencyMs']:.0f} ms",
    ]
    if metadata["degraded"]:
        facts.append("degraded: the LLM could not be reached")
    return [*lines, Text(", ".join(facts), style="dim")]
