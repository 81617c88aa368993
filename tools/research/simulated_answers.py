"""Answers of known correctness, put through a profile's own pipeline to test its confidence.

A simulated writer answers with one unit of the packed context, word for word, cited as the profile's prompt asks. Its
strategies:

- ``right``: the unit that holds the answer, if the context has one
- ``last``, ``second``, ``first``: the first long unit of that passage, unless it is right
- ``best``: the unit that covers the question best, for a question that the documents do not answer

``answer_altered`` answers with the right unit, true and altered (``research.alterations``). A question is prepared once
for all strategies: each answer enters ``Pipeline.finish`` as a completion.
"""

from __future__ import annotations

import json
import random
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluate.intervals import auroc_of_samples
from evaluate.judge import contains, squad_tokens
from evaluate.question_files import LabelledQuestion, chunk_names, read_qrels, read_queries, read_questions
from knowledge.cut.units import END, ITEM_MARKER, KIND, LEAD_END, LEAD_START, START, UnitKind
from knowledge.open.index import EmbeddedIndex
from rag.answer.confidence import ConfidenceRouter
from rag.ledger import Ledger
from rag.pipeline import Pipeline
from rag.values.answer import Answer, Context, Passage
from rag.values.chat import Completion, Deadline
from rag.values.question import Question
from rag.values.request import PreparedQuestion
from rag.wiring.application import Application
from rag.write.extractive import ExtractiveWriter
from rag.write.runs import HEADING_SHARE, units_of
from research.alterations import StatementAlterer

ANSWERABLE, NEAR_MISS, FAR_OFF = "answerable", "near", "far"
"""Kinds of questions; the documents do not answer the last two."""
QUOTES = "quotes"
"""The strategy of the extractive writer."""
TRUE, WRITTEN = "true, word for word", "true, written by people who read the passage"
"""Strategies beside the alterations."""
LEFT_OUT = 8
"""One document of this many of a public set is left out of its index."""
LONG = 40
"""Least characters of a unit that a strategy takes without knowing whether it is right."""
SELECTED_SHARE = 0.8
"""Least share of a unit's words in a sentence that people selected, for the unit to count as that sentence."""
TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class CandidateUnit:
    """A unit of a passage as a simulated writer quotes it; ``full_text`` includes its lead-in."""

    passage: Passage
    start: int
    end: int
    text: str
    full_text: str
    coverage: float


type IsRight = Callable[[CandidateUnit], bool]


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """A question with its kind; ``is_right`` says whether a unit answers it.

    ``written`` is the answer of a person who read the passage, or ``""``.
    """

    text: str
    kind: str
    is_right: IsRight = field(default=lambda _: False)
    written: str = ""


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """The service's answer to ``question`` where the model's words come from ``strategy``."""

    question: EvaluationQuestion
    strategy: str
    is_right: bool
    answer: Answer


class WriterSimulation:
    """A ``pipeline`` with late search, whose model is replaced by the strategies."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = replace(pipeline, cache=None, conversation=None, learn=None, rerank=None, feedback=None)

    def answer_by_all(self, question: EvaluationQuestion) -> Iterator[SimulatedAnswer]:
        """Yield the answers of all strategies and of the extractive writer; none if the gate declines."""
        prepared = self.prepare(question)
        context = prepared.context
        if context is None:
            return
        units = list(list_candidates(context))
        for strategy, unit in _choose_units(question, units, context):
            answer = self.answer(prepared, unit.text, unit.passage)
            yield SimulatedAnswer(question, strategy, strategy == "right", answer)
        completion = ExtractiveWriter()(prepared.question, context, deadline=self._ledger().deadline)
        if completion.quotes:
            quotes = [(context.passages[quote.passage], quote.text) for quote in completion.quotes]
            is_right = any(
                unit.passage is passage and unit.text in text and question.is_right(unit)
                for passage, text in quotes
                for unit in units
            )
            answer = self._pipeline.finish(prepared, completion, self._ledger())
            yield SimulatedAnswer(question, QUOTES, is_right, answer)

    def prepare(self, question: EvaluationQuestion) -> PreparedQuestion:
        """Return the question with its context; the context is None if the gate declines."""
        return self._pipeline.prepare(Question(text=question.text), self._ledger())

    def answer(self, prepared: PreparedQuestion, text: str, passage: Passage) -> Answer:
        """Finish a model's ``text`` that cites ``passage`` at its end."""
        text, citation = text.strip(), passage.citation
        cited = f"{text[:-1]} {citation} |" if text.endswith("|") else f"{text} {citation}"
        completion = Completion(text=cited, model="double", finish_reason="stop")
        return self._pipeline.finish(prepared, completion, self._ledger())

    @staticmethod
    def _ledger() -> Ledger:
        return Ledger(time.perf_counter, Deadline.after(TIMEOUT_S, time.perf_counter))


