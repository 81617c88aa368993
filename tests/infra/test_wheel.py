"""The package that `make wheel` builds: it names what it needs, holds what it reads, and runs."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_model
from functional.harness import SETTINGS

from knowledge.embedding import DEFAULT_MODEL_DIR
from rag.version import VERSION

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = PROJECT["tool"]["hatch"]["build"]["dev-mode-dirs"]
PATHS = Path("requirements") / "wheel" / "serverless_rag.pth"

ENTERED = """
import site, sys
from pathlib import Path
ours = ("rag", "ragctl", "knowledge")
sys.path[:] = [entry for entry in sys.path if not any((Path(entry) / name).is_dir() for name in ours)]
site.addsitedir(sys.argv.pop(1))
import knowledge, rag
print(rag.__file__, knowledge.__file__, sep="\\n", file=sys.stderr)
from ragctl.cli import main
main()
"""


def named(file: str) -> Iterator[str]:
    """The pins of ``file`` and of what it includes, without what only a clone needs."""
    for line in (ROOT / "requirements" / file).read_text(encoding="utf-8").splitlines():
        entry = line.partition("#")[0].strip()
        if entry.startswith("-r "):
            included = entry.removeprefix("-r ")
            yield from () if included == "clone.in" else named(included)
        elif entry:
            yield entry


def test_it_depends_on_what_the_requirements_name_and_finds_the_rooms_of_an_editable_install() -> None:
    dependencies = PROJECT["project"]["dependencies"]
    assert set(dependencies) == set(named("tools.in"))
    assert len(dependencies) == len(set(dependencies))
    assert PROJECT["project"]["optional-dependencies"] == {"ocr": list(named("ocr.in"))}
    assert (ROOT / PATHS).read_text(encoding="utf-8").splitlines() == [f"serverless_rag/{room}" for room in ROOMS]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [made] = folder.iterdir()
    assert made.name == f"serverless_rag-{VERSION}-py3-none-any.whl"
    return zipfile.ZipFile(made)


@pytest.mark.slow
def test_it_holds_the_program_its_files_and_the_model(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if not name.startswith("serverless_rag-")}
    # Given the files of the folders that a running ragctl reads
    folders = ("functions/query/rag", "functions/query/routes", "layers/chroma/knowledge", "prompts", "web")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    wanted = {path.relative_to(ROOT).as_posix() for path in files if path.parent.name != "__pycache__"}
    wanted |= {"functions/query/app.py", "tools/ragctl/cli.py", "docs/openapi.json"}
    wanted |= {f"layers/chroma/model/{path.name}" for path in DEFAULT_MODEL_DIR.iterdir()}
    assert {f"serverless_rag/{name}" for name in wanted} - names == set()
    assert [name for name in names if name.endswith((".pyc", "Makefile")) or "/tests/" in name] == []
    assert [name for name in names if not name.startswith("serverless_rag/")] == ["serverless_rag.pth"]
    assert f"serverless_rag-{VERSION}.dist-info/licenses/LICENSE" in wheel.namelist()


@pytest.mark.slow
def test_it_reads_documents_and_answers_where_there_is_no_clone(
    wheel: zipfile.ZipFile, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Given the package, unpacked as pip does it, and a page for a converter, which runs in a process of its own
    installed, place = tmp_path / "installed", tmp_path / "place"
    wheel.extractall(installed)
    place.mkdir()
    (place / "ferries.html").write_text("<h1>Ferries</h1><p>The ferry leaves at noon.</p>", encoding="utf-8")
    index = real_model.sample_index("waypoint", tmp_path_factory)

    def ragctl(*arguments: str) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        command = [sys.executable, "-I", "-c", ENTERED, str(installed), *arguments]
        done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert all(line.startswith(str(installed)) for line in done.stderr.splitlines()[:2])
        return done.stdout

    assert ragctl("--version") == f"ragctl {VERSION}\n"
    assert "--version" in ragctl("publish", "--help")
    assert json.loads(ragctl("ingest", ".", "--dry-run", "--json"))["added"] == 1
    answer = json.loads(ragctl("ask", "What does it cost to change an ocean booking?", "--index", str(index), "--json"))
    assert "SGD 50" in answer["answer"]
