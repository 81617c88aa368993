"""The handler's time and memory without an LLM: the extractive engine answers.

``python -m bench.handler`` is the process that does nothing else, so that its memory is its own. It reads a JSON list
of questions from standard input and writes ``HandlerTimes`` as one JSON object to standard output.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bench.tables import percentile, table
from emulator.rie import peak_bytes
from emulator.session import Artefacts, Session

ROUNDS = 5
WARM_UP = "warm up"
_DURATION = re.compile(r"^REPORT .*?\tDuration: ([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class HandlerTimes:
    """Milliseconds of each warm call, and the most memory that the handler's process held; None where not known."""

    times_ms: Sequence[float]
    peak_bytes: int | None


def event(question: str) -> dict[str, Any]:
    """Return an API Gateway REST event that asks ``question``."""
    return {
        "httpMethod": "POST",
        "path": "/api/query",
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"query": question}),
        "requestContext": {"requestId": "bench"},
    }


def in_process(questions: Sequence[str], index: Path) -> HandlerTimes:
    """Measure ``lambda_handler`` of the sources, in a fresh process of this Python, on ``index``."""
    environment = {**os.environ, "INDEX_URI": str(index), "LLM_API_KEY": "", "LLM_BASE_URL": "", "LLM_SECRET_NAME": ""}
    done = subprocess.run(
        [sys.executable, "-m", "bench.handler"],
        input=json.dumps(list(questions)),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return HandlerTimes(**json.loads(done.stdout))


def emulated(questions: Sequence[str], artefacts: Artefacts) -> HandlerTimes:
    """Measure each warm invocation of the built function, as the emulator reports it."""
    with Session(artefacts) as session:
        session.invoke(event(WARM_UP))
        runs = [session.invoke(event(question)) for question in [*questions] * ROUNDS]
    times = [float(found[1]) for run in runs for line in run.lines if (found := _DURATION.match(line))]
    return HandlerTimes(times, runs[-1].peak_bytes)


def report(rows: Mapping[str, HandlerTimes]) -> str:
    """Return the warm-path table."""
    return table(
        ("handler, warm, no LLM", "p50 ms", "p99 ms", "peak memory MB"),
        [
            (
                name,
                percentile(measured.times_ms, 0.5),
                percentile(measured.times_ms, 0.99),
                "-" if measured.peak_bytes is None else f"{measured.peak_bytes / 1e6:.0f}",
            )
            for name, measured in rows.items()
        ],
    )


def measure(questions: Sequence[str]) -> HandlerTimes:
    """Call the handler of this process ROUNDS times with each question."""
    context = SimpleNamespace(
        function_name="bench",
        memory_limit_in_mb=1769,
        invoked_function_arn="arn:aws:lambda:us-east-1:000000000000:function:bench",
        aws_request_id="bench",
        get_remaining_time_in_millis=lambda: 29_000,
    )
    times = []
    with contextlib.redirect_stdout(io.StringIO()):  # the handler's logs
        import app

        for question in [WARM_UP, *[*questions] * ROUNDS]:
            start = time.perf_counter()
            app.lambda_handler(event(question), cast(Any, context))
            times.append(1000 * (time.perf_counter() - start))
    return HandlerTimes(times[1:], peak_bytes())


if __name__ == "__main__":
    print(json.dumps(asdict(measure(json.load(sys.stdin)))))
