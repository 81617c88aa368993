"""``python -m bench.inprocess``: the handler in a process that does nothing else, so that its memory is its own.

Reads a JSON list of questions from standard input, writes one JSON object to standard output: ``times_ms``, one for
each question and round, and ``peak_bytes``, null where the system does not tell it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from typing import Any, cast

from bench.handler import ROUNDS, WARM_UP, event
from emulator.memory import peak_bytes


class _Context:
    """What Lambda passes beside the event."""

    function_name = "bench"
    memory_limit_in_mb = 1769
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"
    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        return 29_000


def main() -> int:
    """Call the handler ROUNDS times with each question."""
    questions = json.load(sys.stdin)
    times = []
    with contextlib.redirect_stdout(io.StringIO()):  # the handler's logs
        import app

        for question in [WARM_UP, *questions * ROUNDS]:
            start = time.perf_counter()
            app.lambda_handler(event(question), cast(Any, _Context()))
            times.append(1000 * (time.perf_counter() - start))
    print(json.dumps({"times_ms": times[1:], "peak_bytes": peak_bytes()}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
