"""What `make build` notices: the real Makefile in a small project, whose programs only note how they were called."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import ROOT
from made_files import write_files

PYTHON = f"""#!/bin/sh
case "$1" in -c) exec {sys.executable} "$@";; esac
echo "$*" >> calls
case "$*" in *"layerbuilder chroma"*) mkdir -p "$7";; esac
"""
SAM = """#!/bin/sh
echo "sam $* INDEX=$INDEX PROFILE=$PROFILE ARCH=$ARCH MAKEFLAGS=$MAKEFLAGS" >> calls
rm -rf .aws-sam/build && mkdir -p .aws-sam/build
"""
RAGCTL = """#!/bin/sh
while [ "$1" != --index ]; do shift; done
mkdir -p "$2" && [ -f "$2/manifest.json" ] || echo sample > "$2/manifest.json"
"""
MODULES = (
    "functions/query/app.py",
    "layers/chroma/knowledge/open/index.py",
    "layers/index/Makefile",
    "infra/template.yaml",
    "prompts/shared/system.txt",
)
LOCKS = ("chroma", "query", "dev", "tools", "sam", "lambda", "llama", "model")
PROGRAMS = {".venv/bin/python": PYTHON, ".venv/bin/ragctl": RAGCTL, ".venv-sam/bin/sam": SAM}
STAMPS = (
    *(".venv/.made", ".cache/weights/.done", ".venv/.tools", ".venv/.dev", ".venv-sam/.done"),
    "layers/chroma/model/model.json",
)
"""In the order in which they are made, each newer than what it is made of."""


class Project:
    """A folder with our Makefile, whose environments and model are made already."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(ROOT / "Makefile", folder)
        for name in (*MODULES, "pyproject.toml", *(f"requirements/{lock}.txt" for lock in LOCKS)):
            self.write(name)
        for program, script in PROGRAMS.items():
            self.write(program, script).chmod(0o755)
        for table in ("acronyms", "filters"):
            self.write(f"samples/gacounts/{table}.json", "{}")
        for stamp in STAMPS:
            self.write(stamp)

    def write(self, name: str, text: str = "") -> Path:
        write_files(self.folder, {name: text})
        return self.folder / name

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "INDEX"))}
        command = ["make", *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def make(self, *arguments: str) -> list[str]:
        """Run `make`; the calls of the programs, in order."""
        calls = self.write("calls")
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return calls.read_text(encoding="utf-8").splitlines()

    def builds(self, *arguments: str) -> list[str]:
        """The calls in `make build` that build something."""
        return [call for call in self.make("build", *arguments) if "sizes" not in call]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_sample_is_built_once(project: Project) -> None:
    calls = project.make("build")
    here = project.folder
    assert calls == [
        "-m layerbuilder chroma --arch x86_64 --out .aws-sam/chroma-x86_64 --bill .aws-sam/chroma-x86_64.cdx.json",
        f"sam build INDEX={here}/.index/waypoint PROFILE=waypoint ARCH=x86_64 MAKEFLAGS=",
        "-m layerbuilder chroma --arch arm64 --out .aws-sam/chroma-arm64 --bill .aws-sam/chroma-arm64.cdx.json",
        "-m layerbuilder sizes --build .aws-sam/build --arch x86_64",
        "-m layerbuilder sizes --build .aws-sam/build --arch arm64 --chroma-layer .aws-sam/chroma-arm64",
    ]
    assert project.builds() == []


def test_a_stack_is_checked_by_name(project: Project) -> None:
    assert project.make("smoke", "STACK=mine", "ARGS=--update --json") == ["-m smoke mine --update --json"]
    done = project.run("smoke")
    assert done.returncode == 2
    assert "Name the stack: make smoke STACK=serverless-rag" in done.stderr


def test_new_content_is_built_but_not_the_libraries(project: Project) -> None:
    project.write(".index/mine/manifest.json", "one")
    assert sum(call.startswith("sam ") for call in project.builds("INDEX=.index/mine")) == 1
    assert project.builds("INDEX=.index/mine") == []
    project.write(".index/mine/manifest.json", "two")
    assert [call.split()[0] for call in project.builds("INDEX=.index/mine")] == ["sam"]
    # Nor is a build by hand taken for this one: `sam build` removes the folder first, whatever it takes
    shutil.rmtree(project.folder / ".aws-sam/build")
    (project.folder / ".aws-sam/build").mkdir()
    assert [call.split()[0] for call in project.builds("INDEX=.index/mine")] == ["sam"]


@pytest.mark.parametrize("absolute", [False, True])
def test_an_index_of_one_s_own_may_be_relative(project: Project, absolute: bool) -> None:
    project.write(".index/mine/manifest.json", "one")
    given = str(project.folder / ".index/mine") if absolute else ".index/mine"
    [call] = [call for call in project.builds("PROFILE=gacounts", f"INDEX={given}") if call.startswith("sam ")]
    assert f"INDEX={project.folder}/.index/mine PROFILE=gacounts" in call


def test_a_changed_source_is_built_and_a_changed_library_for_both_architectures(project: Project) -> None:
    project.make("build")
    for changed in MODULES:
        project.write(changed, "changed")
        calls = [call.split()[3] if "chroma" in call else "sam" for call in project.builds()]
        assert calls == (["--arch", "sam", "--arch"] if "chroma" in changed else ["sam"]), changed


@pytest.mark.parametrize("target", ["help", "run", "build"])
def test_without_a_usable_python_there_is_one_sentence(tmp_path: Path, target: str) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    needed = (
        *("pyproject.toml", "requirements/tools.txt", "functions/a", "layers/index/a", "layers/chroma/a"),
        *("prompts/a", "infra/a", "web/a", "tools/serve/web_pages.py", "docs/openapi.json"),
    )
    write_files(tmp_path, dict.fromkeys(needed, ""))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "awk", "find", "false", "echo", "mkdir", "touch"):
        (programs / name).symlink_to(shutil.which(name) or name)
    make = shutil.which("make") or "make"
    done = subprocess.run(
        [make, target], cwd=tmp_path, env={"PATH": str(programs)}, capture_output=True, text=True, check=False
    )
    lines = done.stderr.splitlines()
    if target == "help":
        assert (done.returncode, lines) == (0, [])
    else:
        assert done.returncode == 2
        assert lines[0] == f"Python 3.12 or newer is needed; choose one with: make {target} PYTHON=python3.13"
        assert len(lines) == 2  # make's own


def test_another_python_makes_another_environment(project: Project) -> None:
    script = '#!/bin/sh\ncase "$2" in *print*) echo 3 14;; -c) :;; *) echo "$@" >> calls;; esac\n'
    other = project.write("other-python", script)
    other.chmod(0o755)
    assert project.make("-n", "setup", f"PYTHON={other}") == []
    assert "clear=--clear" in project.run("-n", "setup", f"PYTHON={other}").stdout
    same = project.run("-n", "setup", f"PYTHON={sys.executable}")
    assert (same.returncode, "venv" in same.stdout) == (0, False)
