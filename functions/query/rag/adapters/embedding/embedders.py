"""Which embedding model: the one behind an API that the settings name, and the one that an index was made with."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from knowledge.model.errors import IndexMismatch
from knowledge.open.source import folder_of, read_manifest
from rag.adapters import vendors
from rag.adapters.model_config import EmbedConfig, Patience
from rag.adapters.secrets import embedder_key
from rag.config.settings import Settings
from rag.ports.models import RemoteEmbedder
from rag.values.answer import Embedder

type Side = Literal["question", "document"]

OPENAI_URL = "https://api.openai.com/v1"

QUESTION_PATIENCE = Patience(connect_s=2.0, call_s=4.0, batch_s=5.0, retries=2, base_s=0.2, cap_s=1.0)
"""Somebody is waiting for the answer, and the LLM has its turn after this."""

INGEST_PATIENCE = Patience(connect_s=10.0, call_s=60.0, batch_s=600.0, retries=8, base_s=1.0, cap_s=60.0)
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
    return vendors.remote_embedder(
        EmbedConfig(
            base_url=settings.embed_base_url or settings.llm_base_url or OPENAI_URL,
            api_key=embedder_key(settings),
            model=settings.embed_model,
            dimensions=settings.embed_dimensions or None,
            shorten=settings.embed_dimensions > 0,
            prefix=PREFIXES.get(settings.embed_model.partition(":")[0], {}).get(side, ""),
            patience=QUESTION_PATIENCE if side == "question" else INGEST_PATIENCE,
        )
    )


def index_embedder(place: str | Path, *, local: Embedder, remote: RemoteEmbedder | None) -> Embedder:
    """The embedder to open the index at ``place`` with; calls nobody.

    A folder without our manifest is MiniLM's. ``remote`` takes the dimensions that the manifest records, so that
    opening an index needs no network.

    Raises:
        IndexMismatch: the index was made with another model; the message says what EMBED_MODEL must be.
        IndexMissing, IndexDamaged: see ``knowledge.open.source``.
    """
    manifest = read_manifest(folder_of(place))
    if manifest is None:
        return local
    chosen = local if remote is None else remote
    if manifest.model != chosen.model:
        wanted = "unset EMBED_MODEL" if manifest.model == local.model else f"set EMBED_MODEL={manifest.model}"
        raise IndexMismatch(
            f"The index was made with embedding model {manifest.model!r}, this program uses {chosen.model!r}:"
            f" {wanted}, or run: ragctl ingest PATH"
        )
    return local if remote is None else remote.sized(manifest.dimensions)
