"""INIT under the emulator beside a bare function that only imports chromadb, openai and Powertools.

The bare function is what most people deploy: a plain install of the same versions, without bytecode (SAM's own pip
builder drops it, and Lambda's directories are read-only).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from bench.tables import table
from emulator.session import ROOT, Artefacts, Session, built

RUNS = 5
_BARE = """
import chromadb, openai
from aws_lambda_powertools import Logger, Metrics, Tracer


def handler(event, context):
    return {"statusCode": 200, "body": "{}"}
"""


def bare_function(folder: Path) -> Artefacts:
    """The bare function in ``folder``, installed once."""
    task = folder / "bare"
    if not (task / "bare.py").is_file():
        command = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--target",
            str(task),
            "--link-mode",
            "copy",
        ]
        command += ["--python-version", "3.13", "--only-binary", ":all:", "--require-hashes"]
        for lock in ("chroma.txt", "query.txt"):
            command += ["-r", str(ROOT / "requirements" / lock)]
        subprocess.run(command, check=True)
        (task / "bare.py").write_text(_BARE, encoding="utf-8")
    return Artefacts(task, {}, "bare.handler")


def cold_starts(folder: Path) -> str:
    """The cold-start table: INIT of RUNS fresh environments each, alternating so that load hits both alike."""
    functions = {"bare function": bare_function(folder), "QueryFunction": built()}
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
