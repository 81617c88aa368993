"""A manifest as somebody may have made it: with the right checksum, whatever it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from knowledge.model.manifest import MANIFEST_NAME
from knowledge.model.strict import checksum


def read_body(folder: Path) -> dict[str, Any]:
    """What the manifest in ``folder`` says."""
    body: dict[str, Any] = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    return body


def signed(body: dict[str, Any]) -> str:
    """``body`` as a manifest's text, with the checksum that belongs to it."""
    bare = {key: value for key, value in body.items() if key != "checksum"}
    return json.dumps({**bare, "checksum": checksum(bare)})


def write_body(folder: Path, body: dict[str, Any]) -> None:
    """Put ``body`` into the manifest in ``folder``, with its checksum."""
    (folder / MANIFEST_NAME).write_text(signed(body), encoding="utf-8")
