"""What the first half of a pipeline hands to the second, and the second to those who judge an answer."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.model.values import Hit
from rag.values.answer import Citation, Context, Decline, Passage, Proceed, Statement
from rag.values.question import Question, SearchQuery, Turn
from rag.values.stored import CacheHit

CLOSEST = 3
"""Chunks that a refusal names as what came closest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What ``prepare`` made: a context, a decline, or an answer that the cache had.

    ``history`` is what of the conversation goes into the answer. ``key`` is the question's key in the cache, None
    where a conversation goes into the answer: it is for that conversation alone. ``version`` is that of the index's
    content when the cache was asked. ``closest`` are the best of what was
    found, whatever the gate says. ``note`` stands before quotes.
    """

    question: Question
    query: SearchQuery
    history: tuple[Turn, ...] = ()
    key: str | None = None
    version: str = ""
    cached: CacheHit | None = None
    decision: Proceed | Decline | None = None
    context: Context | None = None
    closest: tuple[Hit, ...] = ()
    note: str = ""

    @property
    def reply(self) -> str:
        """What is answered without a search; ``""`` where one was made."""
        return self.decision.reply if isinstance(self.decision, Decline) else ""


@dataclass(frozen=True, slots=True)
class ConfidenceInput:
    """What an answer's confidence is read off: its ``text``, what it cites and states, and what it was written from.

    ``statements`` are none where nobody could look. ``quoted`` says that no model wrote, but what quotes did.
    """

    text: str
    citations: tuple[Citation, ...]
    statements: tuple[Statement, ...] = ()
    passages: tuple[Passage, ...] = ()
    quoted: bool = False
