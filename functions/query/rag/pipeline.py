"""The pipeline: slots in a fixed order, each timed in one place.

run(question) = finish(generate(prepare(question)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rag.stages.confidence import NO_SOURCES, NOT_ANSWERED
from rag.stages.generate import Writer
from rag.stages.references import build_related_docs, build_sources
from rag.text.refusal import is_refusal
from rag.types import (
    Answer,
    Citation,
    Completion,
    Confidence,
    Context,
    Deadline,
    Decline,
    Hit,
    Polished,
    Proceed,
    Question,
    RefusedBy,
    Routing,
    SearchQuery,
)

type Admit = Callable[[Question], Question]
type QueryStage = Callable[[SearchQuery, Question], SearchQuery]
type Retrieve = Callable[[SearchQuery], tuple[Hit, ...]]
type Refine = Callable[[tuple[Hit, ...], Question], tuple[Hit, ...]]
type Gate = Callable[[tuple[Hit, ...], Question], Proceed | Decline]
type Pack = Callable[[tuple[Hit, ...]], Context]
type Cite = Callable[[str, tuple[Hit, ...]], tuple[Citation, ...]]
type Polish = Callable[[str, Context], Polished]
type Score = Callable[[str, Proceed, tuple[Citation, ...]], Confidence]
type Route = Callable[[Confidence, RefusedBy | None], Routing]


@dataclass(slots=True)
class Stopwatch:
    """The timings of one request in milliseconds, by slot."""

    clock: Callable[[], float]
    timings: dict[str, float] = field(default_factory=dict)

    def time[**P, T](self, slot: str, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call, and add what it took to ``slot``'s time, whether it returns or raises."""
        start = self.clock()
        try:
            return call(*args, **kwargs)
        finally:
            self.timings[slot] = self.timings.get(slot, 0.0) + 1000 * (self.clock() - start)


@dataclass(frozen=True, slots=True)
class Draft:
    """What ``prepare`` made: everything up to the context, or a decline."""

    question: Question
    query: SearchQuery
    decision: Proceed | Decline
    context: Context | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """One profile's slots. A slot that a profile lacks is an empty tuple.

    ``top_k`` is how many chunks to retrieve when the request does not say; ``decline_text`` is the answer
    when there is none; ``clock`` counts seconds, monotonically; ``new_id`` makes response ids.
    """

    profile: str
    top_k: int
    decline_text: str
    admit: Admit
    query_stages: tuple[QueryStage, ...]
    retrieve: Retrieve
    refine: tuple[Refine, ...]
    gate: Gate
    pack: Pack
    write: Writer
    polish: tuple[Polish, ...] = ()
    cite: Cite
    score: Score
    route: Route | None = None
    categories: Mapping[str, str]
    clock: Callable[[], float]
    new_id: Callable[[], str]

    def run(self, question: Question, *, deadline: Deadline) -> Answer:
        """Answer ``question`` before ``deadline``.

        Raises:
            BadRequest: the question cannot be admitted, or a parameter is wrong.
            IndexUnavailable: there is no usable index.
            SearchFailed, LlmFailed, LlmUnavailable: a stage that cannot be left out failed.
        """
        watch = Stopwatch(self.clock)
        start = self.clock()
        draft = self.prepare(question, watch)
        completion = self.generate(draft, watch, deadline)
        answer = self.finish(draft, completion, watch)
        return replace(answer, timings={**watch.timings, "total": 1000 * (self.clock() - start)})

    def prepare(self, question: Question, watch: Stopwatch) -> Draft:
        """From the question to the context that the model will see, or to a decline."""
        question = watch.time("admit", self.admit, question)
        query = SearchQuery(text=question.text, top_k=question.top_k or self.top_k)
        for stage in self.query_stages:
            query = watch.time("query", stage, query, question)
        hits = watch.time("retrieval", self.retrieve, query)
        for refine in self.refine:
            hits = watch.time("refine", refine, hits, question)
        decision = watch.time("gate", self.gate, hits, question)
        context = watch.time("pack", self.pack, decision.hits) if isinstance(decision, Proceed) else None
        return Draft(question, query, decision, context)

    def generate(self, draft: Draft, watch: Stopwatch, deadline: Deadline) -> Completion | None:
        """The completion; None, and no model call, where the gate declined."""
        if draft.context is None:
            return None
        return watch.time("generation", self.write, draft.question, draft.context, deadline=deadline)

    def finish(self, draft: Draft, completion: Completion | None, watch: Stopwatch) -> Answer:
        """From the completion to the answer with its citations, references, confidence and routing."""
        if completion is None or draft.context is None or isinstance(draft.decision, Decline):
            return self._declined(draft)
        text, trail = completion.text, draft.query.trail
        for polish in self.polish:
            polished = watch.time("polish", polish, text, draft.context)
            text, trail = polished.text, (*trail, *polished.trail)
        hits = draft.decision.hits
        citations = watch.time("citation", self.cite, text, hits)
        refused = not citations and is_refusal(text)
        confidence = NOT_ANSWERED if refused else watch.time("confidence", self.score, text, draft.decision, citations)
        return Answer(
            text=text,
            question=draft.question,
            profile=self.profile,
            response_id=self.new_id(),
            confidence=confidence,
            refused=refused,
            citations=citations,
            sources=build_sources(citations),
            related_docs=build_related_docs(hits, self.categories),
            routing=self.route(confidence, "model" if refused else None) if self.route else None,
            chunks_retrieved=draft.decision.passed,
            completion=completion,
            trail=trail,
        )

    def _declined(self, draft: Draft) -> Answer:
        reason = (draft.decision.reason,) if isinstance(draft.decision, Decline) else ()
        return Answer(
            text=self.decline_text,
            question=draft.question,
            profile=self.profile,
            response_id=self.new_id(),
            confidence=NO_SOURCES,
            refused=True,
            routing=self.route(NO_SOURCES, "gate") if self.route else None,
            trail=(*draft.query.trail, *reason),
        )
