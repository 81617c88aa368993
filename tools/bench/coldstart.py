"""INIT under the emulator beside a bare function that only imports chromadb, openai and Powertools.

The bare function is what most people deploy: a plain install of the same versions as ours, without bytecode, since
SAM's own pip builder drops it, and Lambda's directories are read-only.
"""

from __future__ import annotations

import hashlib
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.tables import table
from emulator.session import ROOT, Artefacts, Session

RUNS = 5
LOCKS = tuple(ROOT / "requirements" / name for name in ("chroma.txt", "query.txt"))
_CODE = """
import chromadb, openai
from aws_lambda_powertools import Logger, Metrics


def handler(event, context):
    return {"statusCode": 200, "body": "{}"}
"""


def cold_starts(ours: Artefacts, folder: Path) -> str:
    """Return the table: INIT of RUNS fresh environments each, alternating so that load hits both alike.

    The bare function is kept in ``folder``.
    """
    functions = {"bare function": bare_function(folder), "QueryFunction": ours}
    runs: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(RUNS):
        for name, artefacts in functions.items():
            with Session(artefacts) as session:
                init = session.invoke({"query": "What does a permit cost?"}).init_ms
            if init is None:
                raise RuntimeError("The emulator reported no INIT")
            runs[name].append(init)
    bare = statistics.median(runs["bare function"])
    rows = [
        (name, statistics.median(times), min(times), max(times), f"{statistics.median(times) / bare:.2f}")
        for name, times in runs.items()
    ]
    return table(("INIT", "median ms", "min", "max", "of the bare one"), rows)


def install(locks: Sequence[Path], target: Path) -> None:
    """Install what ``locks`` pin into ``target``.

    Raises:
        CalledProcessError: it could not be had.
    """
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(target)]
    command += ["--link-mode", "copy", "--python-version", "3.13", "--only-binary", ":all:", "--require-hashes"]
    subprocess.run([*command, *(part for lock in locks for part in ("-r", str(lock)))], check=True)


def bare_function(
    folder: Path, *, locks: Sequence[Path] = LOCKS, install: Callable[[Sequence[Path], Path], None] = install
) -> Artefacts:
    """Return the bare function of what ``locks`` pin now, kept in ``folder``; older ones are removed.

    Raises:
        CalledProcessError: it could not be installed.
    """
    digest = hashlib.sha256(b"".join([_CODE.encode(), *(lock.read_bytes() for lock in locks)]))
    task = folder / f"bare-{digest.hexdigest()[:16]}"
    code = task / "bare.py"
    # The code is written last: without it the installation was interrupted.
    if not code.is_file():
        for old in folder.glob("bare*"):
            shutil.rmtree(old)
        install(locks, task)
        code.write_text(_CODE, encoding="utf-8")
    return Artefacts(task, {}, "bare.handler")
