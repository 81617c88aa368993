"""What a full disk is told as, and what killed runs leave behind: the next run says and clears it up."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import Run, run_fresh
from desks import desk, desks
from fakes_embedding import HashingEmbedder
from local_server import serving

from knowledge.build import write
from knowledge.build.ingest import ingest
from knowledge.model.errors import IndexNotWritten, KnowledgeError
from knowledge.open.index import open_index

KILLED = """
import os, signal, sys
from ragctl import ingest_job
ingest_job.read_sources = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from ragctl.cli import run
run(sys.argv[1:])
"""
LIMITED = """
import resource, sys
from pathlib import Path
from fakes_embedding import HashingEmbedder
from desks import desks
from knowledge.build.ingest import ingest
from knowledge.model.errors import IndexNotWritten

resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    ingest(desks(600), target=Path(sys.argv[1]), embedder=HashingEmbedder())
except IndexNotWritten as exc:
    print(exc)
"""


OLD, NEW = desks(3), [desk(number, f"New {number}.") for number in range(3)]


def texts(target: Path) -> set[str]:
    with closing(open_index(target, embedder=HashingEmbedder())) as index:
        return {chunk.text for chunk in index.iter_chunks()}


def refuse_like_numpy(*_: object, **__: object) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        np.zeros(100_000).tofile(full)


def refuse_like_the_system(*_: object, **__: object) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")


def refuse_like_chroma(*_: object, **__: object) -> None:
    raise KnowledgeError("error returned from database: (code: 13) database or disk is full")


@pytest.mark.parametrize(
    ("step", "refuse", "reason"),
    [
        ("write_vectors", refuse_like_numpy, "a file was cut short, as on a full disk"),
        ("write_vectors", refuse_like_chroma, "the disk is full"),
        ("dumps", refuse_like_the_system, "the disk is full"),
        ("flush", refuse_like_the_system, "the disk is full"),
    ],
)
def test_a_full_disk_is_told_with_its_folder_and_leaves_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, refuse: Callable[..., None], reason: str
) -> None:
    ingest(OLD, target=tmp_path, embedder=HashingEmbedder())
    with monkeypatch.context() as patch:
        patch.setattr(write, step, refuse)
        with pytest.raises(IndexNotWritten) as told:
            ingest(NEW, target=tmp_path, embedder=HashingEmbedder())

    assert str(told.value) == (
        f"The index in {str(tmp_path)!r} could not be written: {reason}. What there was is as it was"
    )
    assert texts(tmp_path) == {d.text for d in OLD}
    ingest(NEW, target=tmp_path, embedder=HashingEmbedder())
    assert texts(tmp_path) == {d.text for d in NEW}
    assert len(list(tmp_path.glob("data-*"))) <= 2


def test_what_fails_without_a_reason_where_nothing_is_free_is_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KnowledgeError("Error in compaction")

    monkeypatch.setattr(write, "write_texts", fail)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4096))

    with pytest.raises(IndexNotWritten, match="could not be written: the disk is full"):
        ingest(NEW, target=tmp_path, embedder=HashingEmbedder())


def test_a_file_that_the_system_cuts_short_is_told(tmp_path: Path) -> None:
    said = run_fresh(LIMITED, tmp_path / "index")
    assert said.startswith(f"The index in {str(tmp_path / 'index')!r} could not be written: ")
    assert not (tmp_path / "index" / "manifest.json").exists()


def test_the_next_ingest_removes_what_a_killed_one_left(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("# Fees\n\nThe fee is 40 dollars.")
    place = tmp_path / "tmp"
    place.mkdir()
    (place / "index-of-somebody").mkdir()
    arguments = ["ingest", str(tmp_path / "a.md"), "--index", str(tmp_path / "index")]
    path = os.pathsep.join(filter(None, sys.path))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments],
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": path},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(list(place.iterdir())) == 2

    monkeypatch.setattr(tempfile, "tempdir", str(place))
    run(*arguments, "--json")

    assert [path.name for path in place.iterdir()] == ["index-of-somebody"]


@pytest.mark.slow
def test_the_next_server_removes_what_a_killed_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))

    def there() -> set[str]:
        return {path.name for path in (tmp_path / "tmp").glob("*.scratch")}

    with serving(tmp_path / "index") as server:
        left = there()
        server.end(signal.SIGKILL)
    assert left
    assert left <= there()
    with serving(tmp_path / "index") as server:
        assert not left & there()
        server.end(signal.SIGTERM)
    assert not there()
