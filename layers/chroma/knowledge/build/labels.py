"""The calibration from the owner's labelled questions: a part of an index's calibration, and of its version.

    {"bar"?: score, "slope"?: number >= 0, "shift"?: number, "questions": count, "content": version, "older": bool}

``bar`` takes the place of the measured one, ``slope`` and ``shift`` change the log odds of a confidence
(``knowledge.search.signals``). ``content`` is the version of the index without labels. ``older`` says that the labels
were given to another content. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from knowledge.model.manifest import Manifest

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
