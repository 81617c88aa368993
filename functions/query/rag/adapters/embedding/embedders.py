"""Which embedding model: the one behind an API that the settings name, and the one that an index was made with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from knowledge.engines.server.address import is_server
from knowledge.model.errors import IndexMismatch
from knowledge.model.values import Embedder
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.place import folder_of, read_manifest
from rag.adapters import vendors
from rag.adapters.model_config import CallLimits, EmbedConfig
from rag.adapters.secrets import embedder_key
from rag.config.settings import Settings
from rag.ports.models import RemoteEmbedder

type Side = Literal["question", "document"]

OPENAI_URL = "https://api.openai.com/v1"

QUESTION_LIMITS = CallLimits(connect_s=2.0, call_s=4.0, batch_s=5.0, retries=2, base_s=0.2, cap_s=1.0)
"""Somebody is waiting for the answer, and the LLM has its turn after this."""

INGEST_LIMITS = CallLimits(connect_s=10.0, call_s=60.0, batch_s=600.0, retries=8, base_s=1.0, cap_s=60.0)
"""Limits per minute pass; giving up costs a person's attention."""


PREFIXES: dict[str, dict[Side, str]] = {
    "nomic-embed-text": {"question": "search_query: ", "document": "search_document: "},
}
"""What a family of models (the name up to a ":") was trained to see before a text; its servers do not add it."""


def remote_embedder(settings: Settings, *, side: Side) -> RemoteEmbedder | None:
    """The embedder behind an API that ``settings`` name; None when EMBED_MODEL is empty. Calls nobody.

    An embedder for questions gives up after seconds, one for documents after minutes.
    """
    if not settings.embed_model:
        return None
    return vendors.build_remote_embedder(
        EmbedConfig(
            base_url=settings.embed_base_url or settings.llm_base_url or OPENAI_URL,
            api_key=embedder_key(settings),
            model=settings.embed_model,
            dimensions=settings.embed_dimensions or None,
            shorten=settings.embed_dimensions > 0,
            prefix=PREFIXES.get(settings.embed_model.partition(":")[0], {}).get(side, ""),
            limits=QUESTION_LIMITS if side == "question" else INGEST_LIMITS,
        )
    )


def index_embedder(
    place: str | Path,
    *,
    local: Embedder,
    remote: RemoteEmbedder | None,
    collection: str = DEFAULT_COLLECTION,
    token: Callable[[], str] = str,
) -> Embedder:
    """The embedder to open the index at ``place`` with; of one on a server its ``collection`` and the key are needed.

    A folder without our manifest is MiniLM's. ``remote`` takes the dimensions that the index records, so that opening
    one in a folder needs no network.

    Raises:
        IndexMismatch: the index was made with another model; the message says what EMBED_MODEL must be.
        IndexMissing, IndexDamaged, IndexUnreachable: see ``knowledge.open``.
    """
    made_with = _made_with(place, collection, token)
    if made_with is None:
        return local
    model, dimensions = made_with
    chosen = local if remote is None else remote
    if model != chosen.model:
        wanted = "unset EMBED_MODEL" if model == local.model else f"set EMBED_MODEL={model}"
        raise IndexMismatch(
            f"The index was made with embedding model {model!r}, this program uses {chosen.model!r}:"
            f" {wanted}, or run: ragctl ingest PATH"
        )
    return local if remote is None else remote.sized(dimensions)


def _made_with(place: str | Path, collection: str, token: Callable[[], str]) -> tuple[str, int] | None:
    if is_server(place):
        from knowledge.open.server_index import server_model  # late: few have an index on a server

        return server_model(str(place), collection=collection, token=token)
    manifest = read_manifest(folder_of(place))
    return (manifest.model, manifest.dimensions) if manifest else None
