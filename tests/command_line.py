"""ragctl in this process, with nobody's settings around it, and programs in a process of their own."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
import real_model
from functional.harness import SETTINGS, run_apart

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
    """Run Python code in a process of its own that says nothing on stderr, and return what it prints to stdout."""
    done = run_apart(program, *arguments, env={"PYTHONWARNINGS": "ignore"})
    assert done.stderr == ""
    return done.stdout
