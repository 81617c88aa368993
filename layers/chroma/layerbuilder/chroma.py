"""The Chroma layer: pinned wheels for one architecture, pruned and compiled, with our package and the model."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from layerbuilder.bytecode import CompileError, compile_beside_sources, compile_in_place_of_sources
from layerbuilder.prune import prune

CHROMA_LAYER = Path(__file__).resolve().parents[1]
ROOT = CHROMA_LAYER.parents[1]
PLATFORMS = {"x86_64": "x86_64-manylinux_2_34", "arm64": "aarch64-manylinux_2_34"}
"""Lambda's python3.13 runs on Amazon Linux 2023, whose glibc is 2.34."""

PYTHON_VERSION = "3.13"
LOCKS = ("chroma.txt", "query.txt")


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
