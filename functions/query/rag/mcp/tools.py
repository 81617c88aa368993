"""What the service offers over MCP: to ask, to search, and to read a passage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knowledge.model.errors import KnowledgeError
from knowledge.model.values import Hit
from rag.errors import RagError
from rag.http.citations_markdown import citations_markdown
from rag.http.replies import query_reply
from rag.http.schema import CitationReply, ConfidenceReply, FilterScalar, OrNull, ReferenceReply, Reply, SourceReply
from rag.mcp.offer import about, filters_schema, instructions
from rag.mcp.progress import Notify, listener
from rag.mcp.prompt import PROMPT, get_prompt
from rag.mcp.protocol import INVALID_PARAMS, McpError, Method, Params, Server
from rag.mcp.resources import SCHEME, TEMPLATES, Documents, list_documents, read
from rag.text.addresses import source_url
from rag.values.answer import Answer
from rag.values.question import Overview, Question
from rag.values.request import Listen
from rag.version import VERSION

READ_ONLY = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


class Knowledge(Documents, Protocol):
    """What is asked. All raise RagError or KnowledgeError."""

    def ask(self, question: Question, listen: Listen | None) -> Answer:
        """The answer to ``question``; ``listen`` is told how it comes about."""
        ...

    def search(self, text: str, *, k: int, filters: Mapping[str, object]) -> tuple[Hit, ...]:
        """The ``k`` best chunks for ``text``."""
        ...

    def overview(self) -> Overview:
        """What the documents are about."""
        ...


Filters = Annotated[
    dict[str, FilterScalar | list[FilterScalar] | dict[str, FilterScalar]] | None,
    Field(
        max_length=20,
        description="Metadata fields that the documents must have: a value, a list of values, or one comparison "
        'such as {"$gte": 7}. Leave it out unless the user names such a field.',
    ),
]


class AskArguments(BaseModel):
    """What to ask."""

    model_config = ConfigDict(strict=True, extra="forbid")

    question: Annotated[str, Field(description="The question, complete in itself, in plain words.")]
    filters: Filters = None


class SearchArguments(BaseModel):
    """What to search for."""

    model_config = ConfigDict(strict=True, extra="forbid")

    query: Annotated[str, Field(description="Words or a question.")]
    k: Annotated[int, Field(ge=1, le=50, description="How many passages, 1 to 50.")] = 8
    filters: Filters = None


class AskReply(Reply):
    """An answer. ``refused`` says that the documents do not hold it; a reference's ``chunkId`` can be read."""

    answer: str
    refused: bool
    confidence: ConfidenceReply
    partial: bool
    references: list[ReferenceReply]
    citations: list[CitationReply]
    sources: list[SourceReply]
    response_id: str


class PassageReply(Reply):
    """A passage that was found."""

    id: str
    uri: str
    title: str
    section: OrNull
    url: OrNull
    score: float
    text: str


class SearchReply(Reply):
    """The passages, best first."""

    passages: list[PassageReply]


@dataclass(frozen=True, slots=True)
class _Tool:
    title: str
    description: str
    takes: type[BaseModel]
    gives: type[BaseModel]
    run: Callable[[Knowledge, Any, Listen | None], tuple[str, BaseModel]]


def server(
    knowledge: Knowledge, *, profile: str, tell: Callable[[Exception], str], notify: Notify | None = None
) -> Server:
    """The MCP server over ``knowledge``; ``tell`` words an error for the caller, ``notify`` sends before a result."""
    methods: dict[str, Method] = {
        "tools/list": lambda _: {"tools": _tools(_known(knowledge))},
        "tools/call": lambda params: _call(knowledge, params, tell, listener(params, notify)),
        "resources/list": lambda params: list_documents(knowledge, params, tell),
        "resources/templates/list": lambda _: {"resourceTemplates": TEMPLATES},
        "resources/read": lambda params: read(knowledge, params, tell),
        "prompts/list": lambda _: {"prompts": [PROMPT]},
        "prompts/get": get_prompt,
    }
    info = {"name": "serverless-rag", "title": f"Documents ({profile})", "version": VERSION}
    return Server(methods, info, lambda: instructions(_known(knowledge)))


