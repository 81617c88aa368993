"""Several processes ingest into one folder at the same time: one index, whole, of one of those that succeeded.

One helper process has everything imported. It forks the writers, which wait for each other before they begin.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fakes_embedding import HashingEmbedder
from faults.drawing import times
from faults.tally import tally
from integration.test_ingest_kill import answers, documents

from knowledge.build.ingest import ingest

pytestmark = pytest.mark.slow

ROUNDS = 1
WRITERS = (2, 4, 8)

HELPER = """
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
import chromadb
from fakes_embedding import HashingEmbedder
from integration.test_ingest_kill import documents
from knowledge.build.ingest import ingest
from knowledge.model.errors import KnowledgeError

def write(target, generation):
    try:
        ingest(documents(generation), target=Path(target), embedder=HashingEmbedder())
        return "", ""
    except KnowledgeError as exc:
        return exc.code, str(exc)
    except BaseException as exc:
        return type(exc).__name__, str(exc)

for line in sys.stdin:
    target, generations = json.loads(line)
    waiting, start = os.pipe()
    writers = []
    for generation in generations:
        child = os.fork()
        if not child:
            os.close(start)
            os.read(waiting, 1)  # ends when the parent, and so everybody, has closed the other end
            code, message = write(target, generation)
            said = json.dumps({"generation": generation, "code": code, "message": message}) + "\\n"
            os.write(1, said.encode())  # in one piece, so that lines do not mix
            os._exit(0)
        writers.append(child)
    os.close(start)
    os.close(waiting)
    for child in writers:
        os.waitpid(child, 0)
    os.write(1, b"null\\n")
"""


def rounds(plans: list[tuple[Path, list[int]]]) -> list[list[dict[str, str]]]:
    """Let writers of these generations write into these folders; returns what those of each round said."""
    path = json.dumps([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HELPER, path],
        input="".join(json.dumps([str(target), generations]) + "\n" for target, generations in plans),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    said: list[list[dict[str, str]]] = [[]]
    for line in map(json.loads, done.stdout.splitlines()):
        if line is None:
            said.append([])
        else:
            said[-1].append(line)
    return said[:-1]


def trouble(target: Path, generations: list[int], said: list[dict[str, str]]) -> str:
    """What is wrong after writers of ``generations`` have said this; "" if nothing is."""
    if sorted(int(one["generation"]) for one in said) != sorted(generations):
        return "a writer said nothing"
    for one in said:
        if one["code"] and (
            one["code"] != "index_locked" or "Another process is writing the index" not in one["message"]
        ):
            return f"a writer failed: {one}"
    succeeded = {int(one["generation"]) for one in said if not one["code"]}
    try:
        if (now := answers(target)) not in succeeded:
            return f"the index is of generation {now}, those of {succeeded} succeeded"
        ingest(documents(99), target=target, embedder=HashingEmbedder())
        if answers(target) != 99 or len(list(target.glob("data-*"))) > 2 or list(target.glob("index-*")):
            return "the next ingest left another index, or files of others"
    except Exception as exc:  # noqa: BLE001 - it is told with its case
        return f"{type(exc).__name__}: {exc}"
    return ""


def test_writers_at_the_same_time_leave_one_whole_index(tmp_path: Path) -> None:
    plans = []
    for number in range(times(ROUNDS)):
        for count in WRITERS:
            for there in (False, True):  # a folder that is not there yet, and one that holds an index
                target = tmp_path / f"{number}-{count}-{there}"
                if there:
                    ingest(documents(1), target=target, embedder=HashingEmbedder())
                plans.append((target, list(range(2, 2 + count))))

    said = rounds(plans)

    assert len(said) == len(plans)
    found = [(len(plan[1]), trouble(*plan, answer)) for plan, answer in zip(plans, said, strict=True)]
    bad = [case for case in found if case[1]]
    tally("writers", cases=len(plans), failures=len(bad))
    assert not bad
    assert any(one["code"] for answer in said for one in answer), "no two writers met"
