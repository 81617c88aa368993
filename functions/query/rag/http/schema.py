"""The HTTP contract: requests and replies as pydantic models, from which docs/openapi.json is made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.alias_generators import to_camel

from rag.text.template import replace_surrogates

type FilterScalar = str | int | float | bool

Text = Annotated[str, BeforeValidator(lambda text: replace_surrogates(text) if isinstance(text, str) else text)]
OrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]


class Request(BaseModel, strict=True, alias_generator=to_camel, loc_by_alias=False):
    """A request; unknown keys are ignored."""


class Reply(
    BaseModel,
    from_attributes=True,
    alias_generator=to_camel,
    validate_by_name=True,
    serialize_by_alias=True,
    json_schema_serialization_defaults_required=True,
):
    """A reply, made from a value's attributes or from a mapping."""


class Options(Request):
    """The optional fields of a question; null counts as absent."""

    session_id: Annotated[
        str | None, Field(pattern=r"^[A-Za-z0-9_-]{22,64}$", description="22-64 characters of A-Z a-z 0-9 _ -")
    ] = None
    top_k: Annotated[int | None, Field(ge=1, le=50, description="a whole number from 1 to 50")] = None
    threshold: Annotated[
        float | None,
        Field(
            ge=-1,
            le=1,
            allow_inf_nan=False,
            description="a number from -1 to 1: the cosine that the best chunk must reach",
        ),
    ] = None
    filters: Annotated[
        dict[str, FilterScalar | list[FilterScalar] | dict[str, FilterScalar]] | None,
        Field(
            max_length=20,
            description="an object that maps up to 20 metadata fields to a scalar, a list of scalars, "
            'or one of {"$gte"|"$lte"|"$gt"|"$lt"|"$ne": scalar}',
        ),
    ] = None


class QueryRequest(Options):
    """A question."""

    query: Annotated[Text, Field(description="The question.", examples=["What permits do I need to import plants?"])]
    rendered: Annotated[
        bool | None,
        Field(description="true or false: whether the reply has the answer as a tree of nodes too, for a page"),
    ] = None


class QuestionRequest(Options):
    """A question, as the help desk's clients ask it."""

    question: Annotated[Text, Field(description="The question.", examples=["How do I start a timer?"])]
    debug: Annotated[bool | None, Field(description="true or false: whether metadata is wanted")] = None


class FeedbackRequest(Request):
    """A vote on a response. A session's last vote on a response counts."""

    response_id: Annotated[str, Field(min_length=1, max_length=64, description="the responseId of an answer")]
    helpful: Annotated[bool | None, Field(description="true, false, or null to withdraw the vote")]
    comment: Annotated[Text | None, Field(max_length=2000, description="text of at most 2000 characters")] = None


class FeedbackReply(Reply):
    """The vote is kept."""

    response_id: str
    accepted: Literal[True] = True


class SourceReply(Reply):
    """An external page that the answer cites; ``references`` are the numbers of the passages of it."""

    title: str
    org: str
    url: str
    section: OrNull
    references: list[int] = []


class RelatedDocReply(Reply):
    """A document that retrieval found, cited or not."""

    title: str
    category: str
    doc_id: str
    url: OrNull


class ReferenceReply(Reply):
    """A passage that the answer refers to as number n. ``quote`` are the words of it that bear the statement out best.

    Support is null where nobody looked.
    """

    n: int
    chunk_id: str
    title: str
    section: OrNull
    url: OrNull
    doc_id: str
    support: Literal["supported", "partial", "unsupported"] | None
    quote: str


class CitationReply(Reply):
    """A citation in the answer, one a title, address or id, matched to a retrieved chunk."""

    raw: str
    title: str
    section: OrNull
    position: int
    full_title: str
    doc_id: str
    source_urls: list[str]
    score: float
    matched: Literal[True] = True
    id: str | None
    chunk_id: str
    support: Literal["supported", "partial", "unsupported"] | None


class ConfidenceReply(Reply):
    """How sure the service is. Score is 0-100; raw is what the profile's own formula says, where score is another."""

    level: Literal["High", "Medium", "Low"]
    score: float
    reason: str
    raw: float | None = None


class RoutingReply(Reply):
    """What should happen to the answer next."""

    action: Literal["return", "escalate", "augment_kb"]
    reason: str


