"""Retrieval and whole answers beside embedding the question: the same questions, by turns, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.corpus import questions_about
from bench.tables import percentile, table
from rag.config.settings import Settings, load
from rag.values.chat import Deadline
from rag.values.question import Question, SearchQuery
from rag.wiring import Application, build_application

ROUNDS = 2
WARM_UPS = 5

EMBEDDING = "embedding the question"
RETRIEVAL = "retrieval (embedding and all signals)"
ANSWER = "whole answer without an LLM"


def ratios(folder: Path) -> str:
    """Return the table for the index in ``folder``."""
    service = build_application(load(Settings, {"INDEX_URI": str(folder)}))
    try:
        with service.index.lease() as index:
            return report(_times(service, questions_about(index)))
    finally:
        service.index.handle.close()


def report(times: Mapping[str, Sequence[float]]) -> str:
    """Return p50 and p99 of ``times``, by name, in ms and in those of EMBEDDING."""
    figures = {name: (percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items()}
    p50, p99 = figures[EMBEDDING]
    return table(
        ("10,000 chunks", "p50 ms", "p99 ms", "p50 / embedding's p50", "p99 / p50", "p99 / p99"),
        [(name, *own, own[0] / p50, own[1] / p50, own[1] / p99) for name, own in figures.items()],
    )


def _times(service: Application, questions: Sequence[str]) -> Mapping[str, Sequence[float]]:
    pipeline = service.pipeline
    calls: Mapping[str, Callable[[str], object]] = {
        EMBEDDING: service.index.embed,
        RETRIEVAL: lambda text: pipeline.retrieve(SearchQuery(text=text, top_k=pipeline.top_k)),
        ANSWER: lambda text: pipeline.run(Question(text=text), deadline=Deadline.after(30, time.monotonic)),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number, text in enumerate([*questions[:WARM_UPS], *(list(questions) * ROUNDS)]):
        for name, call in calls.items():
            start = time.perf_counter()
            call(text)
            if number >= WARM_UPS:
                times[name].append(1000 * (time.perf_counter() - start))
    return times
