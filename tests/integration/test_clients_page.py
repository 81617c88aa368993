"""The lines of docs/clients.md against the local server, in Python and JavaScript; clients made of the description."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_model
from local_server import Server, serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
MODULES = ROOT / ".cache/javascript/node_modules"
LOCAL = "http://127.0.0.1:3000"
QUESTION = "What does it cost to change an ocean booking?"
ANSWER = "free of charge until 72 hours before departure"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(real_model.sample_index("waypoint", tmp_path_factory)) as server:
        yield server


@pytest.fixture
def javascript(tmp_path: Path) -> Path:
    """A folder in which the modules of tests/integration/javascript can be imported."""
    if shutil.which("node") is None or not MODULES.with_name(".done").exists():
        pytest.skip("needs Node.js, and npm when `make test` sets up")
    (tmp_path / "node_modules").symlink_to(MODULES)
    return tmp_path


def lines(name: str, server: Server) -> str:
    """What the page says under ``name``, for ``server``."""
    found = re.search(rf"^\*\*{re.escape(name)}\*\*.*?^```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found, name
    assert LOCAL in found[1]
    assert QUESTION in found[1]
    return found[1].replace(LOCAL, f"http://{server.address}")


def run(folder: Path, *command: str) -> str:
    """What the command prints; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["openai, Python", "LangChain"])
def test_the_lines_in_python(server: Server, tmp_path: Path, name: str) -> None:
    (tmp_path / "ask.py").write_text(lines(name, server), encoding="utf-8")
    assert ANSWER in run(tmp_path, sys.executable, "ask.py")


@pytest.mark.parametrize("name", ["openai, JavaScript", "Vercel AI SDK"])
def test_the_lines_in_javascript(server: Server, javascript: Path, name: str) -> None:
    (javascript / "ask.mjs").write_text(lines(name, server), encoding="utf-8")
    assert ANSWER in run(javascript, "node", "ask.mjs")


def test_a_python_client_made_of_the_description(server: Server, tmp_path: Path) -> None:
    (tmp_path / "as-made.yaml").write_text("post_hooks: []", encoding="utf-8")  # ruff's mends would be checked too
    made = run(
        tmp_path, sys.executable, "-m", "openapi_python_client", "generate", "--config", "as-made.yaml",
        "--path", str(ROOT / "docs/openapi.json"), "--meta", "none", "--output-path", "ragclient",
    )  # fmt: skip
    assert "Warning" not in made
    (tmp_path / "ask.py").write_text(lines("Python", server), encoding="utf-8")
    checked = run(tmp_path, sys.executable, "-m", "mypy", "--cache-dir", ".mypy", "ragclient", "ask.py")
    assert "no issues found" in checked
    assert ANSWER in run(tmp_path, sys.executable, "ask.py")


def test_a_typescript_client_made_of_the_description(server: Server, javascript: Path) -> None:
    programs = MODULES / ".bin"
    run(javascript, str(programs / "openapi-typescript"), str(ROOT / "docs/openapi.json"), "--output", "api.ts")
    (javascript / "ask.mts").write_text(lines("TypeScript", server), encoding="utf-8")
    run(javascript, str(programs / "tsc"), "--strict", "--module", "nodenext", "--target", "es2022", "ask.mts")
    assert ANSWER in run(javascript, "node", "ask.mjs")
