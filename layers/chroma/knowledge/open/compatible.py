"""Whether an index is one that this program can search with this embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge.model.errors import IndexMismatch
from knowledge.model.manifest import SPACE

if TYPE_CHECKING:
    from knowledge.model.manifest import Manifest
    from knowledge.model.values import Embedder


def check_manifest(manifest: Manifest, embedder: Embedder, collection: str) -> None:
    """Raise IndexMismatch where it is of another model, space or collection; the message names both sides."""
    for what, theirs, ours in (
        ("embedding model", manifest.model, embedder.model),
        ("dimensions", manifest.dimensions, embedder.dimensions),
        ("space", manifest.space, SPACE),
        ("collection", manifest.collection, collection),
    ):
        if theirs != ours:
            raise IndexMismatch(
                f"The index was made with {what} {theirs!r}, this program uses {ours!r}. Run: ragctl ingest PATH"
            )
