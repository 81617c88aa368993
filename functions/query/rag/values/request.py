"""Values of one request: the prepared question, and the events that a listener receives while it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from knowledge.model.values import Hit
from rag.values.answer import CheckedClaim, Context, Decline, Passage, Proceed
from rag.values.question import Question, SearchQuery, Turn
from rag.values.stored import CacheHit

CLOSEST = 3
"""Number of chunks that a refusal names as the closest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuestion:
    """A question with a context to answer from, a decline, or a cached answer.

    ``history`` are the turns that the answer depends on. ``key`` is the question's cache key, None if there is a
    history: such an answer is for its conversation alone. ``version`` is the index's content version at the time of the
    cache lookup. ``closest`` are the best hits before the gate's decision. ``note`` stands before quotes.
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


@dataclass(frozen=True, slots=True)
class Status:
    """The stage that begins now."""

    stage: Literal["searching", "reading", "writing", "checking"]


@dataclass(frozen=True, slots=True)
class PassagesEvent:
    """The passages that the writer receives."""

    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer's Markdown; ``""`` at least once a second while the model is silent."""

    text: str


@dataclass(frozen=True, slots=True)
class Patch:
    """The new ``nodes`` of the answer's block number ``block``, from 0. They begin with the nodes sent before."""

    block: int
    nodes: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ClaimChecked:
    """The checked claim at ``place``, from 0; ``numbers`` are the references that it cites."""

    place: int
    claim: CheckedClaim
    numbers: tuple[int, ...]


type Event = Status | PassagesEvent | Delta | Patch | ClaimChecked
type Listen = Callable[[Event], None]
"""Receives events; an exception that it raises ends the model's call."""
