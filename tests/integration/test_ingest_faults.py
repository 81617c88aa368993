"""What may happen to an ingest: a kill, a call of the disk that fails, a power cut, others that write too.

Each leaves the old index or the new one whole, and the next ingest works.
"""

import builtins
import errno
import gc
import hashlib
import io
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fakes_embedding import HashingEmbedder
from faults.drawing import by_night, tenth, times
from faults.power import WAYS, Tree, Volume, put
from faults.tally import tally
from index_writers import documents, ingest_in_child, read_generation, write_generation, write_together

from knowledge.build import write
from knowledge.build.ingest import ingest
from knowledge.engines.collection import Collection
from knowledge.model.errors import IndexUnavailable, KnowledgeError
from knowledge.open.scratch import Scratch, sweep

pytestmark = pytest.mark.slow


# For each kill a child ingests and is killed with SIGKILL, either by itself at a chosen call (every call that touches
# the disk, and every embedding, is a candidate) or by its parent after a share of the time that an ingest takes.


POINTS, TIMED = by_night((8, 2), (100, 30))


def test_a_kill_at_any_moment_leaves_a_whole_index(tmp_path: Path) -> None:
    ingest_in_child(tmp_path, 1)  # the first one waits for the process that it is forked from
    started = time.perf_counter()
    total = ingest_in_child(tmp_path, 2)
    lasted_s = time.perf_counter() - started
    assert total > POINTS
    assert read_generation(tmp_path) == 2

    old, seen = 2, set()
    points = sorted({round(1 + n * (total - 1) / (POINTS - 1)) for n in range(POINTS)})
    plans: list[dict[str, Any]] = [{"kill_at": point} for point in points]
    plans += [{"kill_after_s": lasted_s * (n + 0.5) / TIMED} for n in range(TIMED)]
    for new, how in enumerate(plans, start=3):
        ingest_in_child(tmp_path, new, **how)
        now = read_generation(tmp_path)
        assert now in (old, new)
        seen.add(now == new)
        old = now

    assert False in seen
    assert len(points) == POINTS
    summary = ingest(documents(99), target=tmp_path, embedder=HashingEmbedder())
    assert read_generation(tmp_path) == 99
    assert summary.unchanged >= 36
    assert len(list(tmp_path.glob("data-*"))) <= 2
    assert not list(tmp_path.glob("index-*"))


def test_a_kill_during_the_first_ingest_leaves_no_index_and_the_next_one_makes_it(tmp_path: Path) -> None:
    total = ingest_in_child(tmp_path / "whole", 1)
    ingest_in_child(tmp_path / "killed", 1, kill_at=total // 2)
    assert not (tmp_path / "killed" / "manifest.json").exists()
    assert ingest_in_child(tmp_path / "killed", 1)
    assert read_generation(tmp_path / "killed") == 1


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
                write_generation(target, generation)
            except (OSError, KnowledgeError) as exc:
                return exc
        return None


def trouble_after_failure(disk: Disk, target: Path, generation: int, fail_at: int) -> str:
    """What is wrong when call ``fail_at`` of an ingest over the generation before fails; "" if nothing is."""
    try:
        error = disk.ingest(target, generation, fail_at=fail_at)
        now = read_generation(target)
        if now != generation and (error is None or now != generation - 1):
            return f"generation {now} after {error!r}"
        write_generation(target, generation + 1)
        return "" if read_generation(target) == generation + 1 else "the next ingest changed nothing"
    except Exception as exc:  # noqa: BLE001 - it is told with its case
        return f"{type(exc).__name__}: {exc}"


def test_every_call_fails_once(tmp_path: Path) -> None:
    disk = Disk()
    write_generation(tmp_path, 1)
    write_generation(tmp_path, 2)
    assert disk.ingest(tmp_path, 3) is None
    called = disk.called
    assert {name for _, name in TOUCHES} <= set(called)

    bad, last = [], 3
    cases = tenth(range(1, len(called) + 1))[:: by_night(2, 1)]
    for fail_at in cases:
        if wrong := trouble_after_failure(disk, tmp_path, last + 1, fail_at):
            bad.append((fail_at, disk.called[fail_at - 1 : fail_at], wrong))
            write_generation(tmp_path, last + 2)
        last += 2

    gc.collect()  # what an error's traceback holds is held: its folders are swept by the ingest after that
    write_generation(tmp_path, last + 1)
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


# The power fails. What was not synced is lost in part or whole (``faults.power``), names in folders too. Data folders
# and Chroma's have random names, so some of the draws differ from run to run.


NONE = 0
"""The generation of no index."""


class Cut(NamedTuple):
    """What a cut leaves of a folder, and which generations of the index in it are allowed then."""

    named: str
    tree: Tree
    allowed: frozenset[int]


class Killed(BaseException):
    """Ends a writer where SIGKILL would."""


def killed_before_the_last_sync(target: Path, generation: int) -> None:
    """Write a generation, and end before the folder that its manifest is in is synced."""

    def killed(folder: Path) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "flush_names", killed)
        with pytest.raises(Killed):
            write_generation(target, generation)


