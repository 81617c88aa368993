"""What SEED_RULES=on is not: where a profile differs from its seed all the same, in words, said at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge.model.errors import IndexUnavailable
from knowledge.model.manifest import SEED_RECIPE, Manifest
from rag.profiles.shared.evidence import Seed

if TYPE_CHECKING:
    from rag.wiring.live_index import LiveIndex

NOT_CUT = (
    "the index is cut at headings, blocks and sentences, not in runs of 1,600 characters with 200 repeated "
    "(ragctl ingest --cut seed)"
)


def seed_note(profile: str, seed: Seed, manifest: Manifest | None) -> str:
    """In what ``profile`` under SEED_RULES=on, over an index with this ``manifest``, is its ``seed``, and in what not.

    ``seed`` says how documents are cut, or does not matter there.
    """
    cut = not seed.cuts or (manifest is not None and manifest.recipe == SEED_RECIPE)
    notes = (*(() if cut else (NOT_CUT,)), *seed.left_out)
    but = f", but for this: {'; '.join(notes)}" if notes else ""
    return f"SEED_RULES=on: {profile} searches, judges and scores by its seed's numbers{but}"


def seed_note_of(profile: str, seed: Seed, index: LiveIndex) -> str:
    """``seed_note`` for the manifest of the current index, or for none where there is no usable index."""
    try:
        with index.lease() as current:
            return seed_note(profile, seed, current.manifest)
    except IndexUnavailable:
        return seed_note(profile, seed, None)
