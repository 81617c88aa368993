"""The pipeline: run(question) = finish(generate(prepare(question)))."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from knowledge.model.values import Hit, SearchResult
from knowledge.model.waiting import limit_waiting
from rag.answer.citations import build_related_docs, build_sources
from rag.answer.confidence import NO_SOURCES, NOT_ANSWERED, Score, add_routing, cap_confidence
from rag.answer.feedback_log import FeedbackLog, select_grounds
from rag.answer.finish import AnswerFinisher, removed_note, render_model_text, render_plain_answer
from rag.answer.parse import MAX_CHARS
from rag.answer.streaming_parser import ParsedAnswer, parse_answer
from rag.ask.admission import asking_part
from rag.ask.answer_cache import CacheSlot, thaw
from rag.ask.conversation import Conversation, repeat_query
from rag.ask.remarks import Remarks
from rag.errors import ContextTooLong
from rag.find.refine import LlmRerank, is_outdated, uncited_message
from rag.ledger import Ledger
from rag.ports import Retriever, Writer
from rag.values.answer import (
    Answer,
    Confidence,
    Context,
    Decline,
    Proceed,
    RefinedHits,
    RepeatedQuestion,
    Routing,
)
from rag.values.chat import STOPPED, Completion, Deadline
from rag.values.question import Question, SearchQuery, Turn
from rag.values.request import CLOSEST, Listen, PassagesEvent, PreparedQuestion, Status

logger = logging.getLogger(__name__)

type QueryStage = Callable[[SearchQuery, Question], SearchQuery]
type Refine = Callable[[tuple[Hit, ...], Question], RefinedHits]
type Gate = Callable[[SearchResult, Question], Proceed | Decline]
type Pack = Callable[[tuple[Hit, ...]], Context]

UNFOUNDED = "nothing of the model's answer is in the documents; quotes are shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The slots of one profile; an empty slot is None or an empty tuple.

    ``top_k`` is the number of chunks to retrieve, unless the request names one. ``decline_text`` is the answer if the
    documents have none; the prompt tells the model to decline with its first sentence. ``clock`` counts monotonic
    seconds; ``new_id`` makes response ids. ``remarks`` replies to thanks and greetings without a search. ``refine``
    chooses among the hits, and the gate judges these. ``learn`` (by feedback), ``order`` and ``rerank`` order them
    after the gate: votes do not change its decision. ``answering`` turns a completion into an answer. ``quote`` writes
    in place of a model if no claim of its answer has support. ``conversation``, ``cache``, ``learn``, ``rerank``, the
    check and the judge of claims, and ``feedback`` may fail: see ``Answer.skipped``. ``store_budget`` limits the
    waiting for stores within its block.
    """

    profile: str
    top_k: int
    decline_text: str
    admit: Callable[[Question], Question]
    remarks: Remarks | None = None
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
    quote: Writer | None = None
    answering: AnswerFinisher
    score: Score
    route: Callable[[Answer], Routing] | None = None
    feedback: FeedbackLog | None = None
    categories: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.perf_counter
    new_id: Callable[[], str] = lambda: secrets.token_urlsafe(16)
    store_budget: Callable[[], AbstractContextManager[object]] = nullcontext

    def run(self, question: Question, *, deadline: Deadline, listen: Listen | None = None) -> Answer:
        """Answer ``question`` before ``deadline``.

        ``listen`` is called with events on the way, and with the text that can already be shown: a beginning of the
        answer, before the check of its claims. An exception of ``listen`` ends the model's call, and before there is
        text the run.

        Raises:
            BadRequest: the question cannot be admitted, or a parameter is wrong.
            IndexUnavailable, SearchFailed, LlmFailed, LlmUnavailable: a stage that cannot be left out failed.
        """
        ledger = Ledger(self.clock, deadline, listen)
        start = self.clock()
        with self.store_budget(), ledger.report_errors(), limit_waiting(deadline.remaining_in_stream()):
            prepared = self.prepare(question, ledger)
            prepared, completion, parsed = self.generate(prepared, ledger)
            answer = self.finish(prepared, completion, ledger, parsed)
            self._remember(prepared, answer, question.session_id, ledger)
        timings = {**ledger.timings, "total": 1000 * (self.clock() - start)}
        skipped = tuple(dict.fromkeys(ledger.skipped))
        return replace(answer, llm=ledger.llm, timings=timings, skipped=skipped, events=tuple(ledger.events))

    def prepare(self, question: Question, ledger: Ledger) -> PreparedQuestion:
        """Turn the question into the context for the model, a decline or a cached answer."""
        question, asked = ledger.time("admit", self._admit, question)
        ledger.emit(Status("searching"))
        talk = self.conversation
        earlier = talk if talk and not talk.is_first(question) else None
        question = talk.assign_session(question) if talk else question
        query = SearchQuery(text=asked, top_k=question.top_k or self.top_k)
        history: tuple[Turn, ...] = ()
        remark = self._remark(query, question, earlier, ledger)
        if isinstance(remark, Decline):
            ledger.events.append("small_talk")
            return PreparedQuestion(question=question, query=query, decision=remark)
        if remark:
            query, history = repeat_query(query, remark.turns, self.decline_text), remark.turns[-1:]
        elif talk:
            history = earlier.recall(question, ledger) if earlier else ()
            query = talk.resolve(query, history, ledger)
        if not remark:
            question = replace(question, wording=_model_wording(question, asked, query, history))
        for stage in self.query_stages:
            query = ledger.time("query", stage, query, question)
        question = replace(question, understood=f"{query.text}\n{question.text}" if remark else query.text)
        prepared = PreparedQuestion(question=question, query=query, history=history, note=remark.note if remark else "")
        if self.cache is None or history:
            return self._retrieve(prepared, ledger)
        return self.cache.look_up(prepared, partial(self._retrieve, ledger=ledger), ledger)

    def _admit(self, question: Question) -> tuple[Question, str]:
        """Return the admitted question and the part of it that asks."""
        part = asking_part(question.text)  # before its paragraphs become one line
        admitted = self.admit(question)
        return admitted, admitted.text if part == question.text else self.admit(replace(question, text=part)).text

    def generate(
        self, prepared: PreparedQuestion, ledger: Ledger
    ) -> tuple[PreparedQuestion, Completion | None, ParsedAnswer | None]:
        """Return the question with its final context, the completion, and its tree if it was streamed.

        Completion and tree are None, and no model is called, if the gate declined or the cache answered. A context that
        exceeds the model's window is packed again.
        """
        context, decision = prepared.context, prepared.decision
        if context is None or not isinstance(decision, Proceed):
            return prepared, None, None
        for event in (Status("reading"), PassagesEvent(context.passages), Status("writing")):
            ledger.emit(event)
        while True:
            try:
                return replace(prepared, context=context), *self._write(prepared, context, ledger)
            except ContextTooLong as exc:
                packed = self.pack(decision.hits)
                if len(packed.text) >= len(context.text):
                    raise  # the seeds pack as they do
                logger.warning("%s; it is asked again with fewer passages", exc)
                context = replace(context, text=packed.text, passages=packed.passages)

    def _write(
        self, prepared: PreparedQuestion, context: Context, ledger: Ledger
    ) -> tuple[Completion, ParsedAnswer | None]:
        write = partial(self.write, prepared.question, context, deadline=ledger.deadline, history=prepared.history)
        if ledger.listen is None:
            return ledger.time("generation", ledger.complete, write), None
        growing = self.answering.streaming_parser(context, ledger.listen)
        completion = ledger.time("generation", ledger.complete, partial(write, on_text=growing))
        ledger.deadline = ledger.deadline.stream_deadline()
        if completion.finish_reason == STOPPED:
            growing.listen, ledger.listen = None, None  # the caller has gone
        return completion, None if completion.quotes or completion.revised else growing.end(completion.text)

    def finish(
        self,
        prepared: PreparedQuestion,
        completion: Completion | None,
        ledger: Ledger,
        parsed: ParsedAnswer | None = None,
    ) -> Answer:
        """Turn the completion into the answer with its citations, references, confidence and routing."""
        if completion and completion.quotes and prepared.note:
            completion = replace(completion, note=prepared.note)
        if completion and not completion.text:
            prepared = replace(prepared, decision=Decline("what was found holds nothing that can be quoted"))
        if prepared.cached:
            ledger.events.append(f"cache_{prepared.cached.layer}")
            trail = (*prepared.query.trail, f"answered from the cache ({prepared.cached.layer})")
            answer = thaw(prepared.cached.answer, question=prepared.question, response_id=self.new_id(), trail=trail)
        elif completion is None or prepared.context is None or not isinstance(prepared.decision, Proceed):
            answer = self._decline(prepared)
        else:
            ledger.emit(Status("checking"))
            answer = self._assemble(prepared, prepared.context, prepared.decision, completion, ledger, parsed)
        return add_routing(answer, self.route)

    def _decline(self, prepared: PreparedQuestion) -> Answer:
        """Return the profile's decline, or the reply of the decision in its place; the trail has the reason."""
        decline = prepared.decision if isinstance(prepared.decision, Decline) else Decline("")
        text, nodes = render_plain_answer(decline.reply or self.decline_text, decline.items)
        return Answer(
            text=text,
            nodes=nodes,
            question=prepared.question,
            profile=self.profile,
            response_id=self.new_id(),
            confidence=Confidence("Low", 0.0, decline.why) if decline.reply else NO_SOURCES,
            refused=True,
            routing=Routing("return", decline.why) if decline.reply else None,
            closest=prepared.closest,
            trail=(*prepared.query.trail, *filter(None, (decline.reason,))),
        )

    def _assemble(
        self,
        prepared: PreparedQuestion,
        context: Context,
        evidence: Proceed,
        completion: Completion,
        ledger: Ledger,
        parsed: ParsedAnswer | None,
    ) -> Answer:
        if len(completion.text) > MAX_CHARS:
            completion = replace(completion, finish_reason="length")
        if completion.quotes:
            finished = ledger.time("citation", self.answering.finish_quotes, completion, context)
        else:
            parsed = parsed or ledger.time("citation", parse_answer, completion.text, self.answering.form, context)
            finished = ledger.time("citation", self.answering, parsed, context, ledger)
            if finished.is_unfounded and (
                instead := self._quote_instead(prepared, context, evidence, completion, ledger)
            ):
                return replace(instead, model_text=render_model_text(parsed))
        confidence = NOT_ANSWERED
        if not finished.refused:
            score = ledger.time("confidence", self.score, finished, evidence)
            cites_outdated = not finished.is_quoted and is_outdated(
                finished.claims, context.passages, prepared.question.understood
            )
            cited = [one.hit.chunk for one in finished.references[: 1 if finished.is_quoted else None]]
            outdated = "the thread has a later message" if uncited_message(cited) else ""
            outdated = "a newer edition differs" if cites_outdated else outdated
            confidence = cap_confidence(score, finished, is_partial=completion.partial, outdated=outdated)
        for event in finished.claim_events():
            ledger.emit(event)
        return Answer(
            text=finished.text,
            nodes=finished.nodes,
            question=prepared.question,
            profile=self.profile,
            response_id=self.new_id(),
            confidence=confidence,
            refused=finished.refused,
            references=finished.references,
            citations=finished.citations,
            marks=finished.marks,
            statements=finished.claims,
            sources=build_sources(finished.references, self.answering.form),
            found=evidence.hits,
            read=tuple(passage.hit.chunk.number for passage in context.passages),
            closest=prepared.closest if finished.refused else (),
            related_docs=build_related_docs(evidence.hits, self.categories),
            chunks_retrieved=evidence.passed,
            completion=completion,
            trail=(*prepared.query.trail, *removed_note(finished.removed), *finished.notes),
        )

    def _remark(
        self, query: SearchQuery, question: Question, earlier: Conversation | None, ledger: Ledger
    ) -> Decline | RepeatedQuestion | None:
        """Return the reply to ``question`` as a remark, None if it is none; ``earlier`` is None in a first turn."""

        def is_answerable() -> bool:
            decision = self.gate(self.retrieve(query), question)
            return isinstance(decision, Proceed) and not decision.doubt

        if self.remarks is None:
            return None
        before = partial(earlier.recall, question, ledger) if earlier else tuple
        asked = replace(question, text=query.text)
        reply = partial(self.remarks, asked, before, alone=earlier is None, is_answerable=is_answerable)
        return ledger.time("remark", reply)

    def _quote_instead(
        self, prepared: PreparedQuestion, context: Context, evidence: Proceed, completion: Completion, ledger: Ledger
    ) -> Answer | None:
        """Return an answer of quotes in place of ``completion``, as in doubt; None if there are none."""
        if self.quote is None or completion.finish_reason == STOPPED:
            return None
        context, evidence = replace(context, doubtful=True), replace(evidence, doubt=evidence.doubt or UNFOUNDED)
        quotes = self.quote(prepared.question, context, deadline=ledger.deadline)
        if not quotes.quotes:
            return None
        quotes = replace(
            quotes,
            degraded=True,
            requested_model=completion.requested_model,
            usage=completion.usage,
            calls=completion.calls,
            retries=completion.retries,
        )
        answer = self._assemble(prepared, context, evidence, quotes, ledger, None)
        return None if answer.refused else replace(answer, trail=(*answer.trail, UNFOUNDED))

    def _retrieve(self, prepared: PreparedQuestion, ledger: Ledger) -> PreparedQuestion:
        question = prepared.question
        found = ledger.time("retrieval", self.retrieve, prepared.query)
        refined = RefinedHits(found.hits, (*prepared.query.trail, *found.trail))
        for refine in self.refine:
            refined = refined.then(ledger.time("refine", refine, refined.hits, question))
        decision = ledger.time("gate", self.gate, replace(found, hits=refined.hits), question)
        context = None
        if isinstance(decision, Proceed):
            refined = refined.then(self._order(decision.hits, question, ledger))
            decision = replace(decision, hits=refined.hits)
            packed = ledger.time("pack", self.pack, decision.hits)
            asked = "\n".join((*(turn.asked for turn in prepared.history), question.text))
            context = replace(packed, evidence=found.evidence, doubtful=bool(decision.doubt), asker_text=asked)
            if decision.doubt:
                refined = refined.then(RefinedHits(refined.hits, (decision.doubt,)))
        query = replace(prepared.query, trail=refined.trail)
        return replace(prepared, query=query, decision=decision, context=context, closest=found.hits[:CLOSEST])

    def _order(self, hits: tuple[Hit, ...], question: Question, ledger: Ledger) -> RefinedHits:
        """Order ``hits`` by feedback, dates and a model."""
        refined = RefinedHits(hits)
        if self.learn:
            refined = ledger.optional("feedback", partial(self.learn, hits, question), refined)
        for order in self.order:
            refined = refined.then(ledger.time("refine", order, refined.hits, question))
        if self.rerank:
            same = RefinedHits(refined.hits)
            refined = refined.then(ledger.optional("rerank", partial(self.rerank, same.hits, question, ledger), same))
        return refined

    def _remember(self, prepared: PreparedQuestion, answer: Answer, asker: str | None, ledger: Ledger) -> None:
        """Store the turn, the answer for the cache, and the record that a vote refers to."""
        rests_on = select_grounds(answer, prepared.context)
        is_remark = isinstance(prepared.decision, Decline) and prepared.decision.reply
        if (talk := self.conversation) and talk.memory and not is_remark:
            ledger.optional("memory", partial(talk.remember, answer, prepared.query.text), None)
        whole = not answer.partial and {"check", "judge"}.isdisjoint(ledger.skipped)
        if self.cache and prepared.key and isinstance(prepared.decision, Proceed) and whole:
            best = max(hit.parts["dense"] for hit in prepared.decision.hits)
            ledger.optional("cache", partial(self.cache.keep, prepared, answer, rests_on, top_score=best), None)
        if log := self.feedback:
            record = partial(log.record, answer, rests_on, asker, prepared.key, prepared.cached)
            ledger.optional("feedback", record, None)


def _model_wording(question: Question, asked: str, query: SearchQuery, history: tuple[Turn, ...]) -> str:
    """Return the wording for the model, if it differs from the question as asked; else ``""``."""
    is_translated = asked not in (query.text, *(view.text for view in query.views))
    if asked == question.text and not is_translated:
        return ""
    return f"{question.text}\n\n({query.text})" if history else question.text
