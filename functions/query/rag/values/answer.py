"""The answer, its parts, and the decisions and passages that it comes from.

Scores are on the profile's scale unless a field says otherwise; ``Hit.parts["dense"]`` is always the plain cosine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from knowledge.model.values import Evidence, Hit
from rag.values.chat import Completion, LlmUse
from rag.values.question import Question, Turn

type Level = Literal["High", "Medium", "Low"]

type Support = Literal["supported", "partial", "unsupported"]


@dataclass(frozen=True, slots=True)
class Proceed:
    """The gate's decision to answer from ``hits``; ``passed`` counts those that reached the threshold.

    ``doubt`` is a sentence on why the hits may not answer the question, ``""`` if there is no doubt.
    """

    hits: tuple[Hit, ...]
    passed: int
    evidence: Evidence | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Decline:
    """A decision not to answer from the documents; ``reason`` is for the log and the trail.

    ``reply``, followed by a list of ``items``, replaces the profile's decline unless it is ``""``; ``why`` is the
    reason that the user reads.
    """

    reason: str
    reply: str = ""
    why: str = "Nothing was asked"
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RepeatedQuestion:
    """A request to answer the question of the last of ``turns`` (oldest first) again; ``note`` stands before quotes."""

    turns: tuple[Turn, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk in the prompt: ``text`` as the model sees it, perhaps cut; ``citation`` is the mark that cites it.

    ``citation`` includes its brackets, e.g. ``"[Import permits > Strategic goods]"``.
    """

    hit: Hit
    citation: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The prompt's text from the knowledge base, and the ``passages`` in it.

    ``evidence`` are the index's signals on the question, ``doubtful`` whether they are weak; no model sees either.
    ``asker_text`` holds the user's own words in this turn and the turns before: the answer is in their language.
    """

    text: str
    passages: tuple[Passage, ...]
    evidence: Evidence | None = None
    doubtful: bool = False
    asker_text: str = ""


@dataclass(frozen=True, slots=True)
class RefinedHits:
    """Hits after a refining step; ``trail`` has a sentence for each change."""

    hits: tuple[Hit, ...]
    trail: tuple[str, ...] = ()

    def then(self, step: RefinedHits) -> RefinedHits:
        """Return the hits of the next ``step``, with both trails."""
        return RefinedHits(step.hits, (*self.trail, *step.trail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A citation in the answer that matches a retrieved chunk.

    ``position`` is the character offset of ``raw`` in the answer. ``also`` are further chunks of the same source that
    the answer cites. ``chunk_id`` is set if the profile cites chunks. ``support`` is None without a check of claims.
    """

    raw: str
    title: str
    section: str
    position: int
    hit: Hit
    also: tuple[Hit, ...] = ()
    source_urls: tuple[str, ...] = ()
    chunk_id: str | None = None
    support: Support | None = None

    @property
    def hits(self) -> tuple[Hit, ...]:
        """All chunks of the source that the answer cites; the chunk of the mark itself is the first."""
        return (self.hit, *self.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A passage that the answer cites; ``n`` counts from 1 in the order of the marks.

    ``support`` is the one of the claims that cite it, partial if they differ; ``quote`` is the part of the passage that
    supports one of them best. Without a check of claims they are None and ``""``.
    """

    n: int
    hit: Hit
    support: Support | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """The characters ``start`` to ``end`` of an answer's text, which cite reference ``n``."""

    start: int
    end: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """A claim of an answer and its support in the knowledge base.

    ``text`` is the claim without citation marks, ``citations`` are its marks as they stand in the answer, ``chunks``
    the chunks that they cite. ``chance`` (0..1) is the probability that these chunks support the claim, or that the
    best chunk does if it cites none. ``support`` is partial for a likely claim in other words than the source's.
    """

    text: str
    citations: tuple[str, ...]
    support: Support
    chance: float
    chunks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An external page that the answer cites; ``references`` are the numbers of the references to it."""

    title: str
    org: str
    url: str
    section: str
    references: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedDoc:
    """A document that retrieval found, cited or not."""

    title: str
    category: str
    doc_id: str
    url: str


@dataclass(frozen=True, slots=True)
class Confidence:
    """The confidence in an answer.

    ``score`` (0..100) is the calibrated chance that the cited evidence answers the question, or the score of the
    profile's own formula if the index has no calibration. In the first case ``raw`` is that formula's score, else None.
    """

    level: Level
    score: float
    reason: str
    raw: float | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """The next step for an answer, and the reason for it."""

    action: Literal["return", "escalate", "augment_kb"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The complete answer to one question. Caches keep it as JSON by the names of its fields.

    - ``text``: Markdown; ``nodes``: the same as a tree for a page (``rag.answer.render``)
    - ``references``: the passages that it cites; ``marks``: their places in ``text``
    - ``citations``: one for each title, address or id, as the profile cites
    - ``statements``: its checked claims; empty without a check
    - ``found``: the hits that passed the gate, best first; ``read``: the numbers of the writer's chunks
    - ``closest``: the best hits of a refusal
    - ``chunks_retrieved``: the number of hits that reached the threshold, 0 on a decline
    - ``model_text``: the model's text if quotes replace it, else ``""``
    - ``llm``: the usage of the whole request; ``skipped``: optional stages that failed; ``timings``: milliseconds
    - ``events``: names of events that the metrics count
    """

    text: str
    question: Question
    profile: str
    response_id: str
    confidence: Confidence
    refused: bool
    citations: tuple[Citation, ...] = ()
    references: tuple[Reference, ...] = ()
    marks: tuple[ReferenceMark, ...] = ()
    nodes: tuple[Any, ...] = ()
    model_text: str = ""
    statements: tuple[CheckedClaim, ...] = ()
    sources: tuple[Source, ...] = ()
    related_docs: tuple[RelatedDoc, ...] = ()
    found: tuple[Hit, ...] = ()
    read: tuple[int, ...] = ()
    closest: tuple[Hit, ...] = ()
    routing: Routing | None = None
    chunks_retrieved: int = 0
    completion: Completion | None = None
    llm: LlmUse = field(default_factory=LlmUse)
    cached: bool = False
    trail: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def partial(self) -> bool:
        """Whether the answer broke off: see ``Completion.partial``."""
        return self.completion is not None and self.completion.partial
