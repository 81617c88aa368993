"""A kill at any moment leaves an index that opens and answers: the old one, or the new one whole.

One helper process has everything imported; for each kill it forks a child that ingests and is killed with SIGKILL,
either by itself at a chosen call (every call that touches the disk, and every embedding, is a candidate) or by its
parent after a share of the time that an ingest takes.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes_embedding import HashingEmbedder
from faults.drawing import by_night

from knowledge.build.ingest import ingest
from knowledge.model.values import Document
from knowledge.open.index import open_index

pytestmark = pytest.mark.slow

POINTS, TIMED = by_night((10, 3), (100, 30))

HELPER = """
import json, os, signal, sys, time
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
import chromadb, sqlite3
from fakes_embedding import HashingEmbedder
from test_ingest_kill import documents
from knowledge.build import ingest as ingest_module
from knowledge.build import previous, write
from knowledge.engines import collection

calls, kill_at = 0, 0

def counted(function):
    def call(*args, **options):
        global calls
        calls += 1
        if calls == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **options)
    return call

os.replace, os.fsync, os.open = counted(os.replace), counted(os.fsync), counted(os.open)
sqlite3.connect = counted(sqlite3.connect)
write.write_texts, write.file_digest, write.dumps = map(counted, (write.write_texts, write.file_digest, write.dumps))
collection.Collection.add = counted(collection.Collection.add)
collection.Collection.close = counted(collection.Collection.close)
write.shutil.rmtree = counted(write.shutil.rmtree)
previous.prepare = counted(previous.prepare)
HashingEmbedder.embed = counted(HashingEmbedder.embed)

def say(**told):
    # One write: a child that is killed between two would leave half a line.
    os.write(1, (json.dumps(told) + "\\n").encode())

for line in sys.stdin:
    target, generation, kill_at, kill_after_s = json.loads(line)
    calls = 0
    child = os.fork()
    if not child:
        try:
            ingest_module.ingest(documents(generation), target=Path(target), embedder=HashingEmbedder())
            say(calls=calls)
        finally:
            os._exit(0)
    if kill_after_s:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)  # until it is waited for, its id is its own
    say(signal=-os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def text(n: int, generation: int) -> str:
    """What document ``n`` says in ``generation``."""
    return (
        f"{'And so on. ' * (n % 6)}{'Then more. ' * (n % 7)}Text {n} of generation {generation if n % 3 == 0 else 0}."
    )


def documents(generation: int) -> list[Document]:
    """60 documents, of which every third differs from one generation to the next; 5 come and go.

    Their texts differ in length, so that not all are equally far from each other: of such vectors HNSW's graph may fall
    into parts, and a search then misses what is there (8 of 25 graphs of 60 texts with one word of their own).
    """
    return [
        Document(
            doc_id=f"d{n}", title=f"Doc {n}", text=text(n, generation),
            digest=f"{n} {generation if n % 3 == 0 else 0}", path=f"d{n}.md",
        )
        for n in range(generation % 5, 60)
    ]  # fmt: skip


class Helper:
    """The process that forks the children which are killed."""

    def __init__(self) -> None:
        path = json.dumps([str(Path(__file__).parent), *sys.path])
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", HELPER, path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ingest(self, target: Path, generation: int, *, kill_at: int = 0, kill_after_s: float = 0) -> Any:
        """Let a child ingest; returns the number of candidate calls if it came to its end, else None."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(target), generation, kill_at, kill_after_s]) + "\n")
        self._process.stdin.flush()
        calls, said = None, {}
        while "signal" not in said:
            said = self._line()
            calls = said.get("calls", calls)
        assert said["signal"] == signal.SIGKILL or calls
        return calls

    def _line(self) -> dict[str, int]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the helper process has ended"
        return json.loads(line)  # type: ignore[no-any-return]

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def helper() -> Iterator[Helper]:
    process = Helper()
    yield process
    process.close()


def answers(target: Path) -> int:
    """Open the index, check that it is whole, and tell its generation."""
    embedder = HashingEmbedder()
    index = open_index(target, embedder=embedder)
    try:
        generations = {chunk.text.split()[-1] for chunk in index.iter_chunks() if int(chunk.doc_id[1:]) % 3 == 0}
        assert len(generations) == 1
        generation = int(generations.pop().rstrip("."))
        expected = {(document.doc_id, document.text) for document in documents(generation)}
        assert {(chunk.doc_id, chunk.text) for chunk in index.iter_chunks()} == expected
        question = embedder.embed([f"Doc 33\n{text(33, generation)}"])[0]
        assert index.nearest(question, k=1)[0].score == pytest.approx(1, abs=1e-5)
        return generation
    finally:
        index.close()


def test_a_kill_at_any_moment_leaves_a_whole_index(helper: Helper, tmp_path: Path) -> None:
    ingest(documents(1), target=tmp_path, embedder=HashingEmbedder())
    started = time.perf_counter()
    total = helper.ingest(tmp_path, 2)
    lasted_s = time.perf_counter() - started
    assert total > POINTS
    assert answers(tmp_path) == 2

    old, seen = 2, set()
    points = sorted({round(1 + n * (total - 1) / (POINTS - 1)) for n in range(POINTS)})
    plans: list[dict[str, Any]] = [{"kill_at": point} for point in points]
    plans += [{"kill_after_s": lasted_s * (n + 0.5) / TIMED} for n in range(TIMED)]
    for new, how in enumerate(plans, start=3):
        helper.ingest(tmp_path, new, **how)
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


def test_a_kill_during_the_first_ingest_leaves_no_index_and_the_next_one_makes_it(
    helper: Helper, tmp_path: Path
) -> None:
    total = helper.ingest(tmp_path / "whole", 1)
    helper.ingest(tmp_path / "killed", 1, kill_at=total // 2)
    assert not (tmp_path / "killed" / "manifest.json").exists()

    assert helper.ingest(tmp_path / "killed", 1)
    assert answers(tmp_path / "killed") == 1
