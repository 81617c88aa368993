"""The handler's time and memory without an LLM: the extractive engine answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.tables import percentile, table
from emulator.session import Artefacts, Session

ROUNDS = 5
WARM_UP = "warm up"
_DURATION = re.compile(r"^REPORT .*?\tDuration: ([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class HandlerTimes:
    """Milliseconds of each warm call, and the most memory that the handler's process held; None where nobody knows."""

    times_ms: Sequence[float]
    peak_bytes: int | None


def event(question: str) -> dict[str, Any]:
    """An API Gateway REST event that asks ``question``."""
    return {
        "httpMethod": "POST",
        "path": "/api/query",
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"query": question}),
        "requestContext": {"requestId": "bench"},
    }


def in_process(questions: Sequence[str], index: Path) -> HandlerTimes:
    """``lambda_handler`` of the sources, in a fresh process of this Python, on ``index``."""
    environment = {**os.environ, "INDEX_URI": str(index), "LLM_API_KEY": "", "LLM_BASE_URL": "", "LLM_SECRET_NAME": ""}
    done = subprocess.run(
        [sys.executable, "-m", "bench.inprocess"],
        input=json.dumps(list(questions)),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return HandlerTimes(**json.loads(done.stdout))


def emulated(questions: Sequence[str], artefacts: Artefacts) -> HandlerTimes:
    """Each warm invocation of the built function, as the emulator reports it."""
    with Session(artefacts) as session:
        session.invoke(event(WARM_UP))
        runs = [session.invoke(event(question)) for question in [*questions] * ROUNDS]
    times = [float(found[1]) for run in runs for line in run.lines if (found := _DURATION.match(line))]
    return HandlerTimes(times, runs[-1].peak_bytes)


def report(rows: Mapping[str, HandlerTimes]) -> str:
    """The warm-path table."""
    return table(
        ("handler, warm, no LLM", "p50 ms", "p99 ms", "peak memory MB"),
        [
            (name, percentile(measured.times_ms, 0.5), percentile(measured.times_ms, 0.99), _megabytes(measured))
            for name, measured in rows.items()
        ],
    )


def _megabytes(measured: HandlerTimes) -> str:
    return "-" if measured.peak_bytes is None else f"{measured.peak_bytes / 1e6:.0f}"
