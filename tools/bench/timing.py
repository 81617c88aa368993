"""Benchmarks of retrieval, whole answers and the claim check, in this process."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

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
from rag.wiring.application import Application, build_application
from rag.wiring.live_index import LiveIndex

RETRIEVAL_ROUNDS, RATIO_ROUNDS, CHECK_ROUNDS = 5, 2, 3
PROCESSES = 7
WARM_UPS = 5
CLAIMS = 3
QUESTIONS = 200

EMBEDDING = "embedding the question"
RETRIEVAL = "retrieval (embedding and all signals)"
ANSWER = "whole answer without an LLM"
_QUERY_PROGRAM = """
import sys
from knowledge.embedding import MiniLM
from knowledge.open.index import open_index
index = open_index(sys.argv[1], embedder=MiniLM())
print(len(index.nearest(index.embedder.embed([sys.argv[2]])[0], k=10)))
"""


def measure_retrieval(index_folder: Path, questions: Sequence[str]) -> str:
    """Return the table of warm retrieval beside a process per query, as in Waypoint's seed."""
    handle = IndexHandle(lambda: open_index(index_folder, embedder=MiniLM()))
    retrieve, filter_hits = DenseRetriever(LiveIndex(handle), l2_scale), MinScore(0.15, l2_scale)

    def find(text: str) -> object:
        return filter_hits(retrieve(SearchQuery(text=text, top_k=10)).hits, Question(text=text))

    def find_in_fresh_process(text: str) -> object:
        return subprocess.run(
            [sys.executable, "-c", _QUERY_PROGRAM, str(index_folder), text], check=True, capture_output=True
        )

    find("warm up")
    warm = [_time_call(find, text) for text in [*questions] * RETRIEVAL_ROUNDS]
    handle.close()
    fresh = [_time_call(find_in_fresh_process, text) for text in questions[:PROCESSES]]
    warm_p50 = percentile(warm, 0.5)
    times = {"embed + query + filter, warm": warm, "a process per query": fresh}
    rows = [
        (name, percentile(each, 0.5), percentile(each, 0.99), f"{percentile(each, 0.5) / warm_p50:.0f}")
        for name, each in times.items()
    ]
    return table(("retrieval", "p50 ms", "p99 ms", "times as long"), rows)


def measure_answers(folder: Path) -> str:
    """Return the table of retrieval and answers beside embedding the question, for the 10,000 chunks in ``folder``.

    The calls take turns, question by question. The questions are about random sections of the index, in the words of
    their headings.
    """
    service = build_application(load(Settings, {"INDEX_URI": str(folder)}))
    pipeline = service.pipeline
    calls: Mapping[str, Callable[[str], object]] = {
        EMBEDDING: service.index.embed,
        RETRIEVAL: lambda text: pipeline.retrieve(SearchQuery(text=text, top_k=pipeline.top_k)),
        ANSWER: lambda text: pipeline.run(Question(text=text), deadline=Deadline.after(30, time.monotonic)),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    with service.index.lease() as index:
        headed = [chunk for chunk in index.iter_chunks() if chunk.section]
    chosen = random.Random(2).sample(headed, min(QUESTIONS, len(headed)))  # noqa: S311 - a sample
    questions = [f"What is {chunk.section.split(' > ')[-1]} and how do I use it?" for chunk in chosen]
    for number, text in enumerate([*questions[:WARM_UPS], *(questions * RATIO_ROUNDS)]):
        for name, call in calls.items():
            milliseconds = _time_call(call, text)
            if number >= WARM_UPS:
                times[name].append(milliseconds)
    service.index.handle.close()
    return ratio_table(times)


def ratio_table(times: Mapping[str, Sequence[float]]) -> str:
    """Return the table of p50 and p99 by name, in milliseconds and as multiples of ``EMBEDDING``'s."""
    figures = {name: (percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items()}
    p50, p99 = figures[EMBEDDING]
    return table(
        ("10,000 chunks", "p50 ms", "p99 ms", "p50 / embedding's p50", "p99 / p50", "p99 / p99"),
        [(name, *own, own[0] / p50, own[1] / p50, own[1] / p99) for name, own in figures.items()],
    )


def measure_claim_check(index: Path, questions: Sequence[str]) -> str:
    """Return the table of the check of an answer's claims beside one run of the embedder over them."""
    service = build_application(load(Settings, {"INDEX_URI": str(index), "LLM_BASE_URL": "http://127.0.0.1:9/v1"}))
    answering = service.pipeline.answering
    check = answering.check
    assert check is not None  # noqa: S101 - a model is configured, but never called
    embedding, first, again = list[float](), list[float](), list[float]()
    for number in range(CHECK_ROUNDS):
        for completion, context in _quote_passages(service, questions):
            tree, claims = split_claims(parse_answer(completion.text, answering.form, context).tree)
            text = "\n".join(claim.plain for claim in claims)
            with service.index.lease() as opened:
                embedding.append(_time_call(opened.embedder.embed, [text]))
            (again if number else first).append(_time_call(check, tree, claims, context))
    service.index.handle.close()
    embedding_p50 = percentile(embedding, 0.5)
    times = {"embedding the answer": embedding, "the check, passages for the first time": first, "the check": again}
    head = (f"{CLAIMS} statements", "p50 ms", "p99 ms", "p50 / embedding's p50")
    rows = ((name, percentile(each, 0.5), percentile(each, 0.99)) for name, each in times.items())
    return table(head, [(*row, row[1] / embedding_p50) for row in rows])


def _quote_passages(service: Application, questions: Sequence[str]) -> Iterator[tuple[Completion, Context]]:
    """Yield for each question the first sentences of the best passages, cited; questions with few hits are skipped."""
    for text in questions:
        ledger = Ledger(time.perf_counter, Deadline.after(30, time.monotonic))
        context = service.pipeline.prepare(Question(text=text), ledger).context
        if context and len(context.passages) >= CLAIMS:
            lines = []
            for passage in context.passages[:CLAIMS]:
                chunk = passage.hit.chunk.text
                first = next((unit for unit in quotable_units(chunk) if unit.kind == UnitKind.SENTENCE), None)
                if first is not None:
                    lines.append(f"{chunk[first.start : first.end].rstrip('.')} {passage.citation}.")
            yield Completion(text="\n\n".join(lines), model="bench", finish_reason="stop"), context


def _time_call(call: Callable[..., object], *values: object) -> float:
    start = time.perf_counter()
    call(*values)
    return 1000 * (time.perf_counter() - start)
