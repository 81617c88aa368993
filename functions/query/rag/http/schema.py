"""The HTTP contract as pydantic models: what callers send, what they get. docs/openapi.json is made of these."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

type FilterScalar = str | int | float | bool


class Options(BaseModel):
    """What a question may come with. Unknown keys are ignored; null means "not given"."""

    model_config = ConfigDict(strict=True, extra="ignore")

    sessionId: Annotated[  # noqa: N815 - the contract's name
        str | None, Field(pattern=r"^[A-Za-z0-9_-]{22,64}$", description="22-64 characters of A-Z a-z 0-9 _ -")
    ] = None
    topK: Annotated[int | None, Field(ge=1, le=50, description="a whole number from 1 to 50")] = None  # noqa: N815
    threshold: Annotated[
        float | None,
        Field(ge=-1, le=1, allow_inf_nan=False, description="a number from -1 to 1, on the profile's scale"),
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

    query: Annotated[str, Field(description="The question.", examples=["What permits do I need to import plants?"])]


class QuestionRequest(Options):
    """A question, as the help desk's clients ask it."""

    question: Annotated[str, Field(description="The question.", examples=["How do I start a timer?"])]
    debug: Annotated[bool | None, Field(description="true or false: whether metadata is wanted")] = None


class FeedbackRequest(BaseModel):
    """A vote on a response. A session's last vote on a response counts."""

    model_config = ConfigDict(strict=True, extra="ignore")

    responseId: Annotated[str, Field(min_length=1, max_length=64, description="the responseId of an answer")]  # noqa: N815
    helpful: Annotated[bool | None, Field(description="true, false, or null to withdraw the vote")]
    comment: Annotated[str | None, Field(max_length=2000, description="text of at most 2000 characters")] = None


class FeedbackReply(BaseModel):
    """The vote is kept."""

    responseId: str  # noqa: N815
    accepted: Literal[True] = True


class SourceReply(BaseModel):
    """An external page that the answer cites."""

    title: str
    org: str
    url: str
    section: str | None


class RelatedDocReply(BaseModel):
    """A document that retrieval found, cited or not."""

    title: str
    category: str
    docId: str  # noqa: N815
    url: str | None


class CitationReply(BaseModel):
    """A citation in the answer, matched to a retrieved chunk."""

    raw: str
    title: str
    section: str | None
    position: int
    fullTitle: str  # noqa: N815
    docId: str  # noqa: N815
    sourceUrls: list[str]  # noqa: N815
    score: float
    matched: Literal[True] = True
    id: str | None
    support: Literal["supported", "partial", "unsupported"] | None


class ConfidenceReply(BaseModel):
    """How sure the service is; score is 0-100."""

    level: Literal["High", "Medium", "Low"]
    score: float
    reason: str


class RoutingReply(BaseModel):
    """What should happen to the answer next."""

    action: Literal["return", "escalate", "augment_kb"]
    reason: str


class UsageReply(BaseModel):
    """Tokens that the model's provider counted."""

    promptTokens: int  # noqa: N815
    completionTokens: int  # noqa: N815
    totalTokens: int  # noqa: N815


class MetadataReply(BaseModel):
    """How the answer came about. Timings are milliseconds, by slot."""

    query: str
    profile: str
    chunksRetrieved: int  # noqa: N815
    chunksUsed: int  # noqa: N815
    latencyMs: float  # noqa: N815
    model: str | None
    finishReason: str | None  # noqa: N815
    cached: bool
    degraded: bool
    trail: list[str]
    skipped: list[str]
    timings: dict[str, float]
    usage: Annotated[
        UsageReply | None,
        Field(description="Of writing the answer alone, without rewriting and re-ranking; null where no LLM wrote it."),
    ]


class QueryReply(BaseModel):
    """The answer to a question, or a decline (``refused``)."""

    answer: str
    sources: list[SourceReply]
    relatedDocs: list[RelatedDocReply]  # noqa: N815
    citations: list[CitationReply]
    citationsMarkdown: str  # noqa: N815
    confidence: ConfidenceReply
    refused: bool
    routing: RoutingReply | None
    responseId: str  # noqa: N815
    sessionId: str | None  # noqa: N815
    metadata: MetadataReply


class QuestionReply(BaseModel):
    """The answer to ``POST /v1/query``. ``sources`` are the ids of the cited chunks, ``timing`` is in milliseconds."""

    answer: str
    sources: list[str]
    confidence: float
    refused: bool
    routing: RoutingReply
    timing: dict[str, float]
    metadata: MetadataReply | dict[str, str]


class IndexHealth(BaseModel):
    """The index that is loaded."""

    documents: int
    chunks: int
    embeddingModel: str  # noqa: N815
    builtAt: str | None  # noqa: N815
    version: str
    manifest: bool


class LlmHealth(BaseModel):
    """Who writes the answers. No call is made to find out."""

    engine: Literal["openai", "extractive"]
    model: str
    lastError: str | None  # noqa: N815


class HealthReply(BaseModel):
    """The service is ready."""

    status: Literal["ok"] = "ok"
    profile: str
    index: IndexHealth
    llm: LlmHealth


class ErrorReply(BaseModel):
    """Every error: a sentence for people and a stable code for programs."""

    error: str
    code: str
