"""The bare function that cold starts are compared with: what most people deploy.

A plain install of the same versions as ours, without bytecode: SAM's own pip builder drops it, and Lambda's directories
are read-only.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from emulator.session import ROOT, Artefacts

LOCKS = tuple(ROOT / "requirements" / name for name in ("chroma.txt", "query.txt"))
HANDLER = "bare.handler"
_CODE = """
import chromadb, openai
from aws_lambda_powertools import Logger, Metrics


def handler(event, context):
    return {"statusCode": 200, "body": "{}"}
"""


def install(locks: Sequence[Path], target: Path) -> None:
    """Install what ``locks`` pin into ``target``.

    Raises:
        CalledProcessError: it could not be had.
    """
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(target)]
    command += ["--link-mode", "copy", "--python-version", "3.13", "--only-binary", ":all:", "--require-hashes"]
    for lock in locks:
        command += ["-r", str(lock)]
    subprocess.run(command, check=True)


def bare_function(
    folder: Path, *, locks: Sequence[Path] = LOCKS, install: Callable[[Sequence[Path], Path], None] = install
) -> Artefacts:
    """The bare function of what ``locks`` pin now, installed kept in ``folder``; older ones are removed.

    Raises:
        CalledProcessError: it could not be installed.
    """
    digest = hashlib.sha256(_CODE.encode())
    for lock in locks:
        digest.update(lock.read_bytes())
    task = folder / f"bare-{digest.hexdigest()[:16]}"
    code = task / "bare.py"
    # The code is written last: without it the installation was interrupted.
    if not code.is_file():
        for old in folder.glob("bare*"):
            shutil.rmtree(old)
        install(locks, task)
        code.write_text(_CODE, encoding="utf-8")
    return Artefacts(task, {}, HANDLER)
