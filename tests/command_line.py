"""ragctl in this process, with nobody's settings around it, and programs in a process of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import real_model
from functional.harness import SETTINGS

from ragctl import cli

type Run = Callable[..., Any]

WRITTEN = ("INDEX_URI", "RAG_PROFILE")
"""What commands set themselves, for the service that they start."""


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command; what it prints as JSON where it was asked to, or (exit status, stdout, stderr).

    All commands of this process have one model between them: loading it takes longer than most of what they do.
    """
    for place in ("ragctl.embedders.MiniLM", "rag.wiring.application.MiniLM", "knowledge.embedding.MiniLM"):
        monkeypatch.setattr(place, lambda *_, **__: real_model.model())
    for name in [*(name for name in os.environ if name.startswith(SETTINGS)), *WRITTEN]:
        monkeypatch.setenv(name, "")

    def run(*arguments: object) -> Any:
        capsys.readouterr()
        status = cli.run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return json.loads(out) if status == 0 and "--json" in arguments else (status, out, err)

    return run


def run_fresh(program: str, *arguments: object) -> str:
    """Run Python code in a process that imports from where this one does, and return what it prints to stdout."""
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=paths, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def run_clean(program: str, *arguments: object, first: str = "", **settings: str) -> str:
    """Run Python code in a process with these settings alone, and return what it prints to stdout.

    It imports from where this process does, but from the folder ``first`` before that.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    paths = os.pathsep.join(filter(None, [first, *sys.path]))
    command = [sys.executable, "-c", program, *map(str, arguments)]
    env = {**clean, "PYTHONPATH": paths, **settings}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout
