"""What an ingest says of documents in languages that the embedding model of the index was not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge.model.values import Document

SERVED = "English"
"""What the default embedding model, all-MiniLM-L6-v2, was trained on."""
MOST = 0.5
"""It is said where more than this share of the documents is in other languages."""
NAMED, LEAST = 3, 0.05
"""So many languages are named, of at least this share."""


def unserved(documents: Sequence[Document]) -> str:
    """A sentence on the languages of ``documents``, where most are not in ``SERVED``; else ``""``."""
    from knowledge.search.language import language_shares

    return sentence(language_shares([document.text for document in documents]))


def sentence(shares: Mapping[str, float]) -> str:
    """See ``unserved``; ``shares`` are those of the documents by language."""
    others = {name: share for name, share in shares.items() if name != SERVED}
    if sum(others.values()) <= MOST:
        return ""
    ranked = [name for name in sorted(others, key=lambda name: -others[name]) if others[name] >= LEAST][:NAMED]
    named = ", ".join(f"{name} ({others[name]:.0%})" for name in ranked) or f"languages other than {SERVED}"
    return (
        f"most of these documents are in {named}: the default embedder, all-MiniLM-L6-v2, knows {SERVED} alone, so they"
        " are found by their words more than by meaning; another embedder is set by EMBED_MODEL and EMBED_BASE_URL"
    )
