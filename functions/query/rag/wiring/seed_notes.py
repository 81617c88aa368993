"""What SEED_RULES=on is not: where a profile differs from its seed all the same, in words, said at the start."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge.open.manifest import SEED_RECIPE, Manifest
from rag.config.settings import ProfileName

NOT_CUT = (
    "the index is cut at headings, blocks and sentences, not in runs of 1,600 characters with 200 repeated "
    "(ragctl ingest --cut seed)"
)
LEFT_OUT: Mapping[ProfileName, tuple[str, ...]] = {
    "waypoint": (),
    "gacounts": ("questions and documents are embedded by the index's model, not by text-embedding-3-large",),
    "clockify": (
        "questions and documents are embedded by the index's model, not by nomic-embed-text",
        "BM25 counts 30 % for every question: the seed names an intent-aware weight and does not say how it is chosen",
        "the weights of the confidence's four parts are ours: the seed names the parts alone",
    ),
}


def seed_note(profile: ProfileName, manifest: Manifest | None) -> str:
    """In what ``profile`` under SEED_RULES=on, over an index with this ``manifest``, is its seed, and in what not.

    Only Clockify's seed says how documents are cut.
    """
    cut = profile != "clockify" or (manifest is not None and manifest.recipe == SEED_RECIPE)
    notes = (*(() if cut else (NOT_CUT,)), *LEFT_OUT[profile])
    but = f", but for this: {'; '.join(notes)}" if notes else ""
    return f"SEED_RULES=on: {profile} searches, judges and scores by its seed's numbers{but}"
