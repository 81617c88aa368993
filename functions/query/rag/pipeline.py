"""The pipeline: slots in a fixed order, each timed in one place.

run(question) = finish(generate(prepare(question)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from rag.ledger import Ledger
from rag.ports import Retriever, Writer
from rag.stages.after.feedback_log import FeedbackLog, grounds
from rag.stages.cache.answer_cache import CacheSlot
from rag.stages.cite.references import build_related_docs, build_sources
from rag.stages.conversation.conversation import Conversation
from rag.stages.refine.notes import order_notes
from rag.stages.refine.rerank import LlmRerank
from rag.stages.retrieve.retry_unfiltered import RetryUnfiltered
from rag.stages.score.confidence import NO_SOURCES, NOT_ANSWERED
from rag.text.refusal import has_words, is_refusal
from rag.values.answer import (
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
from rag.values.stored import CacheHit, Turn

type Admit = Callable[[Question], Question]
type QueryStage = Callable[[SearchQuery, Question], SearchQuery]
type Refine = Callable[[tuple[Hit, ...], Question], tuple[Hit, ...]]
type Gate = Callable[[tuple[Hit, ...], Question], Proceed | Decline]
type Pack = Callable[[tuple[Hit, ...]], Context]
type Cite = Callable[[str, tuple[Hit, ...]], tuple[Citation, ...]]
type Polish = Callable[[str, Context], Polished]
type Score = Callable[[str, Proceed, tuple[Citation, ...]], Confidence]
type Route = Callable[[Confidence, RefusedBy | None], Routing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What ``prepare`` made: a context, a decline, or an answer that the cache had.

    ``standalone`` is the question as it stands alone, before acronyms are expanded. ``history`` is what of the
    conversation goes into the answer: nothing, unless the question leans on it. ``key`` is the question's in the cache,
    None where there is none.
    """

    question: Question
    query: SearchQuery
    standalone: str
    history: tuple[Turn, ...] = ()
    key: str | None = None
    cached: CacheHit | None = None
    decision: Proceed | Decline | None = None
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """One profile's slots. A slot that a profile lacks is None or an empty tuple.

    ``top_k`` is how many chunks to retrieve when the request does not say; ``decline_text`` is the answer when there is
    none; ``clock`` counts seconds, monotonically; ``new_id`` makes response ids. ``refine`` chooses of what is found,
    by what retrieval knows (hits of a detected filter that the gate would then decline count as nothing); ``learn`` (by
    feedback), ``order`` and ``rerank`` put what is left in order, so that no vote moves the gate. ``conversation``,
    ``cache``, ``learn``, ``rerank`` and ``feedback`` (what is kept of a response) may fail: see ``Answer.skipped``.
    """

    profile: str
    top_k: int
    decline_text: str
    admit: Admit
    conversation: Conversation | None = None
    query_stages: tuple[QueryStage, ...]
    cache: CacheSlot | None = None
    retrieve: Retriever
    refine: tuple[Refine, ...] = ()
    learn: Refine | None = None
    order: tuple[Refine, ...] = ()
    rerank: LlmRerank | None = None
    gate: Gate
    pack: Pack
    write: Writer
    polish: tuple[Polish, ...] = ()
    cite: Cite
    score: Score
    route: Route | None = None
    feedback: FeedbackLog | None = None
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
        ledger = Ledger(self.clock, deadline)
        start = self.clock()
        with ledger.reported():
            draft = self.prepare(question, ledger)
            completion = self.generate(draft, ledger)
            answer = self.finish(draft, completion, ledger)
        self._remember(draft, answer, ledger)
        timings = {**ledger.timings, "total": 1000 * (self.clock() - start)}
        skipped = tuple(dict.fromkeys(ledger.skipped))
        return replace(answer, llm=ledger.llm, timings=timings, skipped=skipped, events=tuple(ledger.events))

    def prepare(self, question: Question, ledger: Ledger) -> Draft:
        """From the question to the context that the model will see, to a decline, or to a cached answer."""
        question = ledger.time("admit", self.admit, question)
        query = SearchQuery(text=question.text, top_k=question.top_k or self.top_k)
        history: tuple[Turn, ...] = ()
        if self.conversation:
            question = self.conversation.identified(question)
            query, history = self.conversation.resolve(query, question, ledger)
        standalone = query.text
        for stage in self.query_stages:
            query = ledger.time("query", stage, query, question)
        draft = Draft(
            question=replace(question, resolved=query.text), query=query, standalone=standalone, history=history
        )
        if self.cache:
            draft = self._looked_up(draft, self.cache, ledger)
        return draft if draft.cached else self._retrieved(draft, ledger)

    def generate(self, draft: Draft, ledger: Ledger) -> Completion | None:
        """The completion; None, and no model call, where the gate declined or the cache answered."""
        if draft.context is None:
            return None
        write = partial(self.write, draft.question, draft.context, deadline=ledger.deadline, history=draft.history)
        return ledger.time("generation", ledger.complete, write)

    def finish(self, draft: Draft, completion: Completion | None, ledger: Ledger) -> Answer:
        """From the completion to the answer with its citations, references, confidence and routing."""
        if draft.cached and self.cache:
            ledger.events.append(f"cache_{draft.cached.layer}")
            found = f"answered from the cache ({draft.cached.layer})"
            trail = (*draft.query.trail, found)
            return self.cache.recall(draft.cached, draft.question, self.profile, self.new_id(), trail, self.route)
        if completion and not completion.text:
            draft = replace(draft, decision=Decline("what was found holds nothing that can be quoted"))
        if completion is None or draft.context is None or not isinstance(draft.decision, Proceed):
            return self._declined(draft)
        text, trail = completion.text, draft.query.trail
        for polish in self.polish:
            polished = ledger.time("polish", polish, text, draft.context)
            text, trail = polished.text, (*trail, *polished.trail)
        hits = draft.decision.hits
        # What the model did not see it cannot have drawn on.
        seen = tuple(passage.hit for passage in draft.context.used)
        citations = ledger.time("citation", self.cite, text, seen)
        text = text if citations or has_words(text) else self.decline_text
        refused = is_refusal(text)
        citations = () if refused else citations  # a refusal may cite what it did not find the answer in
        confidence = NOT_ANSWERED if refused else ledger.time("confidence", self.score, text, draft.decision, citations)
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

    def _looked_up(self, draft: Draft, cache: CacheSlot, ledger: Ledger) -> Draft:
        key = cache.key(draft.query, draft.question)
        return replace(
            draft, key=key, cached=ledger.soft("cache", lambda: cache.get(key, draft.query, draft.question), None)
        )

    def _retrieved(self, draft: Draft, ledger: Ledger) -> Draft:
        question = draft.question
        search = RetryUnfiltered(self.retrieve, partial(self._enough, question))
        query, hits = ledger.time("retrieval", search, draft.query)
        for refine in self.refine:
            hits = ledger.time("refine", refine, hits, question)
        if self.learn:
            hits = ledger.soft("feedback", partial(self.learn, hits, question), hits)
        for order in self.order:
            hits = ledger.time("refine", order, hits, question)
        decision = ledger.time("gate", self.gate, hits, question)
        if self.rerank and isinstance(decision, Proceed):  # no order changes what the gate says, and this calls an LLM
            decision = self._reranked(decision, self.rerank, question, ledger)
        context = ledger.time("pack", self.pack, decision.hits) if isinstance(decision, Proceed) else None
        # Of the query only its trail: the cache knows the question by its filters as they were looked up.
        asked = replace(draft.query, trail=(*query.trail, *order_notes(hits)))
        return replace(draft, query=asked, decision=decision, context=context)

    def _enough(self, question: Question, hits: tuple[Hit, ...]) -> bool:
        """Whether the gate lets an answer rest on ``hits``: it knows its scale and the request's own threshold."""
        for refine in self.refine:
            hits = refine(hits, question)
        return isinstance(self.gate(hits, question), Proceed)

    def _reranked(self, decision: Proceed, rerank: LlmRerank, question: Question, ledger: Ledger) -> Proceed:
        hits = ledger.soft("rerank", partial(rerank, decision.hits, question, ledger), decision.hits)
        if "rerank" in hits[0].parts:
            ledger.events.append("reranked")
        return replace(decision, hits=hits)

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

    def _remember(self, draft: Draft, answer: Answer, ledger: Ledger) -> None:
        """The effects: the turn, the answer for others, and what a vote on it must know."""
        rests_on = grounds(answer, draft.context)
        # What a conversation went into is for that conversation alone; what the cache had, no conversation went into.
        key = draft.key if draft.cached or not draft.history else None
        if self.conversation:
            ledger.soft("memory", partial(self.conversation.remember, answer, draft.standalone), None)
        if self.cache and key and isinstance(draft.decision, Proceed):
            best = max(hit.parts["dense"] for hit in draft.decision.hits)
            ledger.soft("cache", partial(self.cache.keep, key, draft.query, answer, rests_on, best), None)
        if self.feedback:
            ledger.soft("feedback", partial(self.feedback.record, answer, rests_on, key, draft.cached), None)
