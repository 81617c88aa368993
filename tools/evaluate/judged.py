"""A person's questions, asked of an index without any bar: the evidence for each, and whether the quotes are right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evaluate.labelled import names
from evaluate.words import contains, without_marks
from rag.answer.confidence import NO_SOURCES, answer_signals, log_odds
from rag.values.answer import Proceed
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.write.extractive import ExtractiveWriter

if TYPE_CHECKING:
    from evaluate.labelled import LabelledQuestion
    from knowledge.model.values import Evidence, SearchResult
    from rag.pipeline import Pipeline
    from rag.values.answer import Answer, Confidence, ConfidenceInput

PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Case:
    """How a labelled question fares.

    ``score`` is the joined evidence (``knowledge.search.signals``) that a bar is compared with. ``log_odds`` is that of
    the shipped confidence, None where nothing was quoted. ``right`` says whether the quotes hold the ``answer``, or,
    where that is not known, cite an ``expected`` document; None where neither is known of an answerable question.
    """

    answerable: bool
    score: float
    log_odds: float | None = None
    right: bool | None = None


class Asker:
    """Asks ``pipeline`` without its gate, its memory and its language model."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._evidence: Evidence | None = None
        self._log_odds: float | None = None
        self._pipeline = replace(
            pipeline,
            gate=self._open,
            score=self._score,
            write=ExtractiveWriter(),
            answering=replace(pipeline.answering, check=None),
            cache=None,
            conversation=None,
            learn=None,
            rerank=None,
            feedback=None,
        )

    def cases(self, questions: Iterable[LabelledQuestion]) -> Iterator[Case | None]:
        """A case each; None for one that nothing is searched for (a greeting), or whose label is not known."""
        for labelled in questions:
            self._evidence = self._log_odds = None
            deadline = Deadline.after(PATIENCE_S, self._pipeline.clock)
            answer = self._pipeline.run(Question(text=labelled.question), deadline=deadline)
            if self._evidence is None or labelled.answerable is None:
                yield None
                continue
            right = _right(answer, labelled) if labelled.answerable else False
            yield Case(labelled.answerable, self._evidence.score, self._log_odds, right)

    def _open(self, found: SearchResult, _: Question) -> Proceed:
        self._evidence = found.evidence
        return Proceed(found.hits, len(found.hits), found.evidence)

    def _score(self, said: ConfidenceInput, found: Proceed) -> Confidence:
        values = answer_signals(said, found)
        self._log_odds = None if values is None else log_odds(values)
        return NO_SOURCES


def _right(answer: Answer, labelled: LabelledQuestion) -> bool | None:
    if labelled.answer:
        return contains(without_marks(answer.text, (one.raw for one in answer.citations)), labelled.answer)
    if not labelled.expected:
        return None
    cited = {name for citation in answer.citations for hit in citation.hits for name in names(hit.chunk)}
    return any(name.casefold() in cited for name in labelled.expected)
