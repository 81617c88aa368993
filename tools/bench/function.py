"""The Lambda function without an LLM: time and memory of warm calls, and INIT beside a bare function.

``python -m bench.function`` is a process that only calls the handler, so that its memory is the handler's. It reads a
JSON list of questions from standard input and writes ``HandlerTimes`` as one JSON object to standard output.

The bare function only imports chromadb, openai and Powertools. It is what most people deploy: a plain install of our
versions, without bytecode, since SAM's own pip builder drops it and Lambda's directories are read-only.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bench.tables import percentile, table
from emulator.rie import peak_bytes
from emulator.session import ROOT, Artefacts, Session

ROUNDS = 5
WARM_UP = "warm up"
COLD_STARTS = 5
LOCKS = tuple(ROOT / "requirements" / name for name in ("chroma.txt", "query.txt"))
_DURATION = re.compile(r"^REPORT .*?\tDuration: ([\d.]+) ms")
_BARE_CODE = """
import chromadb, openai
from aws_lambda_powertools import Logger, Metrics


def handler(event, context):
    return {"statusCode": 200, "body": "{}"}
"""


@dataclass(frozen=True, slots=True)
class HandlerTimes:
    """Milliseconds of each warm call, and the peak memory of the handler's process; None if it is unknown."""

    times_ms: Sequence[float]
    peak_bytes: int | None


def query_event(question: str) -> dict[str, Any]:
    """Return an API Gateway REST event that asks ``question``."""
    return {
        "httpMethod": "POST",
        "path": "/api/query",
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"query": question}),
        "requestContext": {"requestId": "bench"},
    }


def measure_in_process(questions: Sequence[str], index: Path) -> HandlerTimes:
    """Measure ``lambda_handler`` of the sources, in a fresh process of this Python, on ``index``."""
    environment = {**os.environ, "INDEX_URI": str(index), "LLM_API_KEY": "", "LLM_BASE_URL": "", "LLM_SECRET_NAME": ""}
    done = subprocess.run(
        [sys.executable, "-m", "bench.function"],
        input=json.dumps(list(questions)),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return HandlerTimes(**json.loads(done.stdout))


def measure_in_emulator(questions: Sequence[str], artefacts: Artefacts) -> HandlerTimes:
    """Measure each warm call of the built function, as the emulator reports it."""
    with Session(artefacts) as session:
        session.invoke(query_event(WARM_UP))
        runs = [session.invoke(query_event(question)) for question in [*questions] * ROUNDS]
    times = [float(found[1]) for run in runs for line in run.lines if (found := _DURATION.match(line))]
    return HandlerTimes(times, runs[-1].peak_bytes)


def handler_table(rows: Mapping[str, HandlerTimes]) -> str:
    """Return the table of warm calls, a row for each name."""
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


def measure_this_process(questions: Sequence[str]) -> HandlerTimes:
    """Call the handler in this process, ``ROUNDS`` times with each question."""
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
            app.lambda_handler(query_event(question), cast(Any, context))
            times.append(1000 * (time.perf_counter() - start))
    return HandlerTimes(times[1:], peak_bytes())


def measure_cold_starts(artefacts: Artefacts, folder: Path) -> str:
    """Return the table of INIT under the emulator, of ``COLD_STARTS`` fresh environments for each function.

    The functions alternate, so that other load on the machine slows both alike. ``folder`` keeps the bare function.
    """
    functions = {"bare function": build_bare_function(folder), "QueryFunction": artefacts}
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(COLD_STARTS):
        for name, function in functions.items():
            with Session(function) as session:
                init = session.invoke({"query": "What does a permit cost?"}).init_ms
            if init is None:
                raise RuntimeError("The emulator reported no INIT")
            times[name].append(init)
    bare = statistics.median(times["bare function"])
    rows = [
        (name, statistics.median(each), min(each), max(each), f"{statistics.median(each) / bare:.2f}")
        for name, each in times.items()
    ]
    return table(("INIT", "median ms", "min", "max", "of the bare one"), rows)


def install(locks: Sequence[Path], target: Path) -> None:
    """Install the versions that ``locks`` pin into ``target``."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(target)]
    command += ["--link-mode", "copy", "--python-version", "3.13", "--only-binary", ":all:", "--require-hashes"]
    subprocess.run([*command, *(part for lock in locks for part in ("-r", str(lock)))], check=True)


def build_bare_function(
    folder: Path, *, locks: Sequence[Path] = LOCKS, install: Callable[[Sequence[Path], Path], None] = install
) -> Artefacts:
    """Return the bare function with the versions in ``locks``, from ``folder``; one of other versions is removed."""
    digest = hashlib.sha256(b"".join([_BARE_CODE.encode(), *(lock.read_bytes() for lock in locks)]))
    task = folder / f"bare-{digest.hexdigest()[:16]}"
    code = task / "bare.py"
    # The code is written last: without it the installation was interrupted.
    if not code.is_file():
        for old in folder.glob("bare*"):
            shutil.rmtree(old)
        install(locks, task)
        code.write_text(_BARE_CODE, encoding="utf-8")
    return Artefacts(task, {}, "bare.handler")


if __name__ == "__main__":
    print(json.dumps(asdict(measure_this_process(json.load(sys.stdin)))))