def _known(knowledge: Knowledge) -> Overview | None:
    try:
        return knowledge.overview()
    except (RagError, KnowledgeError):
        return None  # whoever asks is told why


def _ask(knowledge: Knowledge, asked: AskArguments, listen: Listen | None) -> tuple[str, BaseModel]:
    answer = knowledge.ask(Question(text=asked.question, filters=asked.filters or {}), listen)
    reply = AskReply.model_validate(query_reply(answer), by_alias=True)
    listed = citations_markdown(answer.citations)
    sure = f"Confidence: {answer.confidence.level} ({int(answer.confidence.score)} of 100), {answer.confidence.reason}"
    parts = [answer.text, f"Sources:\n{listed}" if listed else "", sure]
    return "\n\n".join(part for part in parts if part), reply


def _search(knowledge: Knowledge, asked: SearchArguments, _: Listen | None) -> tuple[str, BaseModel]:
    passages = [_passage(hit) for hit in knowledge.search(asked.query, k=asked.k, filters=asked.filters or {})]
    shown = [f"[{one.id}] {' > '.join(filter(None, (one.title, one.section)))}\n{one.text}" for one in passages]
    return "\n\n---\n\n".join(shown) or "Nothing was found.", SearchReply(passages=passages)


def _passage(hit: Hit) -> PassageReply:
    chunk = hit.chunk
    return PassageReply(
        id=chunk.id,
        uri=f"{SCHEME}{chunk.id}",
        title=chunk.title,
        section=chunk.section,
        url=source_url(chunk),
        score=round(hit.score, 4),
        text=chunk.text,
    )


TOOLS: Mapping[str, _Tool] = {
    "ask": _Tool(
        "Ask the documents",
        "Answer a question from the documents, with citations and a confidence. It declines what they do not hold.",
        AskArguments,
        AskReply,
        _ask,
    ),
    "search": _Tool(
        "Search the documents",
        "Find the passages of the documents that are closest to a query, with their text, best first.",
        SearchArguments,
        SearchReply,
        _search,
    ),
}


def _tools(known: Overview | None) -> list[dict[str, Any]]:
    """The tools, each with what the documents are about, and the fields that they can be filtered by."""
    return [
        {
            "name": name,
            "title": tool.title,
            "description": f"{tool.description} {about(known)}",
            "inputSchema": _input_schema(tool.takes, known),
            "outputSchema": _schema(tool.gives, "serialization"),
            "annotations": {"title": tool.title, **READ_ONLY},
        }
        for name, tool in TOOLS.items()
    ]


@cache
def _schema(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    return model.model_json_schema(mode=mode)


def _input_schema(model: type[BaseModel], known: Overview | None) -> dict[str, Any]:
    schema = _schema(model, "validation")
    described = filters_schema(known, str(model.model_fields["filters"].description))
    return {**schema, "properties": {**schema["properties"], "filters": described}}


def _call(
    knowledge: Knowledge, params: Params, tell: Callable[[Exception], str], listen: Listen | None
) -> dict[str, Any]:
    """The result of a tool; what its caller, a model, can mend or should know is a result too."""
    name = params.get("name")
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None:
        raise McpError(INVALID_PARAMS, f"There is no such tool; there are {', '.join(TOOLS)}")
    try:
        text, reply = tool.run(knowledge, tool.takes.model_validate(params.get("arguments") or {}), listen)
    except ValidationError as error:
        return _failed(f"Wrong arguments. {_wrong(error, tool.takes)}")
    except (RagError, KnowledgeError) as error:
        return _failed(tell(error))
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": reply.model_dump(mode="json"),
        "isError": False,
    }


def _failed(sentence: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": sentence}], "isError": True}


def _wrong(error: ValidationError, model: type[BaseModel]) -> str:
    name = str(next(iter(error.errors(include_url=False, include_input=False)[0]["loc"]), ""))
    field = model.model_fields.get(name)
    if field is None:
        return f"Accepted are {', '.join(model.model_fields)}"
    return f"{name} is missing or wrong: {field.description}"
