"""ragctl ask: one question through the pipeline that answers POST /api/query."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import NewLine, RenderableType
from rich.text import Text

from ragctl.console import emit_json, print_rich
from ragctl.options import IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from rag.values.answer import Answer

_MARKUP = re.compile(
    r"(?P<code>(`+)(?!`).+?(?<!`)\2(?!`))|!?\[(?P<words>[^\[\]]*)\]\((?!<?(?:https?|mailto):)(?:<[^<>\n]*>|[^()\s<>]*)\)"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])",
    re.DOTALL | re.IGNORECASE,
)
"""Code; a link that leads to a file of the documents; an escaped character."""


def ask(
    text: Annotated[str, typer.Argument(help="The question.")],
    *,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also print each step and the figures that decided it.")
    ] = False,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the index, with citations and a confidence."""
    settings = read_settings(index=index, profile=profile)

    from rag.http.replies import query_reply
    from rag.http.requests import read_question
    from rag.http.schema import QueryRequest
    from rag.values.chat import Deadline
    from rag.wiring.application import build_application

    question = read_question(QueryRequest(query=text))
    service = build_application(settings)
    deadline = Deadline.after(service.settings.request_deadline_s, time.monotonic)
    answer = service.pipeline.run(question, deadline=deadline)
    reply = query_reply(answer).model_dump(mode="json")
    if as_json:
        emit_json(reply)
    else:
        paths = [citation.hit.chunk.path for citation in answer.citations]
        print_rich(*_format_reply(reply, paths, closest=_describe_closest(answer), explain=explain))


def _describe_closest(answer: Answer) -> str:
    """Return a sentence on the closest passage if the gate declined because of it, else ``""``."""
    is_remark = answer.routing is not None and answer.routing.action == "return"  # the reply to a greeting
    if not answer.refused or answer.completion is not None or is_remark or not answer.closest:
        return ""
    chunk = answer.closest[0].chunk
    closest = " > ".join(part for part in (chunk.title, chunk.section) if part)
    return f"What was found is too far from the question. The closest: {closest}"


def _format_reply(reply: dict[str, Any], paths: Sequence[str], *, closest: str, explain: bool) -> list[RenderableType]:
    """Return the lines for people; a citation without an address shows its file, of ``paths``, and its chunk id."""
    lines: list[RenderableType] = [Text(show_words(reply["answer"]))]
    lines += [Text(closest, style="dim")] if closest else []
    if reply["citations"]:
        lines += [NewLine(), Text("Citations", style="bold")]
    for number, (citation, path) in enumerate(zip(reply["citations"], paths, strict=True), start=1):
        section = f" > {citation['section']}" if citation["section"] else ""
        place = next(iter(citation["sourceUrls"]), f"{path}  {citation['chunkId']}")
        lines.append(Text.assemble(f"  {number}. {citation['fullTitle']}{section}  ", (place, "dim")))
    confidence, metadata = reply["confidence"], reply["metadata"]
    color = {"High": "green", "Medium": "yellow", "Low": "red"}[confidence["level"]]
    level = (f"{confidence['level']} ({int(confidence['score'])}/100)", color)
    lines += [NewLine(), Text.assemble(("Confidence ", "bold"), level, f": {confidence['reason']}")]
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


def show_words(answer: str) -> str:
    """Return Markdown without what a page does not show either: escapes, and links to files of the documents."""
    return _MARKUP.sub(lambda found: found["code"] or found["sign"] or show_words(found["words"] or ""), answer)
