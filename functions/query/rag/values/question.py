"""The question, the conversation before it, the search query, and an overview of the index to ask about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from knowledge.model.values import Chunk, Scalar, View, Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its answer.

    ``asked`` is the question in the user's words, ``question`` the same rewritten to stand alone. ``sources`` are the
    URLs or titles that the answer cited.
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
    """A caller's request. For a field that is None the profile decides.

    - ``text``: the question in the user's words; ``understood``: the same rewritten by a model to stand alone
    - ``wording``: the question for a model that sees no turns; ``""`` means ``understood``
    - ``top_k``: 1..50 chunks
    - ``threshold``: the plain cosine that the best chunk must reach (under SEED_RULES=on the seed's number and scale)
    - ``filters``: a metadata field to a scalar, a list of scalars or a comparison such as ``{"$gte": 7}``; all hold
    - ``turns``: the conversation, oldest first, if the caller sends it; the session's own turns are ignored then
    - ``max_chars``: the longest ``text`` that the protocol admits, if that is more than the profile's limit
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
    """The rewritten question, with a Chroma ``where`` clause or None.

    ``text`` is the question alone, the first view. ``views`` are further versions of it: with the turns before, before
    rewriting, with acronyms spelt out, or within a detected filter. Their weights are relative to 1 for ``text`` (see
    ``knowledge.model.values``). ``where`` holds the request's own filters, which every hit must pass. ``trail`` has a
    sentence for each change.
    """

    text: str
    top_k: int
    where: Where | None = None
    views: tuple[View, ...] = ()
    trail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilterField:
    """A metadata field that a filter may name; ``values`` lists its values if they are few, and is empty otherwise."""

    kind: str
    values: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """An index in brief: number of ``documents``, ``categories``, ``titles`` from all over, and filter fields."""

    documents: int
    categories: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    fields: Mapping[str, FilterField] | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of documents, each as its first chunk; ``following`` is the first number of the next page, or None."""

    first_chunks: tuple[Chunk, ...]
    following: int | None
