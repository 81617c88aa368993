"""The frozen values that ask: the question as it came, the conversation before it, and what is searched for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from knowledge.model.values import View, Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its answer. ``sources`` are URLs or titles that the answer cited.

    ``question`` is what the service understood, ``asked`` what the user wrote.
    """

    question: str
    answer: str
    at: float
    sources: tuple[str, ...] = ()
    asked: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", self.asked or self.question)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the caller asked. ``None`` means that the profile decides.

    ``top_k`` is 1..50 chunks; ``threshold`` is the plain cosine that the best chunk must reach (under SEED_RULES=on the
    seed's number, on its scale); ``filters`` maps a metadata field to a scalar, a list of scalars or one comparison
    such as ``{"$gte": 7}``; fields are and-ed. ``text`` is the question as asked, ``understood`` what
    a language model made of it in the light of the conversation, else the same. ``turns`` are the conversation before
    it, oldest first, where the caller tells it; the session's own are not recalled then. ``max_chars`` is the longest
    ``text`` that its protocol admits, where that is more than the profile's. ``wording`` is what a model is asked that
    sees no turns, ``""`` for the question as it was understood.
    """

    text: str
    session_id: str | None = None
    top_k: int | None = None
    threshold: float | None = None
    filters: Mapping[str, object] = field(default_factory=dict)
    understood: str = ""
    turns: tuple[Turn, ...] = ()
    max_chars: int = 0
    wording: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "understood", self.understood or self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What is searched for: the question after rewriting, with a Chroma ``where`` or none.

    ``text`` is the question alone, the first of its views; ``views`` are the further ones: with the turns before or
    before it was rewritten, with its acronyms spelt out, within a detected filter. Their weights are beside 1 for
    ``text``; see ``knowledge.model.values``.
    ``where`` holds the request's own filters, a wall. ``trail`` says, in words, what each rewriter and filter did.
    """

    text: str
    top_k: int
    where: Where | None = None
    views: tuple[View, ...] = ()
    trail: tuple[str, ...] = ()
