"""What the first half of a pipeline hands to the second."""

from __future__ import annotations

from dataclasses import dataclass

from rag.values.answer import Context, Decline, Proceed, Question, SearchQuery
from rag.values.stored import CacheHit, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What ``prepare`` made: a context, a decline, or an answer that the cache had.

    ``history`` is what of the conversation goes into the answer. ``key`` is the question's key in the cache, None
    where a conversation goes into the answer: it is for that conversation alone.
    """

    question: Question
    query: SearchQuery
    history: tuple[Turn, ...] = ()
    key: str | None = None
    cached: CacheHit | None = None
    decision: Proceed | Decline | None = None
    context: Context | None = None

    @property
    def reply(self) -> str:
        """What is answered without a search; ``""`` where one was made."""
        return self.decision.reply if isinstance(self.decision, Decline) else ""
