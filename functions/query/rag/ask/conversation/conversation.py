"""The conversation as a slot: its sessions, what is recalled of them, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag.ask.conversation.joined import with_turns
from rag.ask.conversation.reframe import Reframe
from rag.contract.decline import begins_with_decline
from rag.ledger import Ledger
from rag.ports.stores import Memory
from rag.values.answer import Answer
from rag.values.question import Question, SearchQuery, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """``turns`` is how many of a session's last turns are recalled; ``reframe`` is None without a language model.

    Without a ``memory`` there are no sessions, and the only turns are those that a question brings.

    ``decline`` is the profile's decline text: an answer that begins with it says nothing of the topic.
    ``new_session`` makes unguessable session ids; ``now`` gives Unix seconds.
    """

    memory: Memory | None
    reframe: Reframe | None
    decline: str
    turns: int
    new_session: Callable[[], str]
    now: Callable[[], float]

    def begins_with(self, question: Question) -> bool:
        """Whether no turns can have come before ``question``."""
        return not question.turns and (self.memory is None or question.session_id is None)

    def identified(self, question: Question) -> Question:
        """``question`` with a session, its own or a new one, where it is to be remembered and brings no turns."""
        if self.memory is None or question.session_id or question.turns:
            return question
        return replace(question, session_id=self.new_session())

    def resolve(self, query: SearchQuery, history: Sequence[Turn], ledger: Ledger) -> SearchQuery:
        """What is searched for in the light of ``history``, the turns before, in the language of the documents.

        A rewriting stands beside the question; where there is none, the question with the turns before does.
        """
        rewritten = query
        if reframe := self.reframe:
            rewritten = ledger.optional("reframe", lambda: reframe(query, history, ledger), query)
        if rewritten.text == query.text:
            return _joined(query, history, self.decline) if history else query
        ledger.events.append("reframed")
        return rewritten

    def recalled(self, question: Question, ledger: Ledger) -> tuple[Turn, ...]:
        """The turns before ``question``, oldest first: those that it brings, else its session's last ones."""
        nothing: tuple[Turn, ...] = ()
        session = question.session_id
        if question.turns or (memory := self.memory) is None or session is None:
            return question.turns
        return ledger.optional("recall", lambda: memory.recall(session, limit=self.turns), nothing)

    def remember(self, answer: Answer, searched: str) -> None:
        """Add the turn to its session, if it has one, as it was asked and as it was ``searched`` for.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        question = answer.question
        if self.memory is None or question.session_id is None:
            return
        turn = Turn(
            question=searched,
            answer=answer.text,
            at=self.now(),
            sources=tuple(source.url for source in answer.sources),
            asked=question.text,
        )
        self.memory.remember(question.session_id, turn)


def asked_again(query: SearchQuery, turns: Sequence[Turn], decline: str) -> SearchQuery:
    """The question of the last of ``turns`` in place of a remark on its answer, searched for as it was.

    One that no model rewrote may lean on the turns before it. ``decline`` is the profile's decline text.
    """
    *before, last = turns
    query = replace(query, text=last.question, trail=(*query.trail, f"looked up again: {last.question}"))
    return _joined(query, before, decline) if before and last.question == last.asked else query


def _joined(query: SearchQuery, history: Sequence[Turn], decline: str) -> SearchQuery:
    """``query`` with ``history``; an answer that declined says nothing of the topic."""
    last = history[-1].answer
    return with_turns(query, history, answer="" if begins_with_decline(last, decline) else last)
