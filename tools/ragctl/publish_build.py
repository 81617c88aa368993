"""The index that is published: brought up to date, and examined before anybody is answered from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ragctl.console import note
from ragctl.evaluate_questions import check_questions
from ragctl.failures import CommandFailed
from ragctl.ingest import check_base_url, check_patterns
from ragctl.ingest_job import IngestJob
from ragctl.ingest_request import IngestRequest
from ragctl.options import read_settings

if TYPE_CHECKING:
    from knowledge.engines.server.address import ServerAddress
    from publish.publisher import Outcome
    from publish.served import ServedStack
    from publish.stack import Target
    from publish.versions import Facts
    from rag.config.settings import Settings


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """Brings an index up to date as ``ragctl ingest`` does, with its refusals, and asks the golden questions of it.

    ``parameters`` are those of the stack that will answer from it.
    """

    asked: IngestRequest
    parameters: Mapping[str, str]
    questions: Path | None = None
    fail_under: tuple[str, ...] = ()
    strict: bool = False
    may_remove: bool = False

    def __call__(self, index: Path | str) -> dict[str, Any]:
        """What the ingest into ``index`` did, a folder, or an address at which the version before goes on answering.

        Raises:
            CommandFailed: it must not be published.
        """
        from knowledge.open.place import made_of

        profile = self.parameters["Profile"]
        settings = read_settings(index=str(index), profile=profile, making=True)
        wanted = self.parameters.get("EmbedModel", "")
        if settings.embed_model != wanted:
            sentence = f"The stack has EmbedModel={wanted!r}, and EMBED_MODEL is {settings.embed_model!r} here"
            raise CommandFailed(sentence, code="index_mismatch")
        made = made_of(settings.index_place)
        if not self.asked.paths and not made.paths:
            raise typer.BadParameter("name a folder, a file or an address", param_hint="PATH...")
        given = set(self.asked.options)
        asked = self.asked.as_last_time(made, given=given)
        check_base_url(asked.base_url)
        check_patterns(*asked.include, *asked.exclude)
        job = IngestJob(asked, settings, dry_run=False, may_remove=self.may_remove, as_json=True, switch=False)
        done, found = job.ingest()
        failed = found["failed"]
        for problem in (*failed, *found["emptied"]):
            note(f"Failed: {problem['path']}: {problem['error']}")
        if done.emptied:
            sentence = (
                "Not published: what emptied files and folders held is kept. If it is to go, add --allow-removals"
            )
            raise CommandFailed(sentence, code="removals_refused", **found)
        if failed and (self.strict or not done.read):
            raise CommandFailed(f"Not published: {len(failed)} documents failed", code="documents_failed", **found)
        place = rehearsed_at(settings, found)
        if self.questions:
            figures = check_questions(self.questions, self.fail_under, profile=profile, index=place)
            return {**found, "questions": figures}
        return found


def rehearsed_at(settings: Settings, found: Mapping[str, Any]) -> str:
    """Where the new version is. On a server it first answers a heading of its own, as a layer's does before it is live.

    Raises:
        Exception: it cannot answer.
    """
    from knowledge.engines.server.address import ServerAddress, is_server

    if not is_server(settings.index_place):
        return settings.index_place
    from rag.wiring import build_application
    from rag.wiring.rehearsal import answer_own_heading

    place = str(ServerAddress.parse(settings.index_place).pinned(found["version"]))
    service = build_application(settings.model_copy(update={"index_uri": place}))
    try:
        answer_own_heading(service)
    finally:
        service.index.handle.close()
    return place


def server_of(index: str | None, target: Target) -> ServerAddress | None:
    """The server that is published to, if any."""
    from knowledge.engines.server.address import ServerAddress
    from publish.served import served_by

    return ServerAddress.parse(index) if index else served_by(target)


def publish_at(target: Target, place: ServerAddress, build: IndexBuild) -> Outcome:
    """Write what ``build`` makes to the server ``place``, and let the stack answer from it; raises as that does."""
    from publish.served import publish_served
    from publish.versions import Facts

    def made(server: ServerAddress) -> tuple[Facts, Mapping[str, Any]]:
        found = build(str(server))
        return Facts(found["version"], found["documents"], found["chunks"]), found

    return publish_served(_stack(target, place), place, made)


def go_back(target: Target, place: ServerAddress, version: str) -> Outcome:
    """Let the stack answer from ``version`` of the server ``place``. PublishFailed: it is not there."""
    from publish.served import back_to

    return back_to(_stack(target, place), version)


def _stack(target: Target, place: ServerAddress) -> ServedStack:
    from publish.served import ServedStack
    from rag.adapters.secrets import index_key

    settings = read_settings(index=str(place.pinned("")), profile=target.parameters["Profile"], making=True)
    return ServedStack(target, note, settings.collection, index_key(settings))
