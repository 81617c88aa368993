"""Publishing an index on Chroma's server: a version beside the one that answers, and the stack's parameter after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from knowledge.build.served.ingest import switch_to
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import Database
from knowledge.model.errors import IndexUnavailable
from publish.errors import PublishFailed, told_of_aws
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


def publish_served(
    target: Target,
    place: ServerAddress,
    build: BuildServed,
    tell: Tell,
    *,
    collection: str,
    token: Callable[[], str],
    waits: Waits | None = None,
) -> Outcome:
    """Write the documents to the server ``place``, and let the stack answer from that version.

    Raises:
        PublishFailed: nothing was published, or CloudFormation went back: the version before answers.
        Exception: what ``build`` raises; nothing was published then.
    """
    target.check_ready()
    if URI not in target.parameters:
        sentence = f"The stack {target.name} has no {URI} yet: deploy this version's template once (docs/publish.md)"
        raise PublishFailed(sentence, code="stack_too_old")
    facts, report = build(place.pinned(""))
    outcome = _switched(target, place.pinned(facts.version), facts, report, tell, waits or Waits())
    with closing(Connection(place, token)) as connection:
        try:
            switch_to(Database(connection, collection), facts.version)
        except IndexUnavailable as exc:
            tell(f"older versions could not be deleted: {exc}")
    return outcome


def back_to(
    target: Target,
    version: str,
    tell: Tell,
    *,
    collection: str,
    token: Callable[[], str],
    waits: Waits | None = None,
) -> Outcome:
    """Let the stack answer from ``version`` of the server that it answers from.

    Raises:
        PublishFailed: there is no such version there, or CloudFormation went back.
    """
    from knowledge.engines.server.facts import SHA256

    now = served_by(target)
    assert now is not None  # noqa: S101 - the caller asked
    place = now.pinned(version)
    with closing(Connection(place, token)) as connection:
        database = Database(connection, collection)
        try:
            whole = SHA256 in database.described(database.facts(version))
            chunks = database.count(database.chunks(version))
        except IndexUnavailable as exc:
            raise PublishFailed(f"{place}: {exc}", code=exc.code) from exc
    if not whole:
        raise PublishFailed(f"The version {version} is not whole", code="no_such_version")
    return _switched(target, place, Facts(version, 0, chunks), {}, tell, waits or Waits())


def _switched(
    target: Target, place: ServerAddress, facts: Facts, report: Mapping[str, Any], tell: Tell, waits: Waits
) -> Outcome:
    former = served_by(target)
    outcome = Outcome(target.name, str(place), former.version if former else "", facts, place != former, report)
    if not outcome.published:
        return outcome
    target.check_ready()
    tell("telling the stack")
    with told_of_aws():
        token = target.update(URI, str(place))
        target.wait(token, tell, waits.update)
        target.check_health(facts.version, waits.health)
    return outcome
