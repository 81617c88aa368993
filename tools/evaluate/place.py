"""Where the results of a run are kept: a file for each index, profile, program and setting that an answer rests on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.config.settings import Settings
    from rag.wiring.application import Application

FOLDER = Path(".index/evaluations")
DIGEST_CHARS = 16
FORMAT = 1
"""Of the lines in the file: ``evaluate.run.Told``."""
_NO_MATTER = {
    "index_uri",
    "store_path",
    "store_wait_s",
    "table_name",
    "table_endpoint",
    "prompts_dir",
}


def place_of(service: Application, folder: Path = FOLDER) -> Path:
    """The file of ``service``'s results. Labels are not part of its name: after a correction nobody is asked again."""
    from rag.config.settings import load
    from rag.profiles import PROFILES
    from rag.wiring.tables import Tables

    settings = service.settings
    with service.index.lease() as index:
        manifest = index.manifest
        held = {"version": index.version, "calibration": dict(manifest.calibration or {}) if manifest else None}
    scope = {
        "format": FORMAT,
        "index": held,
        "profile": settings.profile,
        "settings": settings.model_dump(mode="json", exclude=_NO_MATTER),  # its secrets are masked
        "knobs": load(PROFILES[settings.profile].knobs).model_dump(mode="json"),
        "prompts": _digest_of_files(_prompts(settings)),
        "tables": Tables(settings, service.index).digest(),
        "program": _program(),
    }
    digest = hashlib.sha256(json.dumps(scope, sort_keys=True).encode()).hexdigest()
    return folder / f"{settings.profile}-{digest[:DIGEST_CHARS]}.jsonl"


def _prompts(settings: Settings) -> list[Path]:
    """The profile's own, and those that profiles share."""
    folders = dict.fromkeys(settings.prompt_path(name).parent for name in ("system.txt", "judge.txt"))
    return [path for folder in folders for path in sorted(folder.glob("*"))]


def _program() -> str:
    """The code that answers: another version of it is asked anew."""
    import knowledge
    import rag

    roots = [Path(str(package.__file__)).parent for package in (knowledge, rag)]
    return _digest_of_files([path for root in roots for path in sorted(root.rglob("*.py"))])


def _digest_of_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
