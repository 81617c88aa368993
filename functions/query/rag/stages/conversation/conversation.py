"""The conversation as a slot: its sessions, what is recalled of them, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rag.ledger import Ledger
from rag.ports import Memory
from rag.stages.conversation.reframe import Reframe
from rag.values.answer import Answer, Question, SearchQuery
from rag.values.stored import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """``turns`` is how many of a session's last turns are recalled; ``new_session`` makes unguessable session ids;
    ``now`` gives Unix seconds."""

    memory: Memory
    reframe: Reframe
    turns: int
    new_session: Callable[[], str]
    now: Callable[[], float]

    def identified(self, question: Question) -> Question:
        """``question`` with a session: its own, or a new one."""
        return question if question.session_id else replace(question, session_id=self.new_session())

    def resolve(self, query: SearchQuery, question: Question, ledger: Ledger) -> tuple[SearchQuery, tuple[Turn, ...]]:
        """The query as it stands alone, and the turns that its answer needs: none, unless it is a follow-up."""
        session = question.session_id or ""
        nothing: tuple[Turn, ...] = ()
        history = ledger.soft("recall", lambda: self.memory.recall(session, limit=self.turns), nothing)
        if not self.reframe.is_follow_up(query.text, history):
            return query, ()
        fallback = self.reframe.fallback(query, history)
        rewritten = ledger.soft("reframe", lambda: self.reframe(query, history, ledger), fallback)
        if rewritten.text != query.text:
            ledger.events.append("reframed")
        return rewritten, history

    def remember(self, answer: Answer, standalone: str) -> None:
        """Add the turn to its session, as it was asked and as it was understood: the next follow-up may lean on that.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        sources = tuple(source.url for source in answer.sources)
        question = answer.question
        turn = Turn(
            question=standalone,
            answer=answer.text,
            at=self.now(),
            sources=sources,
            asked=question.text,
        )
        self.memory.remember(question.session_id or "", turn)
