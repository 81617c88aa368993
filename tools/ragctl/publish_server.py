"""Publishing to Chroma's server, where the stack answers from one, or is to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragctl.console import note
from ragctl.options import read_settings

if TYPE_CHECKING:
    from knowledge.engines.server.address import ServerAddress
    from publish.publisher import Outcome
    from publish.served import ServedStack
    from publish.stack import Target
    from publish.versions import Facts
    from ragctl.publish_build import IndexBuild


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
