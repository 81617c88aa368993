"""The calibration from the owner's labelled questions: a part of an index's calibration, and of its version.

    {"bar"?: score, "slope"?: number >= 0, "shift"?: number, "questions": count, "content": version, "older": bool}

``bar`` takes the place of the measured one, ``slope`` and ``shift`` change the log odds of a confidence
(``knowledge.search.signals``). ``content`` is the version of the index without labels. ``older`` says that the labels
were given to another content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from knowledge.build.durable import switch_manifest, writer_lock
from knowledge.model.errors import IndexLocked, IndexMissing
from knowledge.model.manifest import Manifest
from knowledge.open.place import read_manifest

LABELS = "labels"


def labels_of(manifest: Manifest) -> Mapping[str, object] | None:
    """Return the labels of an index, None where it has none."""
    found = (manifest.calibration or {}).get(LABELS)
    return found if isinstance(found, dict) else None


def labels_older(manifest: Manifest) -> bool:
    """Return whether the labels of this index were given to another content."""
    return bool((labels_of(manifest) or {}).get("older"))


def with_labels(manifest: Manifest, labels: Mapping[str, object] | None) -> Manifest:
    """Return the manifest with ``labels`` (all keys but ``content``), or with none, and with its own version.

    Cached answers depend on the version.
    """
    before = labels_of(manifest)
    content = str(before["content"]) if before and "content" in before else manifest.version
    bare = {key: value for key, value in (manifest.calibration or {}).items() if key != LABELS}
    if labels is None:
        return replace(manifest, version=content, calibration=bare)
    full = {**labels, "content": content}
    digest = hashlib.sha256(json.dumps(full, sort_keys=True).encode()).hexdigest()
    return replace(manifest, version=digest[: len(content)], calibration={**bare, LABELS: full})


def carry_labels(now: Manifest, before: Manifest | None) -> Manifest:
    """Return the manifest of new content with the labels of the one ``before``, if both have a bar."""
    labels = labels_of(before) if before and now.calibration is not None else None
    return with_labels(now, {**labels, "older": True}) if labels else now


def write_labels(target: Path, labels: Mapping[str, object] | None, *, version: str) -> Manifest:
    """Give the index in the folder ``target`` these ``labels``, or none, and return its manifest.

    ``version`` is that of the index that they were measured on. An index that has them already is not touched.

    Raises:
        IndexMissing: there is none.
        IndexLocked: another process is writing it, or has replaced it since.
    """
    with writer_lock(target):
        manifest = read_manifest(target)
        if manifest is None:
            raise IndexMissing(f"No index is loaded. Run: ragctl ingest PATH (looked in {str(target)!r})")
        if manifest.version != version:
            raise IndexLocked(f"The index in {str(target)!r} was replaced while it was measured: calibrate it again")
        now = with_labels(manifest, labels)
        if now != manifest:
            switch_manifest(target, now)
        return now
