"""Ingest again whenever a file changes, until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ragctl.console import note
from ragctl.failures import INTERRUPTED, describe

LOOK_MS = 500
"""How long one wait for changes lasts; the first is over before anything is read, so that nothing is missed since."""


def watch(paths: Sequence[Path], again: Callable[[], object], *, index: Path | None = None) -> None:
    """Call ``again`` now and after every change below ``paths``; what it fails with is said, and watching goes on.

    Changes of hidden files, which are not read, and below ``index``, which ``again`` writes, do not count.

    Raises:
        OSError: one of ``paths`` does not exist.
        CommandFailed: ``again`` was interrupted.
    """
    from watchfiles import watch as changes

    for path in paths:
        path.stat()
    places = [Path(os.path.realpath(path)) for path in paths]
    keep = of_documents(places, index)
    waits = changes(*places, watch_filter=keep, rust_timeout=LOOK_MS, yield_on_timeout=True, raise_interrupt=False)
    for number, changed in enumerate(waits):
        if number == 0:
            _once(again)
            note(f"Watching {', '.join(map(str, paths))}. Ctrl-C ends it")
        if changed:
            _once(again)


def of_documents(places: Sequence[Path], index: Path | None) -> Callable[[object, str], bool]:
    """Tells of a changed file's path whether it may be a document's; ``places`` are without links."""
    from knowledge.read.selection import IGNORE_NAME

    written = Path(os.path.realpath(index)) if index else None

    def keep(_: object, changed: str) -> bool:
        path = Path(changed)
        inside = next((path.relative_to(place) for place in places if path.is_relative_to(place)), path)
        hidden = any(part.startswith(".") and part != IGNORE_NAME for part in inside.parts)
        return not hidden and not (written and path.is_relative_to(written))

    return keep


def _once(again: Callable[[], object]) -> None:
    try:
        again()
    except Exception as exc:
        problem = describe(exc)
        if problem is None or problem.exit_status == INTERRUPTED:
            raise
        note(f"Error: {problem.sentence}")
