"""Retrieval, whole answers and LangChain beside embedding the question: the same questions, by turns, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from bench.corpus import questions_about
from bench.rival import PYTHON, Rival, rival
from bench.tables import percentile, table
from rag.config.settings import Settings, load
from rag.values.chat import Deadline
from rag.values.question import Question, SearchQuery
from rag.wiring import Application, build_application

ROUNDS = 2
WARM_UPS = 5
NO_RIVAL = "\nNo LangChain: run `make bench`, which sets up .venv-langchain."

EMBEDDING = "embedding the question"
RETRIEVAL = "retrieval (embedding and all signals)"
ANSWER = "whole answer without an LLM"
RIVAL = "LangChain EnsembleRetriever, same embedder"


def ratios(folder: Path) -> str:
    """The table for the index in ``folder``."""
    service = build_application(load(Settings, {"INDEX_URI": str(folder)}))
    try:
        with rival(folder) if PYTHON.exists() else nullcontext() as other, service.index.lease() as index:
            times = _times(_ours(service), other, questions_about(index))
    finally:
        service.index.handle.close()
    return report(times) + ("" if RIVAL in times else NO_RIVAL)


def report(times: Mapping[str, Sequence[float]]) -> str:
    """p50 and p99 of ``times``, by name, in ms and in those of EMBEDDING."""
    figures = {name: (percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items()}
    p50, p99 = figures[EMBEDDING]
    return table(
        ("10,000 chunks", "p50 ms", "p99 ms", "p50 / embedding's p50", "p99 / p50", "p99 / p99"),
        [(name, *own, own[0] / p50, own[1] / p50, own[1] / p99) for name, own in figures.items()],
    )


def _ours(service: Application) -> Mapping[str, Callable[[str], object]]:
    pipeline = service.pipeline

    def answer(text: str) -> object:
        return pipeline.run(Question(text=text), deadline=Deadline.after(30, time.monotonic))

    return {
        EMBEDDING: service.index.embed,
        RETRIEVAL: lambda text: pipeline.retrieve(SearchQuery(text=text, top_k=pipeline.top_k)),
        ANSWER: answer,
    }


def _times(
    ours: Mapping[str, Callable[[str], object]], other: Rival | None, questions: Sequence[str]
) -> Mapping[str, Sequence[float]]:
    times: dict[str, list[float]] = {name: [] for name in (*ours, *([RIVAL] if other else []))}
    for number, text in enumerate([*questions[:WARM_UPS], *(list(questions) * ROUNDS)]):
        for name, call in ours.items():
            start = time.perf_counter()
            call(text)
            took = 1000 * (time.perf_counter() - start)
            if number >= WARM_UPS:
                times[name].append(took)
        if other and (took := other.ask(text)) and number >= WARM_UPS:
            times[RIVAL].append(took)
    return times
