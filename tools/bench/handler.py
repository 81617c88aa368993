"""The handler's time without an LLM: the extractive engine answers."""

from __future__ import annotations

import json
import re
import resource
import time
from typing import Any

from bench.tables import percentile, table

ROUNDS = 5
_DURATION = re.compile(r"^REPORT .*?\tDuration: ([\d.]+) ms")


class _Context:
    """What Lambda passes beside the event."""

    function_name = "bench"
    memory_limit_in_mb = 1769
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"
    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        return 29_000


def event(question: str) -> dict[str, Any]:
    """An API Gateway REST event that asks ``question``."""
    return {
        "httpMethod": "POST",
        "path": "/api/query",
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"query": question}),
        "requestContext": {"requestId": "bench"},
    }


def in_process(questions: list[str]) -> tuple[list[float], float]:
    """Milliseconds of each call of ``lambda_handler`` here, and the process's peak memory in MB."""
    import app

    times = []
    for question in ["warm up", *questions * ROUNDS]:
        start = time.perf_counter()
        app.lambda_handler(event(question), _Context())
        times.append(1000 * (time.perf_counter() - start))
    return times[1:], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def emulated(questions: list[str]) -> list[float]:
    """Milliseconds that the emulator reports for each warm invocation of the built function."""
    from emulator.session import Session, built

    with Session(built()) as session:
        session.invoke(event("warm up"))
        runs = [session.invoke(event(question)) for question in questions * ROUNDS]
    return [float(found[1]) for run in runs for line in run.lines if (found := _DURATION.match(line))]


def report(rows: list[tuple[str, list[float], str]]) -> str:
    """The warm-path table."""
    return table(
        ("handler, warm, no LLM", "p50 ms", "p99 ms", "peak memory MB"),
        [(name, percentile(times, 0.5), percentile(times, 0.99), memory) for name, times, memory in rows],
    )