def list_candidates(context: Context) -> Iterator[CandidateUnit]:
    """Yield the units of the packed passages in order, without code."""
    units = units_of(context.passages)
    if units is None or context.evidence is None:
        return
    coverages = np.maximum(units.covers, HEADING_SHARE * units.above) @ context.evidence.asked.weights
    for row, place, coverage in zip(units.table.tolist(), units.passage.tolist(), coverages.tolist(), strict=True):
        passage = context.passages[place]
        text, lead = passage.text[row[START] : row[END]], passage.text[row[LEAD_START] : row[LEAD_END]]
        if row[KIND] != UnitKind.CODE:
            quoted = f"{lead}\n{text}" if row[KIND] == UnitKind.ROW and lead else ITEM_MARKER.sub("", text, count=1)
            yield CandidateUnit(passage, row[START], row[END], quoted, f"{lead}\n{text}", coverage)


def _choose_units(
    question: EvaluationQuestion, units: Sequence[CandidateUnit], context: Context
) -> Iterator[tuple[str, CandidateUnit]]:
    if question.kind != ANSWERABLE:
        if units:
            yield "best", max(units, key=lambda unit: unit.coverage)
        return
    if right := list(filter(question.is_right, units)):
        yield "right", right[0]
    for strategy, place in (("last", -1), ("second", 1), ("first", 0)):
        if len(context.passages) < 2 + (strategy == "last"):
            continue
        passage = context.passages[place]
        long = [unit for unit in units if unit.passage is passage and len(unit.text) >= LONG]
        if long and not question.is_right(long[0]):
            yield strategy, long[0]


def answer_altered(service: Application, questions: Iterable[EvaluationQuestion]) -> Iterator[SimulatedAnswer]:
    """Answer each question with the unit that answers it, true and altered in each way.

    ``strategy`` is the kind of alteration, ``TRUE`` or ``WRITTEN``. Questions without a packed right unit are skipped.
    """
    simulation = WriterSimulation(service.pipeline)
    with service.index.lease() as index:
        assert isinstance(index, EmbeddedIndex)  # noqa: S101 - in a folder
        alterer = StatementAlterer.from_index(index)
    for question in questions:
        prepared = simulation.prepare(question)
        units = list_candidates(prepared.context) if prepared.context else ()
        right = next(filter(question.is_right, units), None)
        if right is None:
            continue
        texts = {TRUE: right.text} | ({WRITTEN: question.written} if question.written else {})
        texts |= dict(alterer.alter(right.text.strip(), [right.passage.hit.chunk]))
        for kind, text in texts.items():
            answer = simulation.answer(prepared, text, right.passage)
            yield SimulatedAnswer(question, kind, kind in {TRUE, WRITTEN}, answer)


