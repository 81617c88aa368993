"""Answers whose worth is known, of doubles for a language model, put through a profile's own pipeline.

A double answers with one unit of the packed context, word for word, cited as the profile's prompt asks for it:

- ``right``: the one that holds the answer; none where the context has none
- ``last``, ``second``, ``first``: the first long unit of that passage, where it is not right
- ``best``: the one that covers the question best, of a question that the documents do not answer

A question is prepared once for all doubles: what they said goes into ``Pipeline.finish`` as a completion.
"""

from __future__ import annotations

import json
import random
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluate.judge import contains, squad_tokens
from evaluate.question_files import LabelledQuestion, chunk_names, read_qrels, read_queries, read_questions
from knowledge.cut.units import END, ITEM_MARKER, KIND, LEAD_END, LEAD_START, START, UnitKind
from knowledge.model.values import Chunk
from rag.ledger import Ledger
from rag.pipeline import Pipeline
from rag.values.answer import Answer, Context, Passage
from rag.values.chat import Completion, Deadline
from rag.values.question import Question
from rag.values.request import PreparedQuestion
from rag.write.extractive import ExtractiveWriter
from rag.write.runs import HEADING_SHARE, units_of

LACKS = 8
"""One in so many documents of a public set is left out of its index."""
LONG = 40
"""Characters of a unit that a double takes for an answer without looking at it."""
TAKEN = 0.8
"""Share of a unit's words that a sentence has which people selected, so that it is that sentence."""
PATIENCE_S = 600.0
QUOTES = "quotes"


@dataclass(frozen=True, slots=True)
class Piece:
    """A unit of a passage as a double quotes it; ``said`` is all that it says, what introduces it included."""

    passage: Passage
    start: int
    end: int
    text: str
    said: str
    covers: float


type IsRight = Callable[[Piece], bool]


@dataclass(frozen=True, slots=True)
class Problem:
    """A question of a ``kind``: asked (the documents answer it), near or far; ``is_right`` says which units do.

    ``written`` is the answer of somebody who read the passage, if there is one.
    """

    text: str
    kind: str
    is_right: IsRight = field(default=lambda _: False)
    written: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an answer to ``problem``; ``double`` is ``"quotes"`` for the extractive engine's."""

    problem: Problem
    double: str
    right: bool
    answer: Answer


class Doubles:
    """Asks ``pipeline``, which has a late search, and answers for its model."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = replace(pipeline, cache=None, conversation=None, learn=None, rerank=None, feedback=None)

    def answers(self, problem: Problem) -> Iterator[Outcome]:
        """Those of all doubles and of the extractive engine; none where the gate declines."""
        draft = self.draft(problem)
        if draft.context is None:
            return
        pieces = list(pieces_of(draft.context))
        for double, piece in _chosen(problem, pieces, draft.context):
            yield Outcome(problem, double, double == "right", self.answer(draft, piece.text, piece.passage))
        made = ExtractiveWriter()(draft.question, draft.context, deadline=self._ledger().deadline)
        if made.quotes:
            yield Outcome(
                problem, QUOTES, _quotes_right(problem, made, pieces, draft.context), self._finish(draft, made)
            )

    def draft(self, problem: Problem) -> PreparedQuestion:
        """The context of its question; none where the gate declines."""
        return self._pipeline.prepare(Question(text=problem.text), self._ledger())

    def answer(self, draft: PreparedQuestion, text: str, passage: Passage) -> Answer:
        """What becomes of a model's ``text`` that cites ``passage`` at its end."""
        text, mark = text.strip(), passage.citation
        cited = f"{text[:-1]} {mark} |" if text.endswith("|") else f"{text} {mark}"
        return self._finish(draft, Completion(text=cited, model="double", finish_reason="stop"))

    def _finish(self, draft: PreparedQuestion, made: Completion) -> Answer:
        return self._pipeline.finish(draft, made, self._ledger())

    @staticmethod
    def _ledger() -> Ledger:
        return Ledger(time.perf_counter, Deadline.after(PATIENCE_S, time.perf_counter))


def pieces_of(context: Context) -> Iterator[Piece]:
    """The units of what was packed, in their order."""
    units = units_of(context.passages)
    if units is None or context.evidence is None:
        return
    covers = np.maximum(units.covers, HEADING_SHARE * units.above) @ context.evidence.asked.weights
    for row, place, cover in zip(units.table.tolist(), units.passage.tolist(), covers.tolist(), strict=True):
        passage = context.passages[place]
        text, lead = passage.text[row[START] : row[END]], passage.text[row[LEAD_START] : row[LEAD_END]]
        if row[KIND] != UnitKind.CODE:
            quoted = f"{lead}\n{text}" if row[KIND] == UnitKind.ROW and lead else ITEM_MARKER.sub("", text, count=1)
            yield Piece(passage, row[START], row[END], quoted, f"{lead}\n{text}", cover)


