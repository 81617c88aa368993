"""What the service offers over MCP: to ask, to search, and to read a passage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knowledge.model.errors import KnowledgeError
from knowledge.search.passage import ChunkView
from rag.errors import RagError, UnknownChunk
from rag.http.citations_markdown import citations_markdown
from rag.http.replies import query_reply
from rag.http.schema import CitationReply, ConfidenceReply, FilterScalar, OrNull, ReferenceReply, Reply, SourceReply
from rag.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS, McpError, Method, Params, Server
from rag.text.addresses import source_url
from rag.values.answer import Answer, Hit, Question
from rag.version import VERSION

SCHEME = "chunk://"
MARKDOWN = "text/markdown"
READ_ONLY = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


class Knowledge(Protocol):
    """What is asked. All raise RagError or KnowledgeError."""

    def ask(self, question: Question) -> Answer:
        """The answer to ``question``."""
        ...

    def search(self, text: str, *, k: int) -> tuple[Hit, ...]:
        """The ``k`` best chunks for ``text``."""
        ...

    def chunk(self, chunk_id: str) -> ChunkView:
        """The chunk of that id."""
        ...


class AskArguments(BaseModel):
    """What to ask."""

    model_config = ConfigDict(strict=True, extra="forbid")

    question: Annotated[str, Field(description="The question, complete in itself, in plain words.")]
    filters: Annotated[
        dict[str, FilterScalar | list[FilterScalar] | dict[str, FilterScalar]] | None,
        Field(
            max_length=20,
            description="Metadata fields that the documents must have: a value, a list of values, or one comparison "
            'such as {"$gte": 7}. Leave it out unless the user names such a field.',
        ),
    ] = None


class SearchArguments(BaseModel):
    """What to search for."""

    model_config = ConfigDict(strict=True, extra="forbid")

    query: Annotated[str, Field(description="Words or a question.")]
    k: Annotated[int, Field(ge=1, le=50, description="How many passages, 1 to 50.")] = 8


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
    run: Callable[[Knowledge, Any], tuple[str, BaseModel]]


def server(knowledge: Knowledge, *, profile: str, tell: Callable[[Exception], str]) -> Server:
    """The MCP server over ``knowledge``; ``tell`` words an error for the caller."""
    methods: dict[str, Method] = {
        "tools/list": lambda _: {"tools": _tools()},
        "tools/call": lambda params: _call(knowledge, params, tell),
        "resources/list": lambda _: {"resources": []},
        "resources/templates/list": lambda _: {"resourceTemplates": [_TEMPLATE]},
        "resources/read": lambda params: _read(knowledge, params, tell),
    }
    info = {"name": "serverless-rag", "title": f"Documents ({profile})", "version": VERSION}
    return Server(methods, info, _INSTRUCTIONS)


_INSTRUCTIONS = (
    "Answers questions from a fixed set of documents. Use `ask` for a question: the answer is checked against the "
    "passages that it cites, and it says how sure it is. When `refused` is true the documents do not hold the answer: "
    "say so, and do not answer from elsewhere. Use `search` to read passages yourself, and the resource chunk://ID for "
    "one that is cited."
)
_TEMPLATE = {
    "uriTemplate": f"{SCHEME}{{id}}",
    "name": "chunk",
    "title": "A passage of the documents",
    "description": "The passage of that id, such as id_42, as citations and search results name it.",
    "mimeType": MARKDOWN,
}


def _ask(knowledge: Knowledge, asked: AskArguments) -> tuple[str, BaseModel]:
    answer = knowledge.ask(Question(text=asked.question, filters=asked.filters or {}))
    reply = AskReply.model_validate(query_reply(answer), by_alias=True)
    listed = citations_markdown(answer.citations)
    sure = f"Confidence: {answer.confidence.level} ({int(answer.confidence.score)} of 100), {answer.confidence.reason}"
    parts = [answer.text, f"Sources:\n{listed}" if listed else "", sure]
    return "\n\n".join(part for part in parts if part), reply


def _search(knowledge: Knowledge, asked: SearchArguments) -> tuple[str, BaseModel]:
    passages = [_passage(hit) for hit in knowledge.search(asked.query, k=asked.k)]
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


@cache
def _tools() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.takes.model_json_schema(),
            "outputSchema": tool.gives.model_json_schema(mode="serialization"),
            "annotations": {"title": tool.title, **READ_ONLY},
        }
        for name, tool in TOOLS.items()
    ]


def _call(knowledge: Knowledge, params: Params, tell: Callable[[Exception], str]) -> dict[str, Any]:
    """The result of a tool; what its caller, a model, can mend or should know is a result too."""
    name = params.get("name")
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None:
        raise McpError(INVALID_PARAMS, f"There is no such tool; there are {', '.join(TOOLS)}")
    try:
        text, reply = tool.run(knowledge, tool.takes.model_validate(params.get("arguments") or {}))
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


def _read(knowledge: Knowledge, params: Params, tell: Callable[[Exception], str]) -> dict[str, Any]:
    uri = params.get("uri")
    if not isinstance(uri, str) or not uri.startswith(SCHEME):
        raise McpError(INVALID_PARAMS, f"uri must be {SCHEME} with the id of a passage, such as {SCHEME}id_42")
    try:
        chunk = knowledge.chunk(uri.removeprefix(SCHEME)).chunk
    except UnknownChunk as error:
        raise McpError(INVALID_PARAMS, tell(error), {"uri": uri[:100]}) from error
    except (RagError, KnowledgeError) as error:
        raise McpError(INTERNAL_ERROR, tell(error)) from error
    where = " > ".join(filter(None, (chunk.title, chunk.section)))
    return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": f"{where}\n{source_url(chunk)}\n\n{chunk.text}"}]}
