"""Opening an index wherever it is: in a folder, or on Chroma's server. Both answer to the same calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from knowledge.engines.server.address import is_server
from knowledge.open.index import Index, open_index

if TYPE_CHECKING:
    from knowledge.model.values import Embedder
    from knowledge.open.served import ServedIndex

type AnyIndex = Index | ServedIndex


def open_anywhere(
    uri: str,
    *,
    embedder: Embedder,
    collection: str,
    token: Callable[[], str] = str,
    apart: bool = False,
    warm: bool = True,
) -> AnyIndex:
    """Open the index at ``uri``; ``apart`` and ``warm`` are of one in a folder, ``token`` gives a server's key.

    Raises:
        IndexUnavailable: see ``knowledge.open.index.open_index`` and ``knowledge.open.served.open_served``.
    """
    if is_server(uri):
        from knowledge.open.served import open_served  # late: few have an index on a server

        return open_served(uri, embedder=embedder, collection=collection, token=token)
    return open_index(uri, embedder=embedder, collection=collection, apart=apart, warm=warm)