def _chosen(problem: Problem, pieces: Sequence[Piece], context: Context) -> Iterator[tuple[str, Piece]]:
    if problem.kind != "asked":
        if pieces:
            yield "best", max(pieces, key=lambda piece: piece.covers)
        return
    right = [piece for piece in pieces if problem.is_right(piece)]
    if right:
        yield "right", right[0]
    for double, place in (("last", -1), ("second", 1), ("first", 0)):
        if len(context.passages) < 2 + (double == "last"):
            continue
        passage = context.passages[place]
        of_it = [piece for piece in pieces if piece.passage is passage and len(piece.text) >= LONG]
        if of_it and not problem.is_right(of_it[0]):
            yield double, of_it[0]


def _quotes_right(problem: Problem, made: Completion, pieces: Sequence[Piece], context: Context) -> bool:
    passages = [(context.passages[quote.passage], quote.text) for quote in made.quotes]
    return any(
        piece.passage is passage and piece.text in text and problem.is_right(piece)
        for passage, text in passages
        for piece in pieces
    )


def has(doc_id: str) -> bool:
    """Whether the index of a public set is made with that document; questions about the others are near misses."""
    return zlib.crc32(doc_id.encode()) % LACKS > 0


def public_problems(folder: Path, count: int, there: Callable[[str], bool] = has) -> Iterator[Problem]:
    """``count`` questions of a public set, half as many near misses: its own, else about documents that are not there.

    ``there`` says which documents its index has.
    """
    answers = {one["_id"]: one for one in _lines(folder / "answers.jsonl")} if "covid" not in folder.name else {}
    corpus = {one["_id"]: one["text"] for one in _lines(folder / "corpus.jsonl")}
    qrels = read_qrels(folder / "qrels.tsv")
    queries = sorted(query for query in read_queries(folder / "queries.jsonl") if query[0] in qrels)
    random.Random(0).shuffle(queries)  # noqa: S311 - no secret
    own = folder / "unanswerable.jsonl"
    asked, near = [], [Problem(text, "near") for _, text in read_queries(own)] if own.exists() else []
    for number, text in queries:
        relevant = frozenset(document for document, gain in qrels[number].items() if gain > 0)
        if all(map(there, relevant)):
            answer = answers.get(number, {})
            written = "" if "answer_starts" in answer else next(iter(answer.get("answers", ())), "")
            asked.append(Problem(text, "asked", _is_right(folder.name, answer, relevant, corpus), written))
        elif not own.exists() and not any(map(there, relevant)):
            near.append(Problem(text, "near"))
    yield from asked[:count]
    yield from near[: count // 2]


def _is_right(name: str, answer: Mapping[str, Any], relevant: frozenset[str], corpus: dict[str, str]) -> IsRight:
    if name.startswith("squad"):
        return lambda piece: piece.passage.hit.chunk.doc_id in relevant and _holds_span(piece, answer, corpus)
    if name.startswith("clapnq"):
        selected = [set(squad_tokens(one)) for some in answer["selected_sentences"] for one in some]
        return lambda piece: piece.passage.hit.chunk.doc_id in relevant and _is_taken(piece, selected)
    return lambda piece: piece.passage.hit.chunk.doc_id in relevant


def _holds_span(piece: Piece, answer: Mapping[str, Any], corpus: dict[str, str]) -> bool:
    chunk: Chunk = piece.passage.hit.chunk
    before = corpus[chunk.doc_id].find(chunk.text)
    starts = [start - max(0, before) for start in answer["answer_starts"]]
    return any(piece.start <= start < piece.end for start in starts)


def _is_taken(piece: Piece, selected: Sequence[set[str]]) -> bool:
    words = set(squad_tokens(piece.text))
    return any(len(words & one) >= TAKEN * len(words) for one in selected)


def sample_problems(folder: Path) -> Iterator[Problem]:
    """What people asked of a sample, and how its right answers are told."""
    for one in read_questions(folder / "asked.jsonl"):
        if not one.answerable:
            yield Problem(one.question, "near")
        elif one.answer:
            yield Problem(one.question, "asked", partial(_says, one))


def _says(wanted: LabelledQuestion, piece: Piece) -> bool:
    expected = {name.casefold() for name in wanted.expected}
    return bool(expected & chunk_names(piece.passage.hit.chunk)) and contains(piece.said, wanted.answer)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
