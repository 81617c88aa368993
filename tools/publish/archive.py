"""An index as the zip of a layer: the same index gives the same bytes."""

from __future__ import annotations

import zipfile
from pathlib import Path

from knowledge.model.errors import IndexMissing
from knowledge.model.manifest import MANIFEST_NAME
from knowledge.open.source import read_manifest, verify

WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a zip can hold."""


def pack_index(index: Path, target: Path) -> str:
    """Write the current state of ``index`` to the zip ``target``, below ``index/``; its content version.

    Raises:
        IndexUnavailable: there is no index, or it is damaged.
    """
    manifest = read_manifest(index)
    if manifest is None:
        raise IndexMissing(f"There is no index {index}")
    data = index / manifest.data
    verify(data, manifest.files)
    files = [index / MANIFEST_NAME, *(data / name for name in sorted(manifest.files))]
    with zipfile.ZipFile(target, "w") as packed:
        for file in files:
            entry = zipfile.ZipInfo(f"index/{file.relative_to(index).as_posix()}", WHEN)
            entry.external_attr = 0o100644 << 16
            packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 6)
    return manifest.version
