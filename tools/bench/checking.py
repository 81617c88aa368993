"""The check of an answer's statements beside one run of the embedder over them, by turns in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.tables import percentile, table
from knowledge.cut.quotable import quotable
from knowledge.cut.quote_spans import Kind
from rag.answer.growing import read_answer
from rag.answer.statements import cut
from rag.config.settings import Settings, load
from rag.ledger import Ledger
from rag.values.answer import Context
from rag.values.chat import Completion, Deadline
from rag.values.question import Question
from rag.wiring import Application, build_application

ROUNDS = 3
STATEMENTS = 3


def checking(index: Path, questions: Sequence[str]) -> str:
    """p50 and p99 of both, and of the first time that a passage is read."""
    service = build_application(load(Settings, {"INDEX_URI": str(index), "LLM_BASE_URL": "http://127.0.0.1:9/v1"}))
    try:
        times = _times(service, questions)
    finally:
        service.index.handle.close()
    embedding = percentile(times[0], 0.5)
    names = ("embedding the answer", "the check, passages for the first time", "the check")
    rows = [(name, percentile(each, 0.5), percentile(each, 0.99)) for name, each in zip(names, times, strict=True)]
    heads = (f"{STATEMENTS} statements", "p50 ms", "p99 ms", "p50 / embedding's p50")
    return table(heads, [(*row, row[1] / embedding) for row in rows])


def _times(service: Application, questions: Sequence[str]) -> tuple[list[float], list[float], list[float]]:
    made_by = service.pipeline.answering
    check = made_by.check
    assert check is not None  # noqa: S101 - there is a model, which is never called
    embedding, first, again = list[float](), list[float](), list[float]()
    for number in range(ROUNDS):
        for made, context in _answers(service, questions):
            stated = cut(read_answer(made.text, made_by.form, context).tree)
            said = "\n".join(unit.claim for unit in stated.units)
            with service.index.lease() as opened:
                embedding.append(_ms(partial(opened.embedder.embed, [said])))
            (again if number else first).append(_ms(partial(check, stated.tree, stated.units, context)))
    return embedding, first, again


def _answers(service: Application, questions: Sequence[str]) -> Iterator[tuple[Completion, Context]]:
    """The first sentence of each of the best passages, cited, for the questions that something is found for."""
    for text in questions:
        ledger = Ledger(time.perf_counter, Deadline.after(30, time.monotonic))
        context = service.pipeline.prepare(Question(text=text), ledger).context
        if context and len(context.used) >= STATEMENTS:
            said = []
            for passage in context.used[:STATEMENTS]:
                chunk = passage.hit.chunk.text
                spans = [chunk[unit.start : unit.end] for unit in quotable(chunk) if unit.kind == Kind.SENTENCE]
                said.append(f"{spans[0].rstrip('.')} {passage.citation}." if spans else "")
            yield Completion(text="\n\n".join(filter(None, said)), model="bench", finish_reason="stop"), context


def _ms(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)