class UsageReply(Reply):
    """Tokens that the model's provider counted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class StatementReply(Reply):
    """One statement of the answer without its marks, the marks, and how far the cited passages bear it out.

    Score (0..1) is the chance that they do; of a statement that cites nothing, that the best other passage does. What
    was taken out of the answer is here too.
    """

    text: str
    citations: list[str]
    support: Literal["supported", "partial", "unsupported"]
    score: Annotated[float, Field(validation_alias="chance")]


class MetadataReply(Reply):
    """How the answer came about. Timings are milliseconds, by slot."""

    query: str
    profile: str
    chunks_retrieved: int
    chunks_used: int
    latency_ms: float
    model: OrNull
    finish_reason: str | None
    cached: bool
    degraded: bool
    statements: Annotated[
        list[StatementReply], Field(description="Empty on a decline, and where the index has no token vectors.")
    ]
    trail: list[str]
    skipped: list[str]
    timings: dict[str, float]
    usage: Annotated[
        UsageReply | None,
        Field(description="Of writing the answer alone, without rewriting and re-ranking; null where no LLM wrote it."),
    ]


class QueryReply(Reply):
    """The answer to a question, or a decline (``refused``)."""

    answer: str
    model_text: Annotated[
        OrNull,
        Field(
            description="What the language model wrote, where quotes are the answer: no statement of it has support."
        ),
    ]
    sources: list[SourceReply]
    related_docs: list[RelatedDocReply]
    citations: list[CitationReply]
    references: Annotated[
        list[ReferenceReply], Field(description="The passages that the answer refers to, in the order of its marks.")
    ]
    citations_markdown: str
    confidence: ConfidenceReply
    refused: bool
    partial: Annotated[bool, Field(description="Whether the answer broke off; metadata.finishReason says why.")]
    routing: RoutingReply | None
    response_id: str
    session_id: str | None
    metadata: MetadataReply


class QuestionReply(Reply):
    """The answer to ``POST /v1/query``. ``sources`` are the ids of the cited chunks, ``timing`` is in milliseconds."""

    answer: str
    sources: list[str]
    confidence: float
    refused: bool
    routing: RoutingReply
    timing: dict[str, float]
    metadata: MetadataReply | dict[str, str]


class ClosestReply(Reply):
    """A chunk that came closest to a question that was declined."""

    chunk_id: str
    title: str
    section: OrNull
    url: OrNull
    score: float


class FoundReply(ClosestReply):
    """A chunk that an answer may rest on; ``read`` is whether whoever wrote it was handed the chunk."""

    doc_id: str
    read: bool


class RenderedReply(QueryReply):
    """An answer as a page shows it.

    ``rendered`` is the answer as nodes, each a string or an object with ``tag`` and ``children``, one a block;
    ``found`` are the chunks that were found for it, best first; ``closest`` is empty unless it is a decline.
    """

    rendered: list[Any]
    found: list[FoundReply]
    closest: list[ClosestReply]


class UnitReply(Reply):
    """A sentence, item, row or block of code: characters ``start`` to ``end`` of the text; ``score`` is 0 to 1."""

    start: int
    end: int
    score: float


class MatchReply(Reply):
    """A word of the text that meets the question; ``weight`` is 0 to 1."""

    start: int
    end: int
    weight: Annotated[float, Field(validation_alias="score")]


class ChunkReply(Reply):
    """A chunk of a document, and what in it answers the question, where one was asked."""

    id: str
    title: str
    section: OrNull
    url: OrNull
    text: str
    units: list[UnitReply]
    matches: list[MatchReply]


class RenderedChunkReply(ChunkReply):
    """A chunk as a page shows it. ``rendered`` is its Markdown as nodes, as in RenderedReply.

    ``before`` and ``after`` are those of the chunks of the same document that stand around it, empty
    where there is none.
    """

    rendered: list[Any]
    before: list[Any]
    after: list[Any]


class FilterReply(Reply):
    """A metadata field of few values, with all of them: ``{field: [values]}`` is a filter of a question."""

    field: str
    values: list[str | int | float | bool]


class SuggestionsReply(Reply):
    """What a page begins with.

    Questions that the index answers, up to six, and the words of whoever runs it, each ``""`` where it gave none.
    ``name`` is who answers, ``model`` who writes (as in health), ``documents`` how many there are, ``titles`` those of
    some, from all over; ``longest`` is how many characters a question may have, ``filters`` the fields whose values are
    few enough to choose from.
    """

    questions: list[str]
    documents: int
    titles: list[str]
    model: str
    name: str
    greeting: str
    disclaimer: str
    contact: str
    longest: int
    filters: list[FilterReply]


class IndexHealth(Reply):
    """The index that is loaded. A Chroma folder that was made elsewhere has no manifest, and builtAt is null."""

    documents: int
    chunks: int
    embedding_model: str
    built_at: str | None
    version: str
    manifest: bool


class LlmHealth(Reply):
    """Who writes the answers: a vendor of chat models, or extractive.

    No call is made to find out. lastError is null after a success.
    """

    engine: str
    model: str
    last_error: str | None


class HealthReply(Reply):
    """The service is ready. version is the program's, index.version a hash of the index's content.

    store is where turns, votes and kept answers are: sqlite or dynamodb, null where nothing is kept.
    """

    status: Literal["ok"] = "ok"
    version: str
    profile: str
    index: IndexHealth
    llm: LlmHealth
    store: str | None


class ErrorReply(Reply):
    """Every error: a sentence for people and a stable code for programs."""

    error: str
    code: str
