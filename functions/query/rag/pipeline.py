"""The pipeline: slots in a fixed order, each timed in one place.

run(question) = finish(generate(prepare(question)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

from rag.ledger import Ledger
from rag.ports import OnText, Retriever, SmallTalk, Writer
from rag.slots import Admit, Check, Cite, Gate, Pack, Polish, QueryStage, Refine, Route, Score
from rag.stages.after.feedback_log import FeedbackLog, grounds
from rag.stages.after.route import escalated
from rag.stages.cache.answer_cache import CacheSlot
from rag.stages.cache.frozen_answer import thaw
from rag.stages.check.support import Checked, time_needed
from rag.stages.cite.marks import Cited, placed, removed_note
from rag.stages.cite.quoted import cite_completion, polish_completion
from rag.stages.cite.references import build_related_docs, build_sources
from rag.stages.conversation.conversation import Conversation
from rag.stages.gate.declined import declined
from rag.stages.links.led import hold
from rag.stages.refine.rerank import LlmRerank
from rag.stages.score.confidence import NOT_ANSWERED
from rag.stages.score.contract import UNCHECKED, begins_with_decline, held_to_sources, says_nothing
from rag.stages.score.leaks import Leaks
from rag.stages.write.told_apart import told_apart
from rag.values.answer import (
    Answer,
    Completion,
    Context,
    Deadline,
    Decline,
    Hit,
    Proceed,
    Question,
    Refined,
    SearchQuery,
)
from rag.values.draft import CLOSEST, Draft
from rag.values.stored import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """One profile's slots. A slot that a profile lacks is None or an empty tuple.

    ``top_k`` is how many chunks to retrieve when the request does not say; ``decline_text`` is the answer when there is
    none, and its first sentence is how the prompt tells the model to decline; ``clock`` counts seconds, monotonically;
    ``new_id`` makes response ids. ``small_talk`` answers what needs no search. ``refine`` chooses of what is found, by
    what retrieval knows, and the gate judges that. ``learn`` (by feedback), ``order`` and ``rerank`` put what is left
    in order: no vote moves the gate. ``leaks`` tells whether an answer repeats the instructions, which makes it a
    refusal. ``check`` holds each statement against what it cites. ``conversation``, ``cache``, ``learn``, ``rerank``,
    ``check`` and ``feedback`` may fail: see ``Answer.skipped``. ``sparing`` is a block in which stores keep nobody
    waiting for long.
    """

    profile: str
    top_k: int
    decline_text: str
    admit: Admit
    small_talk: SmallTalk | None = None
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
    leaks: Leaks
    check: Check | None = None
    score: Score
    route: Route | None = None
    feedback: FeedbackLog | None = None
    categories: Mapping[str, str]
    clock: Callable[[], float]
    new_id: Callable[[], str]
    sparing: Callable[[], AbstractContextManager[object]] = nullcontext

    def run(self, question: Question, *, deadline: Deadline, on_text: OnText | None = None) -> Answer:
        """Answer ``question`` before ``deadline``.

        ``on_text`` gets what a model writes as it comes, unless and until it may be the decline, or may lead where no
        passage does: before citations are checked, so that the answer's own text may differ. What it raises ends the
        model's call, and the run.

        Raises:
            BadRequest: the question cannot be admitted, or a parameter is wrong.
            IndexUnavailable, SearchFailed, LlmFailed, LlmUnavailable: a stage that cannot be left out failed.
        """
        ledger = Ledger(self.clock, deadline, on_text)
        start = self.clock()
        with self.sparing(), ledger.reported():
            draft = self.prepare(question, ledger)
            completion = self.generate(draft, ledger)
            answer = self.finish(draft, completion, ledger)
            self._remember(draft, answer, question.session_id, ledger)
        timings = {**ledger.timings, "total": 1000 * (self.clock() - start)}
        skipped = tuple(dict.fromkeys(ledger.skipped))
        return replace(answer, llm=ledger.llm, timings=timings, skipped=skipped, events=tuple(ledger.events))

    def prepare(self, question: Question, ledger: Ledger) -> Draft:
        """From the question to the context that the model will see, to a decline, or to a cached answer."""
        question = ledger.time("admit", self.admit, question)
        alone = self.conversation is None or self.conversation.begins_with(question)
        question = self.conversation.identified(question) if self.conversation else question
        query = SearchQuery(text=question.text, top_k=question.top_k or self.top_k)
        history: tuple[Turn, ...] = ()
        if self.small_talk and (reply := self.small_talk(question.text, alone=alone)):
            ledger.events.append("small_talk")
            return Draft(question=question, query=query, decision=reply)
        if self.conversation:
            query, history = self.conversation.resolve(query, question, ledger)
        for stage in self.query_stages:
            query = ledger.time("query", stage, query, question)
        question = replace(question, understood=query.text)
        draft = Draft(question=question, query=query, history=history)
        draft = self._looked_up(draft, self.cache, ledger) if self.cache and not history else draft
        return draft if draft.cached else self._retrieved(draft, ledger)

    def generate(self, draft: Draft, ledger: Ledger) -> Completion | None:
        """The completion; None, and no model call, where the gate declined or the cache answered."""
        if draft.context is None:
            return None
        write = partial(self.write, draft.question, draft.context, deadline=ledger.deadline, history=draft.history)
        if ledger.on_text is None:
            return ledger.time("generation", ledger.complete, write)
        from rag.stages.links.streamed import streamed  # late: most answers are not streamed

        out = streamed(ledger.on_text, draft.context)
        listen = self.leaks.withheld(told_apart(out, self.decline_text))
        completion = ledger.time("generation", ledger.complete, partial(write, on_text=listen))
        out.end()
        return completion

    def finish(self, draft: Draft, completion: Completion | None, ledger: Ledger) -> Answer:
        """From the completion to the answer with its citations, references, confidence and routing."""
        if completion and not completion.text:
            draft = replace(draft, decision=Decline("what was found holds nothing that can be quoted"))
        if draft.cached:
            ledger.events.append(f"cache_{draft.cached.layer}")
            trail = (*draft.query.trail, f"answered from the cache ({draft.cached.layer})")
            answer = thaw(draft.cached.answer, question=draft.question, response_id=self.new_id(), trail=trail)
        elif completion is None or draft.context is None or not isinstance(draft.decision, Proceed):
            answer = declined(draft, profile=self.profile, text=self.decline_text, response_id=self.new_id())
        else:
            answer = self._answered(draft, draft.context, draft.decision, completion, ledger)
        routing = answer.routing or escalated(answer) or (self.route(answer) if self.route else None)
        return replace(answer, routing=routing)

    def _answered(self, draft: Draft, context: Context, evidence: Proceed, made: Completion, ledger: Ledger) -> Answer:
        wrote, trail = made, draft.query.trail
        for polish in self.polish:
            wrote, notes = ledger.time("polish", polish_completion, polish, wrote, context)
            trail = (*trail, *notes)
        cited = ledger.time("citation", cite_completion, self.cite, wrote, context)
        checked = ledger.time("citation", hold, self._checked(wrote, cited, context, ledger))
        if not made.quotes and self.leaks(wrote.text, cited.text, checked.cited.text):
            ledger.events.append("prompt_leak")
            checked = Checked(Cited(self.decline_text, (), 0))
        text = self.decline_text if says_nothing(checked.cited.text) else checked.cited.text
        refused = begins_with_decline(text, self.decline_text)
        citations = () if refused else checked.cited.citations  # a refusal may cite where it did not find the answer
        confidence = NOT_ANSWERED
        if not refused:
            score = ledger.time("confidence", self.score, text, evidence, citations)
            confidence = held_to_sources(
                score, cited=cited.valid, removed=cited.removed, statements=checked.statements, doubt=checked.doubt
            )
        return Answer(
            text=text,
            question=draft.question,
            profile=self.profile,
            response_id=self.new_id(),
            confidence=confidence,
            refused=refused,
            citations=citations,
            marks=placed(checked.cited.marks, citations),
            statements=checked.statements,
            sources=build_sources(citations),
            closest=draft.closest if refused else (),
            related_docs=build_related_docs(evidence.hits, self.categories),
            chunks_retrieved=evidence.passed,
            completion=made,
            trail=(*trail, *removed_note(cited.removed), *checked.notes),
        )

    def _checked(self, wrote: Completion, cited: Cited, context: Context, ledger: Ledger) -> Checked:
        """What is cited, checked as far as there is time; a refusal states nothing."""
        if self.check is None or says_nothing(cited.text) or begins_with_decline(cited.text, self.decline_text):
            return Checked(cited)
        unchecked = Checked(cited, doubt=None, notes=(UNCHECKED,))
        return ledger.soft("check", partial(self.check, wrote, cited, context), unchecked, needs_s=time_needed(wrote))

    def _looked_up(self, draft: Draft, cache: CacheSlot, ledger: Ledger) -> Draft:
        key = cache.key(draft.query, draft.question)
        return replace(draft, key=key, cached=ledger.soft("cache", partial(cache.get, key, draft.query), None))

    def _retrieved(self, draft: Draft, ledger: Ledger) -> Draft:
        question = draft.question
        found = ledger.time("retrieval", self.retrieve, draft.query)
        hits, trail = found.hits, (*draft.query.trail, *found.trail)
        for refine in self.refine:
            refined = ledger.time("refine", refine, hits, question)
            hits, trail = refined.hits, (*trail, *refined.trail)
        decision = ledger.time("gate", self.gate, replace(found, hits=hits), question)
        context = None
        if isinstance(decision, Proceed):
            ordered = self._ordered(decision.hits, question, ledger)
            decision, trail = replace(decision, hits=ordered.hits), (*trail, *ordered.trail)
            context = replace(ledger.time("pack", self.pack, decision.hits), evidence=found.evidence)
        query = replace(draft.query, trail=trail)
        return replace(draft, query=query, decision=decision, context=context, closest=found.hits[:CLOSEST])

    def _ordered(self, hits: tuple[Hit, ...], question: Question, ledger: Ledger) -> Refined:
        """The same hits in the order that feedback, dates and a model give them."""
        refined = Refined(hits)
        if self.learn:
            refined = ledger.soft("feedback", partial(self.learn, hits, question), refined)
        for order in self.order:
            refined = refined.then(ledger.time("refine", order, refined.hits, question))
        if self.rerank:
            same = Refined(refined.hits)
            refined = refined.then(ledger.soft("rerank", partial(self.rerank, same.hits, question, ledger), same))
        return refined

    def _remember(self, draft: Draft, answer: Answer, asker: str | None, ledger: Ledger) -> None:
        """The effects: the turn, the answer for others, and what a vote on it must know."""
        rests_on = grounds(answer, draft.context)
        if self.conversation and self.conversation.memory and not draft.reply:
            ledger.soft("memory", partial(self.conversation.remember, answer), None)
        if self.cache and draft.key and isinstance(draft.decision, Proceed) and "check" not in ledger.skipped:
            best = max(hit.parts["dense"] for hit in draft.decision.hits)
            ledger.soft("cache", partial(self.cache.keep, draft.key, answer, rests_on, best), None)
        if log := self.feedback:
            ledger.soft("feedback", partial(log.record, answer, rests_on, asker, draft.key, draft.cached), None)
