"""The frozen values that flow through the pipeline, from Question to Answer.

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
    """The gate's yes: these hits support an answer. ``passed`` counts those that reached the threshold.

    ``doubt`` says, in words, why it is doubtful that they do, ``""`` where it is not.
    """

    hits: tuple[Hit, ...]
    passed: int
    evidence: Evidence | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Decline:
    """The gate's no: a value, never an exception. ``reason`` is for the log and the trail.

    ``reply`` is what is answered in place of the profile's decline, ``""`` for that, with the list of ``items`` behind
    it, and ``why`` says why in words.
    """

    reason: str
    reply: str = ""
    why: str = "Nothing was asked"
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """The question of the last of ``turns`` (oldest first) is to be answered again; ``note`` stands before quotes."""

    turns: tuple[Turn, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One packed chunk: ``text`` as the model saw it (perhaps cut), ``citation`` the mark that cites it.

    ``citation`` is complete with its brackets, e.g. ``"[Import permits > Strategic goods]"``.
    """

    hit: Hit
    citation: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """Exactly what the model sees of the knowledge base, and the passages that it is made of.

    ``evidence`` is what the index knows of the question, ``doubtful`` whether that is little; no model sees either.
    ``asked`` are the asker's own words, those of the turns before included: their language is the answer's.
    """

    text: str
    used: tuple[Passage, ...]
    evidence: Evidence | None = None
    doubtful: bool = False
    asked: str = ""


@dataclass(frozen=True, slots=True)
class RefinedHits:
    """Hits after one refining step; ``trail`` says, in words, what it changed."""

    hits: tuple[Hit, ...]
    trail: tuple[str, ...] = ()

    def then(self, step: RefinedHits) -> RefinedHits:
        """What ``step`` made of these hits, with both trails."""
        return RefinedHits(step.hits, (*self.trail, *step.trail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A citation in the answer that was matched to a retrieved chunk.

    ``position`` is the character offset of ``raw`` in the answer. ``also`` are the other chunks of the source
    that the answer draws on. ``chunk_id`` names the chunk where the profile cites chunks. ``support`` is the verdict of
    a citation check, None where none was made.
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
        """All chunks of the source that the answer draws on, the one that it is about first."""
        return (self.hit, *self.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A passage that the answer refers to as number ``n`` (from 1, in the order of its marks).

    ``support`` is what the statements that cite it say of it, partial where they differ, None where nobody looked.
    ``quote`` are the words of the passage that bear one of them out best, ``""`` where nobody looked.
    """

    n: int
    hit: Hit
    support: Support | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """The characters ``start`` to ``end`` of an answer's text stand for reference ``n``."""

    start: int
    end: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement of an answer, and how far the knowledge base bears it out.

    ``text`` is the statement without its citation marks, ``citations`` these marks as they stand in the answer, and
    ``chunks`` the chunks that it cites. ``chance`` (0..1) is how likely it is that these say so, or where it cites
    nothing the best other one. ``support`` is partial for what is likely and not in the words of one place of them.
    """

    text: str
    citations: tuple[str, ...]
    support: Support
    chance: float
    chunks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An external page that the answer cites; ``references`` are the numbers of those to it."""

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
    """How sure the service is.

    ``score`` (0..100) is the calibrated chance that the cited evidence answers the question, where the index allows
    to say so; ``raw`` is what the profile's own formula says, None where ``score`` is that.
    """

    level: Level
    score: float
    reason: str
    raw: float | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """What should happen to the answer next."""

    action: Literal["return", "escalate", "augment_kb"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Everything that the service says of one question.

    ``text`` is Markdown, ``nodes`` the same as a tree for a page (``rag.answer.printers``). ``references`` are the
    passages that it refers to, ``marks`` where; ``citations`` are one a title, address or id, as the profile cites.
    ``statements`` are those that the citation check found in it, none where it could not look. ``found`` are the chunks
    that it may rest on, best first, ``read`` the numbers of those that its writer was handed, ``closest`` the best of a
    refusal. ``chunks_retrieved`` counts those that passed the threshold, 0 on a decline. ``timings`` are milliseconds.
    ``model_text`` is what a model wrote where quotes are the answer, else ``""``.
    ``llm`` is what the whole request used, ``skipped`` names optional stages that failed, ``events`` what is counted.
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
    statements: tuple[Statement, ...] = ()
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
        """Whether it broke off: see ``Completion.partial``."""
        return self.completion is not None and self.completion.partial
