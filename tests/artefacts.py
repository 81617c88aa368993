"""What `make build` made, for the tests that look at it or run it: never a stale build, and never none in silence."""

import filecmp
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / ".aws-sam" / "build"
FUNCTION = BUILD / "QueryFunction"
LIBRARIES = BUILD / "ChromaLayer" / "python"
INDEX = BUILD / "IndexLayer" / "index"
LEFT_OUT = ROOT / "layers" / "chroma" / "knowledge" / "build"
"""What writes an index is not in the layer."""
RUNTIME_PYTHON = ROOT / ".venv-lambda" / "bin" / "python"
"""A Python with what Lambda's runtime brings, and nothing else."""

_BARE = "import sys\nsys.path[len(sys.path):] = sys.argv.pop(1).split(':')\n"


def require_build() -> None:
    """Fail the test that asks, unless there is a build and it is of the code as it is now.

    Skips on another Python than Lambda's: it could not make the layer's bytecode, nor load its wheels.
    """
    if sys.version_info[:2] != (3, 13):
        pytest.skip("the layer is built and run by Python 3.13 alone, Lambda's own: make test PYTHON=python3.13")
    if not all(folder.is_dir() for folder in (FUNCTION, LIBRARIES, INDEX)):
        pytest.fail("There is no build. Run: make build")
    if stale := sorted(_stale()):
        pytest.fail(f"The build is older than {stale[0]} (and {len(stale) - 1} more files). Run: make build")


def require_emulator() -> None:
    """Fail or skip unless the built function can run under the emulator here. In CI nothing is skipped."""
    require_build()
    if not RUNTIME_PYTHON.exists():
        pytest.fail("The Lambda runtime client is missing in .venv-lambda. Run: make build")
    probe = ["unshare", "--user", "--map-root-user", "--mount", "--net", "true"]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True, check=False).returncode:
        reason = "the emulator needs Linux with user namespaces (unshare)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


def run_bare(script: str, *arguments: object, path: tuple[Path, ...] = (LIBRARIES,), cwd: Path) -> Any:
    """Run ``script`` with the standard library and ``path`` alone; what it printed last, as JSON.

    The base interpreter without site-packages, environment or user folder: what is not in ``path`` cannot be found.
    """
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "-I", "-S", "-B", "-c", _BARE + script, ":".join(map(str, path)), *map(str, arguments)]
    return _run(command, {}, cwd)


def run_as_lambda(script: str, environment: Mapping[str, str], *, cwd: Path) -> Any:
    """Run ``script`` with the function, its layer and Lambda's runtime on the path; what it printed last, as JSON."""
    full = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": f"{FUNCTION}:{LIBRARIES}",
        "LAMBDA_TASK_ROOT": str(FUNCTION),
        "AWS_LAMBDA_FUNCTION_NAME": "QueryFunction",
        **dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), "us-east-1"),
        "INDEX_URI": str(INDEX),
        "TMPDIR": str(cwd),
        **environment,
    }
    return _run([str(RUNTIME_PYTHON), "-B", "-c", script], full, cwd)


def _run(command: list[str], environment: Mapping[str, str], cwd: Path) -> Any:
    done = subprocess.run(
        command, env=dict(environment), cwd=cwd, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _stale() -> Iterator[str]:
    """Files of ours that the build lacks or has in another version."""
    for source, target in (
        (ROOT / "functions" / "query", FUNCTION),
        (ROOT / "prompts", FUNCTION / "prompts"),
        (ROOT / "layers" / "chroma" / "knowledge", LIBRARIES / "knowledge"),
    ):
        for path in source.rglob("*"):
            if LEFT_OUT not in path.parents and path.is_file() and path.suffix in {".py", ".txt"}:
                copy = target / path.relative_to(source)
                if not copy.is_file() or not filecmp.cmp(path, copy, shallow=False):
                    yield str(path.relative_to(ROOT))
