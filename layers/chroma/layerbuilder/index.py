"""The index layer: one index alone, checked before it is shipped."""

from __future__ import annotations

import shutil
from pathlib import Path

from knowledge.errors import IndexMismatch
from knowledge.manifest import MANIFEST_NAME
from knowledge.source import read_manifest, verify


def build(out: Path, *, index: Path) -> None:
    """Copy the current state of ``index`` to ``out``/index: no lock, no earlier state.

    Raises:
        IndexUnavailable: there is no index, or it is damaged.
    """
    manifest = read_manifest(index)
    if manifest is None:
        raise IndexMismatch(f"{str(index)!r} has no {MANIFEST_NAME}: only an index made by `ragctl ingest` is deployed")
    verify(index / manifest.data, manifest.files)
    target = out / "index"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(index / manifest.data, target / manifest.data)
    shutil.copy(index / MANIFEST_NAME, target / MANIFEST_NAME)
