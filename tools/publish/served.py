"""Publishing an index on Chroma's server: a version beside the one that answers, and the stack's parameter after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from knowledge.build.served.ingest import switch_to
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import Database
from knowledge.model.errors import IndexUnavailable
from publish.errors import PublishFailed, aws_errors
from publish.publisher import Outcome, Waits
from publish.stack import Target, Tell
from publish.versions import Facts

URI = "IndexUri"

type BuildServed = Callable[[ServerAddress], tuple[Facts, Mapping[str, Any]]]
"""Writes a version beside the current one and examines it; what is known of it, and what the ingest did."""


def served_by(target: Target) -> ServerAddress | None:
    """The server that the stack answers from, at its version; None for an index in a layer or file system."""
    uri = target.parameters.get(URI, "")
    return ServerAddress.parse(uri) if uri else None


@dataclass(frozen=True, slots=True)
class ServedStack:
    """A stack, the ``collection`` that it answers from, and who is told what is done; ``token`` is the server's key."""

    target: Target
    tell: Tell
    collection: str
    token: Callable[[], str]
    waits: Waits | None = None


def publish_served(stack: ServedStack, place: ServerAddress, build: BuildServed) -> Outcome:
    """Write the documents to the server ``place``, and let the stack answer from that version.

    Raises:
        PublishFailed: nothing was published, or CloudFormation went back: the version before answers.
        Exception: what ``build`` raises; nothing was published then.
    """
    target = stack.target
    target.check_ready()
    if URI not in target.parameters:
        sentence = f"The stack {target.name} has no {URI} yet: deploy this version's template once (docs/publish.md)"
        raise PublishFailed(sentence, code="stack_too_old")
    facts, report = build(place.pinned(""))
    outcome = _switched(stack, place.pinned(facts.version), facts, report)
    with closing(Connection(place, stack.token)) as connection:
        try:
            switch_to(Database(connection, stack.collection), facts.version)
        except IndexUnavailable as exc:
            stack.tell(f"older versions could not be deleted: {exc}")
    return outcome


def back_to(stack: ServedStack, version: str) -> Outcome:
    """Let the stack answer from ``version`` of the server that it answers from.

    Raises:
        PublishFailed: there is no such version there, or CloudFormation went back.
    """
    from knowledge.engines.server.facts import SHA256

    now = served_by(stack.target)
    assert now is not None  # noqa: S101 - the caller asked
    place = now.pinned(version)
    with closing(Connection(place, stack.token)) as connection:
        database = Database(connection, stack.collection)
        try:
            whole = SHA256 in database.described(database.facts(version))
            chunks = database.count(database.chunks(version))
        except IndexUnavailable as exc:
            raise PublishFailed(f"{place}: {exc}", code=exc.code) from exc
    if not whole:
        raise PublishFailed(f"The version {version} is not whole", code="no_such_version")
    return _switched(stack, place, Facts(version, 0, chunks), {})


def _switched(stack: ServedStack, place: ServerAddress, facts: Facts, report: Mapping[str, Any]) -> Outcome:
    target = stack.target
    former = served_by(target)
    outcome = Outcome(target.name, str(place), former.version if former else "", facts, place != former, report)
    if not outcome.published:
        return outcome
    target.check_ready()
    stack.tell("telling the stack")
    waits = stack.waits or Waits()
    with aws_errors():
        token = target.update(URI, str(place))
        target.wait(token, stack.tell, waits.update)
        target.check_health(facts.version, waits.health)
    return outcome
