"""What a dependency may do: what is installed has its hash, and nothing that the function imports opens a socket."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import artefacts
import pytest
import real_model
from faults.tally import tally
from functional.harness import SETTINGS

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".aws-sam"
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


@pytest.mark.build
def test_the_bill_of_materials_names_what_the_layer_holds() -> None:
    artefacts.require_build()
    bills = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in BUILT.glob("chroma-*.cdx.json")}
    assert "chroma-x86_64.cdx.json" in bills
    pinned = set()
    for lock in ("chroma.txt", "query.txt"):
        text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
        pinned |= {
            (canonical(name), version) for name, version in re.findall(r"^([\w.-]+)==([^ ;]+)", text, re.MULTILINE)
        }
    for bill in bills.values():
        packages = {
            (canonical(part["name"]), part["version"]) for part in bill["components"] if part["type"] == "library"
        }
        # A pin may be for another system or Python than Lambda's; nothing may be there that is not pinned.
        assert packages <= pinned
        assert {"chromadb", "onnxruntime", "openai", "aws-lambda-powertools"} <= {name for name, _ in packages}
        unlicensed = {part["name"] for part in bill["components"] if not part.get("licenses")}
        assert len(unlicensed) < 5
        [model] = [part for part in bill["components"] if part["type"] == "machine-learning-model"]
        told = json.loads((artefacts.LIBRARIES / "model" / "model.json").read_text(encoding="utf-8"))
        assert {part["name"]: part["hashes"][0]["content"] for part in model["components"]} == {
            name: hashlib.sha256((artefacts.LIBRARIES / "model" / name).read_bytes()).hexdigest()
            for name in told["files"]
        }


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def opened(tmp_path: Path, index: Path) -> list[list[str]]:
    """What a fresh process with no model configured asks of the network: an import of the function, and a question."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**clean, "PYTHONPATH": path, "INDEX_URI": str(index), "POWERTOOLS_LOG_LEVEL": "CRITICAL"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def test_no_dependency_calls_anybody(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert opened(tmp_path, real_model.sample_index("waypoint", tmp_path_factory)) == []


def test_a_dependency_that_calls_somebody_is_noticed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    # Given a package in a dependency's place that sends something, and then hands the real one over
    (tmp_path / "pydantic_settings.py").write_text(PLANTED, encoding="utf-8")
    assert ["socket.connect", "('127.0.0.1', 9)"] in opened(
        tmp_path, real_model.sample_index("waypoint", tmp_path_factory)
    )
