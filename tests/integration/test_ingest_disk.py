"""A read or a write that fails once leaves an index that opens and answers, and the next ingest works."""

import builtins
import errno
import gc
import hashlib
import io
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes_embedding import HashingEmbedder
from faults.drawing import tenth
from faults.tally import tally
from integration.test_ingest_kill import answers, documents

from knowledge.build.ingest import ingest
from knowledge.engines.embedded.collection import Collection
from knowledge.model.errors import KnowledgeError
from knowledge.open.scratch import Scratch, sweep

pytestmark = pytest.mark.slow

TOUCHES: list[tuple[Any, str]] = [
    (builtins, "open"), (io, "open"), (hashlib, "file_digest"), (sqlite3, "connect"),
    *((os, name) for name in ("open", "fsync", "replace", "mkdir", "stat", "scandir", "symlink", "unlink", "rmdir")),
    *((Collection, name) for name in ("add", "scan", "count", "close")),
]  # fmt: skip
"""What touches the disk during an ingest. Chroma's own calls are not Python's: its methods stand for them."""


class Disk:
    """Counts the calls that touch the disk, and lets the one numbered ``fail_at`` (from 1; 0: none) fail."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.fail_at = 0

    def wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.called.append(name)
            if len(self.called) == self.fail_at:
                raise OSError(errno.EIO, os.strerror(errno.EIO), name)
            return function(*args, **options)

        return call

    def ingest(self, target: Path, generation: int, *, fail_at: int = 0) -> Exception | None:
        """Ingest on this disk; returns the error that the ingest raised of itself."""
        self.called, self.fail_at = [], fail_at
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in TOUCHES:
                patch.setattr(owner, name, self.wrapped(getattr(owner, name), name))
            try:
                ingest(documents(generation), target=target, embedder=HashingEmbedder())
            except (OSError, KnowledgeError) as exc:
                return exc
        return None


def trouble(disk: Disk, target: Path, generation: int, fail_at: int) -> str:
    """What is wrong when call ``fail_at`` of an ingest over the generation before fails; "" if nothing is."""
    try:
        error = disk.ingest(target, generation, fail_at=fail_at)
        now = answers(target)
        if now != generation and (error is None or now != generation - 1):
            return f"generation {now} after {error!r}"
        ingest(documents(generation + 1), target=target, embedder=HashingEmbedder())
        return "" if answers(target) == generation + 1 else "the next ingest changed nothing"
    except Exception as exc:  # noqa: BLE001 - it is told with its case
        return f"{type(exc).__name__}: {exc}"


def test_every_call_fails_once(tmp_path: Path) -> None:
    disk = Disk()
    ingest(documents(1), target=tmp_path, embedder=HashingEmbedder())
    ingest(documents(2), target=tmp_path, embedder=HashingEmbedder())
    assert disk.ingest(tmp_path, 3) is None
    called = disk.called
    assert {name for _, name in TOUCHES} <= set(called)

    bad, last = [], 3
    cases = tenth(range(1, len(called) + 1))
    for fail_at in cases:
        if wrong := trouble(disk, tmp_path, last + 1, fail_at):
            bad.append((fail_at, disk.called[fail_at - 1 : fail_at], wrong))
            ingest(documents(last + 2), target=tmp_path, embedder=HashingEmbedder())
        last += 2

    gc.collect()  # what an error's traceback holds is held: its folders are swept by the ingest after that
    ingest(documents(last + 1), target=tmp_path, embedder=HashingEmbedder())
    tally("failing reads and writes", cases=len(cases), failures=len(bad))
    assert not bad
    assert len(list(tmp_path.glob("data-*"))) <= 2
    assert not list(tmp_path.glob("index-*"))


def test_a_private_folder_that_could_not_be_looked_at_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "is_dir", fail)
        with pytest.raises(OSError, match="Input/output"):
            Scratch(tmp_path)

    sweep(tmp_path)

    assert not list(tmp_path.iterdir())
