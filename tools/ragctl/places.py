"""Where an index is: in a folder, or on Chroma's server; and what makes one there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.failures import CommandFailed

if TYPE_CHECKING:
    from knowledge.build.summary import Summary
    from rag.config.settings import Settings

NAME_CHARS = 12


def work_folder(settings: Settings) -> Path:
    """The index's own folder; of one on a server a folder here, for fetched pages and the progress of an ingest."""
    from knowledge.engines.server.address import ServerAddress, is_server
    from knowledge.open.place import folder_of

    if not is_server(settings.index_place):
        return folder_of(settings.index_place)
    place = f"{ServerAddress.parse(settings.index_place).pinned('')} {settings.collection}"
    return Path(".index") / f"server-{hashlib.sha256(place.encode()).hexdigest()[:NAME_CHARS]}"


def own_folder(settings: Settings, *, instead: str) -> Path:
    """The folder of an index in a folder, for what is not done to one on a server.

    Raises:
        CommandFailed: it is on a server; the message says what to do ``instead``.
    """
    from knowledge.engines.server.address import is_server
    from knowledge.open.place import folder_of

    if is_server(settings.index_place):
        sentence = f"This needs an index in a folder, and {settings.index_place} is on Chroma's server. {instead}"
        raise CommandFailed(sentence, code="index_on_server")
    return folder_of(settings.index_place)


def builder(settings: Settings, *, switch: bool) -> Callable[..., Summary]:
    """What makes the index of ``settings`` mirror documents: see ``knowledge.build``."""
    from knowledge.engines.server.address import is_server

    target = work_folder(settings)
    if is_server(settings.index_place):
        from knowledge.build.served.ingest import ingest_served
        from rag.adapters.secrets import index_key

        token = index_key(settings)
        return partial(ingest_served, uri=settings.index_place, work=target, token=token, switch=switch)
    from knowledge.build.ingest import ingest

    return partial(ingest, target=target)