def summarise_confidence(answers: Iterable[SimulatedAnswer]) -> dict[str, float]:
    """Return shares (0..1) and an AUROC by name; NaN for an empty group.

    - right, last, second: share of Medium or High among the answers of that strategy; "right High" counts High only,
      "right returned" the answers that routing returns
    - AUROC: right answers against the answers of last, second and first
    """
    by_strategy: dict[str, list[Answer]] = defaultdict(list)
    for one in answers:
        by_strategy[one.strategy].append(one.answer)

    def share(strategy: str, *levels: str) -> float:
        return _mean([answer.confidence.level in levels for answer in by_strategy[strategy]])

    figures = {strategy: share(strategy, "Medium", "High") for strategy in ("right", "last", "second")}
    figures["right High"] = share("right", "High")
    right = by_strategy["right"]
    routings = [answer.routing or ConfidenceRouter()(answer) for answer in right]
    figures["right returned"] = _mean([routing.action == "return" for routing in routings])
    others = [*by_strategy["last"], *by_strategy["second"], *by_strategy["first"]]
    scores = [np.array([answer.confidence.score for answer in group]) for group in (right, others)]
    figures["AUROC"] = auroc_of_samples(*scores) if right and others else float("nan")
    return figures


def _mean(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")


def is_indexed(doc_id: str) -> bool:
    """Return whether a public set's index includes the document; questions about the others are near misses."""
    return zlib.crc32(doc_id.encode()) % LEFT_OUT > 0


def read_public_questions(
    folder: Path, count: int, is_indexed: Callable[[str], bool] = is_indexed
) -> Iterator[EvaluationQuestion]:
    """Yield ``count`` questions of a public set and half as many near misses.

    Near misses are the set's own unanswerable questions, or else questions about documents that are not indexed.
    """
    answers = {row["_id"]: row for row in _read_rows(folder / "answers.jsonl")} if "covid" not in folder.name else {}
    corpus = {row["_id"]: row["text"] for row in _read_rows(folder / "corpus.jsonl")}
    qrels = read_qrels(folder / "qrels.tsv")
    queries = sorted(query for query in read_queries(folder / "queries.jsonl") if query[0] in qrels)
    random.Random(0).shuffle(queries)  # noqa: S311 - no secret
    own = folder / "unanswerable.jsonl"
    asked = []
    near = [EvaluationQuestion(text, NEAR_MISS) for _, text in read_queries(own)] if own.exists() else []
    for number, text in queries:
        relevant = frozenset(document for document, gain in qrels[number].items() if gain > 0)
        if all(map(is_indexed, relevant)):
            answer = answers.get(number, {})
            written = "" if "answer_starts" in answer else next(iter(answer.get("answers", ())), "")
            is_right = _right_by_label(folder.name, answer, relevant, corpus)
            asked.append(EvaluationQuestion(text, ANSWERABLE, is_right, written))
        elif not own.exists() and not any(map(is_indexed, relevant)):
            near.append(EvaluationQuestion(text, NEAR_MISS))
    yield from asked[:count]
    yield from near[: count // 2]


def _right_by_label(
    name: str, answer: Mapping[str, Any], relevant: frozenset[str], corpus: Mapping[str, str]
) -> IsRight:
    selected = [set(squad_tokens(text)) for texts in answer.get("selected_sentences", ()) for text in texts]

    def is_right(unit: CandidateUnit) -> bool:
        chunk = unit.passage.hit.chunk
        if chunk.doc_id not in relevant:
            return False
        if name.startswith("squad"):
            offset = max(0, corpus[chunk.doc_id].find(chunk.text))
            return any(unit.start <= start - offset < unit.end for start in answer["answer_starts"])
        if name.startswith("clapnq"):
            words = set(squad_tokens(unit.text))
            return any(len(words & sentence) >= SELECTED_SHARE * len(words) for sentence in selected)
        return True

    return is_right


def read_sample_questions(folder: Path) -> Iterator[EvaluationQuestion]:
    """Yield the questions of ``asked.jsonl`` of a sample that have an answer's text or that are unanswerable."""
    for labelled in read_questions(folder / "asked.jsonl"):
        if not labelled.answerable:
            yield EvaluationQuestion(labelled.question, NEAR_MISS)
        elif labelled.answer:
            yield EvaluationQuestion(labelled.question, ANSWERABLE, _right_by_text(labelled))


def _right_by_text(labelled: LabelledQuestion) -> IsRight:
    documents = {name.casefold() for name in labelled.expected}

    def is_right(unit: CandidateUnit) -> bool:
        return bool(documents & chunk_names(unit.passage.hit.chunk)) and contains(unit.full_text, labelled.answer)

    return is_right


def _read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
