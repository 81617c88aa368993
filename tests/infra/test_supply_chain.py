"""What a dependency may do: what is installed has its hash, and nothing that the function imports opens a socket."""

import json
import re
from pathlib import Path

import pytest
import real_model
from faults.tally import tally
from functional.harness import run_apart

ROOT = Path(__file__).parents[2]
LOCKS = sorted([*(ROOT / "requirements").glob("*.txt"), *(ROOT / "tools" / "bench").rglob("requirements.txt")])
_PINNED = re.compile(r"[A-Za-z0-9][\w.\-\[\],]*==[^ ;]+")

SCRIPT = """
import json, sys
opened = []
def heard(event, values):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "urllib.Request"):
        opened.append([event, str(values[-1])])
sys.addaudithook(heard)
from functional.harness import Context, post
import app
reply = app.lambda_handler(post({"query": "How are booking amendments charged?"}), Context())
assert reply["statusCode"] == 200, reply
print(json.dumps(opened))
"""

PLANTED = """
import os, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.connect(("127.0.0.1", 9))
sys.path.remove(os.path.dirname(__file__))
del sys.modules["pydantic_settings"]
import pydantic_settings
"""


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_what_is_installed_is_pinned_with_its_hashes(lock: Path) -> None:
    entries = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    wanted = [entry for entry in entries if entry.strip() and not entry.startswith("#")]
    loose = [entry[:80] for entry in wanted if not _PINNED.match(entry) or "--hash=sha256:" not in entry]
    tally("pinned packages", cases=len(wanted), failures=len(loose))
    assert wanted
    assert loose == []


def opened(folder: Path, index: Path) -> list[list[str]]:
    """What a fresh process with no model configured asks of the network: an import of the function, and a question."""
    printed = run_apart(
        SCRIPT, first=str(folder), env={"INDEX_URI": str(index), "POWERTOOLS_LOG_LEVEL": "CRITICAL"}
    ).stdout
    return json.loads(printed.splitlines()[-1])  # type: ignore[no-any-return]


def test_no_dependency_calls_anybody(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert opened(tmp_path, real_model.sample_index("waypoint", tmp_path_factory)) == []


def test_a_dependency_that_calls_somebody_is_noticed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    # Given a package in a dependency's place that sends something, and then hands the real one over
    (tmp_path / "pydantic_settings.py").write_text(PLANTED, encoding="utf-8")
    index = real_model.sample_index("waypoint", tmp_path_factory)
    assert ["socket.connect", "('127.0.0.1', 9)"] in opened(tmp_path, index)
