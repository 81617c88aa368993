"""A kill at any moment leaves an index that opens and answers: the old one, or the new one whole.

For each kill a child ingests and is killed with SIGKILL, either by itself at a chosen call (every call that touches the
disk, and every embedding, is a candidate) or by its parent after a share of the time that an ingest takes.
"""

import time
from pathlib import Path
from typing import Any

import pytest
from fakes_embedding import HashingEmbedder
from faults.drawing import by_night
from index_writers import answers, documents, ingest_in_child

from knowledge.build.ingest import ingest

pytestmark = pytest.mark.slow

POINTS, TIMED = by_night((8, 2), (100, 30))


def test_a_kill_at_any_moment_leaves_a_whole_index(tmp_path: Path) -> None:
    ingest_in_child(tmp_path, 1)  # the first one waits for the process that it is forked from
    started = time.perf_counter()
    total = ingest_in_child(tmp_path, 2)
    lasted_s = time.perf_counter() - started
    assert total > POINTS
    assert answers(tmp_path) == 2

    old, seen = 2, set()
    points = sorted({round(1 + n * (total - 1) / (POINTS - 1)) for n in range(POINTS)})
    plans: list[dict[str, Any]] = [{"kill_at": point} for point in points]
    plans += [{"kill_after_s": lasted_s * (n + 0.5) / TIMED} for n in range(TIMED)]
    for new, how in enumerate(plans, start=3):
        ingest_in_child(tmp_path, new, **how)
        now = answers(tmp_path)
        assert now in (old, new)
        seen.add(now == new)
        old = now

    assert False in seen
    assert len(points) == POINTS
    summary = ingest(documents(99), target=tmp_path, embedder=HashingEmbedder())
    assert answers(tmp_path) == 99
    assert summary.unchanged >= 36
    assert len(list(tmp_path.glob("data-*"))) <= 2
    assert not list(tmp_path.glob("index-*"))


def test_a_kill_during_the_first_ingest_leaves_no_index_and_the_next_one_makes_it(tmp_path: Path) -> None:
    total = ingest_in_child(tmp_path / "whole", 1)
    ingest_in_child(tmp_path / "killed", 1, kill_at=total // 2)
    assert not (tmp_path / "killed" / "manifest.json").exists()
    assert ingest_in_child(tmp_path / "killed", 1)
    assert answers(tmp_path / "killed") == 1
