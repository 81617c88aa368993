"""The warm-path table."""

from __future__ import annotations

from bench.handler import HandlerTimes, report


def test_the_table_tells_percentiles_and_memory_of_each() -> None:
    times = [float(number) for number in range(1, 101)]
    rows = {"in process": HandlerTimes(times, 184_400_000), "elsewhere": HandlerTimes(times[::-1], None)}
    assert report(rows).splitlines() == [
        "| handler, warm, no LLM | p50 ms | p99 ms | peak memory MB |",
        "|---|---|---|---|",
        "| in process | 50.0 | 99.0 | 184 |",
        "| elsewhere | 50.0 | 99.0 | - |",
    ]
