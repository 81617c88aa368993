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

    from rag.values.answer import Answer


def ask(
    text: Annotated[str, typer.Argument(help="The question.")],
    *,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also what was done on the way, with the figures that decided.")
    ] = False,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the index, with citations and a confidence."""
    settings = read_settings(index=index, profile=profile)

    from rag.http.replies import query_reply
    from rag.http.requests import parse_query
    from rag.values.chat import Deadline
    from rag.wiring import build_application

    question = parse_query(json.dumps({"query": text}))
    service = build_application(settings)
    deadline = Deadline.after(service.settings.request_deadline_s, time.monotonic)
    answer = service.pipeline.run(question, deadline=deadline)
    reply = query_reply(answer).model_dump(mode="json")
    if as_json:
        emit_json(reply)
    else:
        show(*_for_people(reply, too_far=_too_far(answer), explain=explain))


def _too_far(answer: Answer) -> str:
    """What came closest, where the gate declined for what was found; ``""`` for every other answer."""
    replied = answer.routing is not None and answer.routing.action == "return"  # to what is no question
    if not answer.refused or answer.completion is not None or replied or not answer.closest:
        return ""
    chunk = answer.closest[0].chunk
    closest = " > ".join(part for part in (chunk.title, chunk.section) if part)
    return f"What was found is too far from the question. The closest: {closest}"


def _for_people(reply: dict[str, Any], *, too_far: str, explain: bool) -> list[RenderableType]:
    from rich.console import NewLine
    from rich.text import Text

    lines: list[RenderableType] = [Text(reply["answer"])]
    lines += [Text(too_far, style="dim")] if too_far else []
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
        is_weak = reply["modelText"] is not None
        facts.append(
            "quoted: the LLM's answer is not in the documents" if is_weak else "degraded: the LLM could not be reached"
        )
    trail = [Text(f"  {step}", style="dim") for step in metadata["trail"]] if explain else []
    return [*lines, Text(", ".join(facts), style="dim"), *trail]
