"""Takes out of a layer what prune.toml lists, and puts its stubs in."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

LIST = Path(__file__).with_name("prune.toml")

_LEGAL = re.compile(r"licen|copying|notice", re.IGNORECASE)
"""Names of the texts that have to go with the code (Apache 2.0, section 4d: the NOTICE too)."""


class PruneError(Exception):
    """An entry of the list does not fit the layer any more."""


def prune(root: Path, rules: Path = LIST) -> int:
    """Apply ``rules`` below ``root``; the number of bytes that are gone.

    Raises:
        PruneError: a pattern matches nothing, a stub's place is taken, or an entry gives no reason.
    """
    listed = tomllib.loads(rules.read_text(encoding="utf-8"))
    before = tree_bytes(root)
    for entry in (*listed["remove"], *listed["stub"]):
        if not entry.get("why", "").strip():
            raise PruneError(f"No reason is given for {entry.get('paths', entry.get('path'))!r}")
    for entry in listed["remove"]:
        for pattern in entry["paths"]:
            matches = sorted(root.glob(pattern))
            if not matches:
                raise PruneError(f"{pattern!r} in {rules.name} matches nothing: take it off the list")
            for path in matches:
                _remove(path)
    for entry in listed["stub"]:
        target = root / entry["path"]
        if target.parent.exists():
            raise PruneError(f"What the stub {entry['path']!r} stands in for is still there: take it out first")
        target.parent.mkdir(parents=True)
        target.write_text(entry["text"].lstrip(), encoding="utf-8")
    _drop_orphaned_metadata(root)
    return before - tree_bytes(root)


def tree_bytes(root: Path) -> int:
    """The sum of the file sizes below ``root``, as Lambda counts them; links are followed."""
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _drop_orphaned_metadata(root: Path) -> None:
    """Keep a distribution's metadata (versions and entry points are read from it) and licence, not its papers."""
    for info in root.glob("*.dist-info"):
        for path in info.rglob("*"):
            if path.is_file() and path.name not in {"METADATA", "entry_points.txt"} and not _LEGAL.search(path.name):
                path.unlink()
