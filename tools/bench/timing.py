"""Retrieval, whole answers and the check of statements in this process: the same questions, by turns, in one run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.corpus import questions_about
from bench.tables import percentile, table
from knowledge.cut.quotable import quotable_units
from knowledge.cut.units import UnitKind
from knowledge.embedding import MiniLM
from knowledge.open.handle import IndexHandle
from knowledge.open.index import open_index
from rag.answer.claims import split_claims
from rag.answer.streaming_parser import parse_answer
from rag.config.settings import Settings, load
from rag.find.refine import MinScore
from rag.find.retrieve import DenseRetriever, l2_scale
from rag.ledger import Ledger
from rag.values.answer import Context
from rag.values.chat import Completion, Deadline
from rag.values.question import Question, SearchQuery
from rag.wiring import Application, build_application
from rag.wiring.live_index import LiveIndex

RETRIEVAL_ROUNDS, RATIO_ROUNDS, CHECK_ROUNDS = 5, 2, 3
PROCESSES = 7
WARM_UPS = 5
STATEMENTS = 3

EMBEDDING = "embedding the question"
RETRIEVAL = "retrieval (embedding and all signals)"
ANSWER = "whole answer without an LLM"
_FRESH = """
import sys
from knowledge.embedding import MiniLM
from knowledge.open.index import open_index
index = open_index(sys.argv[1], embedder=MiniLM())
print(len(index.nearest(index.embedder.embed([sys.argv[2]])[0], k=10)))
"""


def retrieval(index_folder: Path, questions: Sequence[str]) -> str:
    """Return the table of embed + query + filter beside a process for each query, as Waypoint's seed did it."""
    handle = IndexHandle(lambda: open_index(index_folder, embedder=MiniLM()))
    retrieve, keep = DenseRetriever(LiveIndex(handle), l2_scale), MinScore(0.15, l2_scale)

    def find(text: str) -> object:
        return keep(retrieve(SearchQuery(text=text, top_k=10)).hits, Question(text=text))

    def find_in_fresh_process(text: str) -> object:
        return subprocess.run([sys.executable, "-c", _FRESH, str(index_folder), text], check=True, capture_output=True)

    find("warm up")
    warm = [_milliseconds(find, text) for text in [*questions] * RETRIEVAL_ROUNDS]
    handle.close()
    fresh = [_milliseconds(find_in_fresh_process, text) for text in questions[:PROCESSES]]
    usual = percentile(warm, 0.5)
    times = {"embed + query + filter, warm": warm, "a process per query": fresh}
    rows = [
        (name, percentile(each, 0.5), percentile(each, 0.99), f"{percentile(each, 0.5) / usual:.0f}")
        for name, each in times.items()
    ]
    return table(("retrieval", "p50 ms", "p99 ms", "times as long"), rows)


def ratios(folder: Path) -> str:
    """Return the table of retrieval and whole answers beside embedding the question, for the index in ``folder``."""
    service = build_application(load(Settings, {"INDEX_URI": str(folder)}))
    pipeline = service.pipeline
    calls: Mapping[str, Callable[[str], object]] = {
        EMBEDDING: service.index.embed,
        RETRIEVAL: lambda text: pipeline.retrieve(SearchQuery(text=text, top_k=pipeline.top_k)),
        ANSWER: lambda text: pipeline.run(Question(text=text), deadline=Deadline.after(30, time.monotonic)),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    with service.index.lease() as index:
        questions = questions_about(index)
    for number, text in enumerate([*questions[:WARM_UPS], *(questions * RATIO_ROUNDS)]):
        for name, call in calls.items():
            took = _milliseconds(call, text)
            if number >= WARM_UPS:
                times[name].append(took)
    service.index.handle.close()
    return report(times)


def report(times: Mapping[str, Sequence[float]]) -> str:
    """Return p50 and p99 of ``times``, by name, in ms and in those of EMBEDDING."""
    figures = {name: (percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items()}
    p50, p99 = figures[EMBEDDING]
    return table(
        ("10,000 chunks", "p50 ms", "p99 ms", "p50 / embedding's p50", "p99 / p50", "p99 / p99"),
        [(name, *own, own[0] / p50, own[1] / p50, own[1] / p99) for name, own in figures.items()],
    )


def checking(index: Path, questions: Sequence[str]) -> str:
    """Return the table of the check of an answer's statements beside one run of the embedder over them."""
    service = build_application(load(Settings, {"INDEX_URI": str(index), "LLM_BASE_URL": "http://127.0.0.1:9/v1"}))
    answering = service.pipeline.answering
    check = answering.check
    assert check is not None  # noqa: S101 - there is a model, which is never called
    embedding, first, again = list[float](), list[float](), list[float]()
    for number in range(CHECK_ROUNDS):
        for completion, context in _answers(service, questions):
            stated = split_claims(parse_answer(completion.text, answering.form, context).tree)
            text = "\n".join(claim.plain for claim in stated.claims)
            with service.index.lease() as opened:
                embedding.append(_milliseconds(opened.embedder.embed, [text]))
            (again if number else first).append(_milliseconds(check, stated.tree, stated.claims, context))
    service.index.handle.close()
    usual = percentile(embedding, 0.5)
    times = {"embedding the answer": embedding, "the check, passages for the first time": first, "the check": again}
    heads = (f"{STATEMENTS} statements", "p50 ms", "p99 ms", "p50 / embedding's p50")
    rows = ((name, percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items())
    return table(heads, [(*row, row[1] / usual) for row in rows])


def _answers(service: Application, questions: Sequence[str]) -> Iterator[tuple[Completion, Context]]:
    """Yield the first sentence of each of the best passages, cited, for the questions that something is found for."""
    for text in questions:
        ledger = Ledger(time.perf_counter, Deadline.after(30, time.monotonic))
        context = service.pipeline.prepare(Question(text=text), ledger).context
        if context and len(context.passages) >= STATEMENTS:
            lines = []
            for passage in context.passages[:STATEMENTS]:
                chunk = passage.hit.chunk.text
                spans = [
                    chunk[unit.start : unit.end] for unit in quotable_units(chunk) if unit.kind == UnitKind.SENTENCE
                ]
                lines.append(f"{spans[0].rstrip('.')} {passage.citation}." if spans else "")
            yield Completion(text="\n\n".join(filter(None, lines)), model="bench", finish_reason="stop"), context


def _milliseconds[**Arguments](
    call: Callable[Arguments, object], *values: Arguments.args, **named: Arguments.kwargs
) -> float:
    start = time.perf_counter()
    call(*values, **named)
    return 1000 * (time.perf_counter() - start)
