"""A power cut at any moment of an ingest leaves the old index or the new one whole, and after it the new one.

What was not synced is lost in part or whole (``faults.power``), names in folders too. Data folders and Chroma's have
random names, so some of the draws differ from run to run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from fakes_embedding import HashingEmbedder
from faults.drawing import tenth
from faults.power import WAYS, Tree, Volume, put
from faults.tally import tally
from integration.test_ingest_kill import answers, documents

from knowledge.build import write
from knowledge.build.ingest import ingest
from knowledge.engines.embedded.collection import Collection
from knowledge.model.errors import IndexUnavailable

pytestmark = pytest.mark.slow

NONE = 0
"""The generation of no index."""


class Cut(NamedTuple):
    """What a cut leaves of a folder, and which generations of the index in it are allowed then."""

    named: str
    tree: Tree
    allowed: frozenset[int]


class Killed(BaseException):
    """Ends a writer where SIGKILL would."""


def written(target: Path, generation: int) -> None:
    ingest(documents(generation), target=target, embedder=HashingEmbedder())


def killed_before_the_last_sync(target: Path, generation: int) -> None:
    """Write a generation, and end before the folder that its manifest is in is synced."""

    def killed(folder: Path) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "flush_names", killed)
        with pytest.raises(Killed):
            written(target, generation)


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
            written(target, generation)
        yield from new(f"ingest {generation}", {generation - 1, generation}, generation)
    for killed, generation, during in ((3, 4, {2, 3, 4}), (5, 5, {4, 5})):
        with volume.watched(*ours):
            killed_before_the_last_sync(target, killed)
            at = len(volume.moments)
            volume.look("the kill")
            written(target, generation)
        yield from new(f"ingest {generation} after {killed} was killed", during, generation)
    volume.close()


def generation_in(target: Path) -> int:
    """Of the index, which is whole; ``NONE`` where the service would say that there is none, and how one is made."""
    try:
        return answers(target)
    except IndexUnavailable as exc:
        if "Run: ragctl ingest PATH" not in str(exc):
            raise
        return NONE


def trouble(cut: Cut, root: Path) -> str:
    """What is wrong after ``cut``; "" if nothing is."""
    root.mkdir()
    put(cut.tree, root)
    target, new = root / "made" / "index", max(cut.allowed) + 1
    try:
        if (now := generation_in(target)) not in cut.allowed:
            return f"generation {now} of {sorted(cut.allowed)}"
        written(target, new)
        if (now := answers(target)) != new:
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
    cases = tenth(cuts(tmp_path / "live"))
    bad = []
    for number, cut in enumerate(cases):
        if wrong := trouble(cut, tmp_path / f"cut-{number}"):
            bad.append(f"{cut.named}: {wrong}")
    tally("cuts of the power", cases=len(cases), failures=len(bad))
    assert not bad
