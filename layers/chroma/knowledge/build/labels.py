"""What the owner's labelled questions gave an index: a part of its calibration, and of its version. Pure.

    {"bar"?: score, "slope"?: number >= 0, "shift"?: number, "questions": count, "content": version, "older": bool}

``bar`` takes the place of the measured one, ``slope`` and ``shift`` change the log odds of a confidence
(``knowledge.search.signals``). ``content`` is the version that the index has without labels. ``older`` says that they
were given to another content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from knowledge.model.manifest import Manifest

LABELS = "labels"


def labels_of(manifest: Manifest) -> Mapping[str, object] | None:
    """What labels gave the index of ``manifest``, None where nobody gave any."""
    found = (manifest.calibration or {}).get(LABELS)
    return found if isinstance(found, dict) else None


def labels_older(manifest: Manifest) -> bool:
    """Whether what labels gave this index is from another content."""
    return bool((labels_of(manifest) or {}).get("older"))


def labelled(manifest: Manifest, labels: Mapping[str, object] | None) -> Manifest:
    """The manifest with ``labels`` (all keys but ``content``), or without any; of a version of its own.

    The version is what cached answers depend on.
    """
    before = labels_of(manifest)
    content = str(before["content"]) if before and "content" in before else manifest.version
    bare = {key: value for key, value in (manifest.calibration or {}).items() if key != LABELS}
    if labels is None:
        return replace(manifest, version=content, calibration=bare)
    full = {**labels, "content": content}
    digest = hashlib.sha256(json.dumps(full, sort_keys=True).encode()).hexdigest()
    return replace(manifest, version=digest[: len(content)], calibration={**bare, LABELS: full})


def carried(now: Manifest, before: Manifest | None) -> Manifest:
    """The manifest of new content with the labels of the one ``before``, if both have a bar."""
    labels = labels_of(before) if before and now.calibration is not None else None
    return labelled(now, {**labels, "older": True}) if labels else now