def cuts(root: Path) -> Iterator[Cut]:
    """Every cut of several ingests over each other, each tree once."""
    volume, seen, at = Volume(root), set(), 0
    target = root / "made" / "index"

    def new(named: str, during: set[int], after: int) -> Iterator[Cut]:
        nonlocal at
        last = len(volume.moments) - 1
        for place, moment in list(enumerate(volume.moments))[at:]:
            allowed = frozenset({after} if place == last else during)
            for way in WAYS:
                tree = moment.left(way)
                key = (allowed, hash(tuple(tree.items())))
                if key not in seen:
                    seen.add(key)
                    yield Cut(f"{named}: {place} before {moment.call}, {way}", tree, allowed)
        at = len(volume.moments)

    ours = [(Collection, "add"), (Collection, "close")]
    for generation in (1, 2):
        with volume.watched(*ours):
            write_generation(target, generation)
        yield from new(f"ingest {generation}", {generation - 1, generation}, generation)
    for killed, generation, during in ((3, 4, {2, 3, 4}), (5, 5, {4, 5})):
        with volume.watched(*ours):
            killed_before_the_last_sync(target, killed)
            at = len(volume.moments)
            volume.look("the kill")
            write_generation(target, generation)
        yield from new(f"ingest {generation} after {killed} was killed", during, generation)
    volume.close()


def generation_in(target: Path) -> int:
    """Of the index, which is whole; ``NONE`` where the service would say that there is none, and how one is made."""
    try:
        return read_generation(target)
    except IndexUnavailable as exc:
        if "Run: ragctl ingest PATH" not in str(exc):
            raise
        return NONE


def trouble_after_cut(cut: Cut, root: Path) -> str:
    """What is wrong after ``cut``; "" if nothing is."""
    root.mkdir()
    put(cut.tree, root)
    target, new = root / "made" / "index", max(cut.allowed) + 1
    try:
        if (now := generation_in(target)) not in cut.allowed:
            return f"generation {now} of {sorted(cut.allowed)}"
        write_generation(target, new)
        if (now := read_generation(target)) != new:
            return f"the next ingest left generation {now}"
        left = sorted(path.name for path in target.iterdir() if not path.name.startswith("data-"))
        folders = len([*target.glob("data-*")])
        return "" if left == [".lock", "manifest.json"] and folders <= 2 else f"{left} and {folders} folders are left"
    except Exception as exc:  # noqa: BLE001 - it is told with its case
        return f"{type(exc).__name__}: {exc}"
    finally:
        shutil.rmtree(root)


def test_the_power_fails_at_any_moment(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    cases = tenth(cuts(tmp_path / "live"))[:: by_night(2, 1)]
    bad = []
    for number, cut in enumerate(cases):
        if wrong := trouble_after_cut(cut, tmp_path / f"cut-{number}"):
            bad.append(f"{cut.named}: {wrong}")
    tally("cuts of the power", cases=len(cases), failures=len(bad))
    assert not bad


# Several processes write into one folder, and wait for each other before they begin.


WRITERS = by_night([(2, True), (4, False), (8, True)], [(n, there) for n in (2, 4, 8) for there in (False, True)])
"""How many begin at once, and whether the folder holds an index then or is not there yet."""


def trouble_after_writers(target: Path, generations: list[int], said: list[dict[str, Any]]) -> str:
    """What is wrong after writers of ``generations`` have said this; "" if nothing is."""
    if sorted(int(one["generation"]) for one in said) != sorted(generations):
        return "a writer said nothing"
    for one in said:
        told = f"Another process is writing the index in {str(target)!r}"
        if one["code"] and (one["code"] != "index_locked" or told not in one["message"]):
            return f"a writer failed: {one}"
    succeeded = {int(one["generation"]) for one in said if not one["code"]}
    try:
        if (now := read_generation(target)) not in succeeded:
            return f"the index is of generation {now}, those of {succeeded} succeeded"
        write_generation(target, 99)
        if read_generation(target) != 99 or len(list(target.glob("data-*"))) > 2 or list(target.glob("index-*")):
            return "the next ingest left another index, or files of others"
    except Exception as exc:  # noqa: BLE001 - it is told with its case
        return f"{type(exc).__name__}: {exc}"
    return ""


def test_writers_at_the_same_time_leave_one_whole_index(tmp_path: Path) -> None:
    bad, refused = [], 0
    plans = WRITERS * times(1)
    for number, (count, there) in enumerate(plans):
        target, generations = tmp_path / str(number), list(range(2, 2 + count))
        if there:
            write_generation(target, 1)
        said = write_together(target, generations)
        refused += any(one["code"] for one in said)
        if wrong := trouble_after_writers(target, generations, said):
            bad.append((count, there, wrong))

    tally("writers", cases=len(plans), failures=len(bad))
    assert not bad
    assert refused, "no two writers met"
