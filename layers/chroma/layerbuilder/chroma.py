"""The Chroma layer: pinned wheels for one architecture, pruned and compiled, with our package and the model."""

from __future__ import annotations

import json
import py_compile
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

CHROMA_LAYER = Path(__file__).resolve().parents[1]
ROOT = CHROMA_LAYER.parents[1]
PLATFORMS = {"x86_64": "x86_64-manylinux_2_34", "arm64": "aarch64-manylinux_2_34"}
"""Lambda's python3.13 runs on Amazon Linux 2023, whose glibc is 2.34."""

PYTHON_VERSION = "3.13"
LOCKS = ("chroma.txt", "query.txt")
LIST = Path(__file__).with_name("prune.toml")

_LEGAL = re.compile(r"licen|copying|notice", re.IGNORECASE)
"""Names of the texts that have to go with the code (Apache 2.0, section 4d: the NOTICE too)."""


class CompileError(Exception):
    """A module that should start with the function does not compile."""


def compile_in_place_of_sources(root: Path) -> int:
    """Replace each ``module.py`` below ``root`` by ``module.pyc``; return the number of modules.

    The legacy layout: the import system finds ``module.pyc`` beside where the source was. That saves the
    sources' bytes and needs no check against them. What does not compile (templates, code for other
    versions) is left as it is.
    """
    count = 0
    for source in sorted(root.rglob("*.py")):
        target = source.with_suffix(".pyc")
        if _compile(source, target, root):
            source.unlink()
            count += 1
    return count


def compile_beside_sources(root: Path) -> int:
    """Write ``__pycache__`` bytecode beside our own sources, which stay for readable traces.

    Unchecked-hash bytecode: valid whatever time stamps a zip gives the source.

    Raises:
        CompileError: a module does not compile.
    """
    sources = sorted(root.rglob("*.py"))
    for source in sources:
        if not _compile(source, None, root):
            raise CompileError(f"{source.relative_to(root)} does not compile")
    return len(sources)


def _compile(source: Path, target: Path | None, root: Path) -> bool:
    try:
        py_compile.compile(
            str(source),
            cfile=str(target) if target else None,
            # Traces then show the place in the layer, not on the machine that built it.
            dfile=str(source.relative_to(root)),
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    except (py_compile.PyCompileError, UnicodeDecodeError):
        return False
    return True


class PruneError(Exception):
    """An entry of the list does not fit the layer any more."""


def prune(root: Path, rules: Path = LIST) -> int:
    """Apply ``rules`` below ``root``; the number of bytes that are gone.

    Raises:
        PruneError: a pattern matches nothing, a stub's place is taken, or an entry gives no reason.
    """
    listed = tomllib.loads(rules.read_text(encoding="utf-8"))
    before = tree_bytes(root)
    for entry in (*listed["remove"], *listed["stub"]):
        if not entry.get("why", "").strip():
            raise PruneError(f"No reason is given for {entry.get('paths', entry.get('path'))!r}")
    for entry in listed["remove"]:
        for pattern in entry["paths"]:
            matches = sorted(root.glob(pattern))
            if not matches:
                raise PruneError(f"{pattern!r} in {rules.name} matches nothing: take it off the list")
            for path in matches:
                _remove(path)
    for entry in listed["stub"]:
        target = root / entry["path"]
        if target.parent.exists():
            raise PruneError(f"What the stub {entry['path']!r} stands in for is still there: take it out first")
        target.parent.mkdir(parents=True)
        target.write_text(entry["text"].lstrip(), encoding="utf-8")
    _drop_orphaned_metadata(root)
    return before - tree_bytes(root)


def tree_bytes(root: Path) -> int:
    """The sum of the file sizes below ``root``, as Lambda counts them; links are followed."""
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _drop_orphaned_metadata(root: Path) -> None:
    """Keep a distribution's metadata (versions and entry points are read from it) and licence, not its papers."""
    for info in root.glob("*.dist-info"):
        for path in info.rglob("*"):
            if path.is_file() and path.name not in {"METADATA", "entry_points.txt"} and not _LEGAL.search(path.name):
                path.unlink()


def write_bill(layer: Path, out: Path) -> None:
    """Write the bill of a built ``layer`` (the folder that Lambda unpacks into /opt) to ``out``.

    It lists the packages whose metadata is in the layer, not a list of requirements: omitted packages are not in it.
    Packages whose code was pruned keep their licence in the layer, and their entry here. The same layer gives the same
    bytes.

    Raises:
        CalledProcessError: cyclonedx-py found something that it cannot describe.
    """
    # -I keeps the layer's packages from cyclonedx-py itself, -S this environment's packages from the bill.
    command = [sys.executable, "-I", "-W", "ignore", "-m", "cyclonedx_py", "environment", "-S"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", sys.executable]
    listed = subprocess.run(  # noqa: S603 - fixed words and our own paths
        command, env={"PYTHONPATH": str(layer / "python")}, stdout=subprocess.PIPE, check=True
    )
    bill = json.loads(listed.stdout)
    bill["components"].append(_model(layer / "python" / "model"))
    out.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _model(folder: Path) -> dict[str, Any]:
    """The embedding model as a component: its name, and the hash of each of its files."""
    told = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": told["model"],
        "hashes": [{"alg": "SHA-256", "content": told["weights_sha256"]}],
        "components": [
            {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": file["sha256"]}]}
            for name, file in sorted(told["files"].items())
        ],
    }


def build(out: Path, *, arch: str) -> None:
    """Write the layer's content, as Lambda unpacks it into /opt, below ``out``.

    Raises:
        CalledProcessError: a wheel cannot be had, or its hash is wrong.
        PruneError: the prune list does not fit the wheels any more.
        CompileError: a module of ours does not compile, or this Python's bytecode is not what Lambda's reads.
    """
    # Sources are replaced by bytecode: that of another version would leave Lambda with nothing to import.
    if (running := f"{sys.version_info.major}.{sys.version_info.minor}") != PYTHON_VERSION:
        raise CompileError(
            f"The layer is compiled by Python {PYTHON_VERSION}, this is {running}: use PYTHON=python3.13"
        )
    target = out / "python"
    shutil.rmtree(target, ignore_errors=True)
    _install(target, arch)
    prune(target)
    compile_in_place_of_sources(target)
    left_out = shutil.ignore_patterns("__pycache__", "build")  # a function writes no index
    shutil.copytree(CHROMA_LAYER / "knowledge", target / "knowledge", ignore=left_out)
    shutil.copytree(CHROMA_LAYER / "model", target / "model", ignore=shutil.ignore_patterns("*fp32*"))
    compile_beside_sources(target / "knowledge")


def _install(target: Path, arch: str) -> None:
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(target)]
    command += ["--python-platform", PLATFORMS[arch], "--python-version", PYTHON_VERSION]
    command += ["--only-binary", ":all:", "--require-hashes", "--link-mode", "copy"]
    for lock in LOCKS:
        command += ["-r", str(ROOT / "requirements" / lock)]
    subprocess.run(command, check=True)  # noqa: S603 - fixed words and our own paths
