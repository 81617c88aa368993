"""An index as the zip of a layer: the same folder gives the same bytes, the same documents the same key."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from knowledge.model.errors import IndexMissing
from knowledge.model.manifest import MANIFEST_NAME, Manifest, dumps
from knowledge.open.source import CHROMA_FOLDER, read_manifest, verify

WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a zip can hold."""
KEY_DIGITS = 16


def content_key(manifest: Manifest) -> str:
    """A hash of all that answers depend on: equal for equal documents, tables and titles, whenever they were ingested.

    Chroma's own files are left out: it draws ids and the levels of its graph at random. What is in them is in the
    vectors and texts beside them.
    """
    files = {name: record for name, record in manifest.files.items() if not name.startswith(f"{CHROMA_FOLDER}/")}
    made = replace(manifest.made, paths=(), options={})
    same = replace(manifest, built_at="", data="", files=files, made=made)
    return sha256(dumps(same).encode()).hexdigest()[:KEY_DIGITS]


def pack_index(index: Path, target: Path) -> str:
    """Write the current state of ``index`` to the zip ``target``, below ``index/``; its content key.

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
    return content_key(manifest)
