"""How questions about nothing fare in an open index, and what its owner's labels gave, put into its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.build import calibrate
from knowledge.build.labels import labelled
from knowledge.build.lock import locked
from knowledge.build.write import switch
from knowledge.model.errors import IndexLocked, IndexMismatch, IndexMissing
from knowledge.model.values import View
from knowledge.open.source import read_manifest

if TYPE_CHECKING:
    from knowledge.model.manifest import Manifest
    from knowledge.open.anywhere import AnyIndex


def background_scores(index: AnyIndex) -> list[float]:
    """The joined score of each background question in ``index`` now.

    Raises:
        IndexMismatch: it has no bar of its own.
    """
    if not index.late or index.manifest is None or index.manifest.calibration is None:
        raise IndexMismatch(
            "The index has no bar of its own: it was made elsewhere, or with a remote embedding model. "
            "Run: ragctl ingest PATH"
        )
    looks = [index.search([View(text)], k=1).evidence for text in calibrate.background()]
    return [evidence.score for evidence in looks if evidence is not None]


def recalibrate(target: Path, labels: Mapping[str, object] | None, *, version: str) -> Manifest:
    """Give the index in the folder ``target`` these ``labels`` (``knowledge.build.labels``), or none; its manifest.

    ``version`` is that of the index that they were measured on. What has them already is not touched.

    Raises:
        IndexMissing: there is none.
        IndexLocked: another process is writing it, or has replaced it since.
    """
    with locked(target):
        manifest = read_manifest(target)
        if manifest is None:
            raise IndexMissing(f"No index is loaded. Run: ragctl ingest PATH (looked in {str(target)!r})")
        if manifest.version != version:
            raise IndexLocked(f"The index in {str(target)!r} was replaced while it was measured: calibrate it again")
        now = labelled(manifest, labels)
        if now != manifest:
            switch(target, now)
        return now
