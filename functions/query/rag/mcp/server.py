"""The MCP server of the documents: tools to ask and to search, resources to read, a prompt, and progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from knowledge.model.errors import KnowledgeError
from knowledge.model.values import Chunk
from rag.errors import RagError, UnknownChunk
from rag.http.replies import citations_markdown, query_reply
from rag.http.schema import CitationReply, ConfidenceReply, FilterScalar, OrNull, ReferenceReply, Reply, SourceReply
from rag.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS, McpError, McpServer, Method, Params
from rag.text.sources import source_url
from rag.values.question import FilterField, Overview, Question
from rag.values.request import Delta, Event, Listen, Status
from rag.version import VERSION

if TYPE_CHECKING:
    from rag.wiring.application import Library

READ_ONLY = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
HOW_TO_USE = (
    "Use `ask` for a question: the answer is checked against the passages that it cites, and it says how sure it is. "
    "When `refused` is true the documents do not hold the answer: say so, and do not answer from elsewhere. Use "
    "`search` to read passages yourself, and the resource chunk://ID for one that is cited."
)
PROMPT: dict[str, Any] = {
    "name": "ask-documents",
    "title": "Ask the documents",
    "description": "Answers a question from the documents alone, with what it rests on.",
    "arguments": [{"name": "question", "description": "The question, in plain words.", "required": True}],
}
PROMPT_TEXT = (
    "Answer this question with the tool `ask`, from the documents alone. Name the sources that it cites and how sure "
    "it is. Where it is refused, say that the documents do not hold the answer.\n\nQuestion: {question}"
)
SCHEME, DOCUMENT = "chunk://", "document://"
MARKDOWN = "text/markdown"
MAX_CURSOR_DIGITS = 12
TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": f"{SCHEME}{{id}}",
        "name": "chunk",
        "title": "A passage of the documents",
        "description": "The passage of that id, such as id_42, as citations and search results name it.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": f"{DOCUMENT}{{id}}",
        "name": "document",
        "title": "A whole document",
        "description": "The document whose first passage has that id, as resources/list names it.",
        "mimeType": MARKDOWN,
    },
]
NOTIFY_EVERY_S = 1.0
"""Least interval of notifications while a model writes."""
_COMPARISON = {
    "type": "object",
    "description": "One comparison.",
    "properties": {sign: {"type": "number"} for sign in ("$gte", "$lte", "$gt", "$lt", "$ne")},
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}
_JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}

type DescribeError = Callable[[Exception], str]
"""Returns the sentence of an error for the caller."""

type Notify = Callable[[dict[str, Any]], None]
"""Sends a notification to the client; an error that it raises ends the model's call."""

Filters = Annotated[
    dict[str, FilterScalar | list[FilterScalar] | dict[str, FilterScalar]] | None,
    Field(
        max_length=20,
        description="Metadata fields that the documents must have: a value, a list of values, or one comparison "
        'such as {"$gte": 7}. Leave it out unless the user names such a field.',
    ),
]


class AskArguments(BaseModel, strict=True, extra="forbid"):
    """What to ask."""

    question: Annotated[str, Field(description="The question, complete in itself, in plain words.")]
    filters: Filters = None


class SearchArguments(BaseModel, strict=True, extra="forbid"):
    """What to search for."""

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
    arguments: type[BaseModel]
    reply: type[BaseModel]
    run: Callable[[Library, Any, Listen | None], tuple[str, BaseModel]]


def build_server(
    library: Library, *, profile: str, describe_error: DescribeError, notify: Notify | None = None
) -> McpServer:
    """Return the MCP server over ``library``; ``notify`` sends a message before the result."""
    methods: dict[str, Method] = {
        "tools/list": lambda _: {"tools": _list_tools(_overview(library))},
        "tools/call": lambda params: _call(library, params, describe_error, _progress(params, notify)),
        "resources/list": lambda params: list_documents(library, params, describe_error),
        "resources/templates/list": lambda _: {"resourceTemplates": TEMPLATES},
        "resources/read": lambda params: read_resource(library, params, describe_error),
        "prompts/list": lambda _: {"prompts": [PROMPT]},
        "prompts/get": get_prompt,
    }
    info = {"name": "serverless-rag", "title": f"Documents ({profile})", "version": VERSION}
    return McpServer(methods, info, lambda: f"{describe_documents(_overview(library))} {HOW_TO_USE}")


def get_prompt(params: Params) -> dict[str, Any]:
    """Return the prompt with its question; McpError if the name is another or the question is missing."""
    if params.get("name") != PROMPT["name"]:
        raise McpError(INVALID_PARAMS, f"There is no such prompt; there is {PROMPT['name']}")
    arguments = params.get("arguments")
    question = arguments.get("question") if isinstance(arguments, dict) else None
    if not isinstance(question, str) or not question.strip():
        raise McpError(INVALID_PARAMS, "arguments must hold the text question")
    text = PROMPT_TEXT.replace("{question}", question)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": PROMPT["description"], "messages": [message]}


def describe_documents(overview: Overview | None) -> str:
    """Return a description of the documents in up to three sentences; None stands for no index."""
    if overview is None:
        return "Answers questions from a fixed set of documents, which are not loaded now."
    parts = [f"Answers questions from a fixed set of {overview.documents} documents."]
    if overview.categories:
        parts.append(f"Their categories: {', '.join(overview.categories)}.")
    if overview.titles:
        parts.append(f"Some of their titles: {'; '.join(overview.titles)}.")
    return " ".join(parts)


def _overview(library: Library) -> Overview | None:
    try:
        return library.service.overview()
    except (RagError, KnowledgeError):
        return None  # the error comes with the first question


def _ask(library: Library, arguments: AskArguments, listen: Listen | None) -> tuple[str, BaseModel]:
    answer = library.ask(Question(text=arguments.question, filters=arguments.filters or {}), listen)
    confidence = answer.confidence
    citations = citations_markdown(answer.citations)
    parts = [
        answer.text,
        f"Sources:\n{citations}" if citations else "",
        f"Confidence: {confidence.level} ({int(confidence.score)} of 100), {confidence.reason}",
    ]
    return "\n\n".join(part for part in parts if part), AskReply.model_validate(query_reply(answer))


def _search(library: Library, arguments: SearchArguments, _: Listen | None) -> tuple[str, BaseModel]:
    hits = library.service.search(arguments.query, k=arguments.k, filters=arguments.filters or {})
    passages = [
        PassageReply(
            id=hit.chunk.id,
            uri=f"{SCHEME}{hit.chunk.id}",
            title=hit.chunk.title,
            section=hit.chunk.section,
            url=source_url(hit.chunk),
            score=round(hit.score, 4),
            text=hit.chunk.text,
        )
        for hit in hits
    ]
    texts = [f"[{one.id}] {' > '.join(filter(None, (one.title, one.section)))}\n{one.text}" for one in passages]
    return "\n\n---\n\n".join(texts) or "Nothing was found.", SearchReply(passages=passages)


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


def _list_tools(overview: Overview | None) -> list[dict[str, Any]]:
    """Return the tools, each with a description of the documents and the fields that filter them."""
    fields = (overview.fields if overview else None) or {}
    filters = {
        "type": "object",
        "properties": {name: _field_schema(one) for name, one in fields.items()},
        "maxProperties": 20,
        "additionalProperties": not fields,
    }
    tools = []
    for name, tool in TOOLS.items():
        schema = tool.arguments.model_json_schema()
        description = schema["properties"]["filters"]["description"]
        schema["properties"]["filters"] = {
            "description": description,
            "anyOf": [filters, {"type": "null"}],
            "default": None,
        }
        tools.append(
            {
                "name": name,
                "title": tool.title,
                "description": f"{tool.description} {describe_documents(overview)}",
                "inputSchema": schema,
                "outputSchema": tool.reply.model_json_schema(mode="serialization"),
                "annotations": {"title": tool.title, **READ_ONLY},
            }
        )
    return tools


def _field_schema(field: FilterField) -> dict[str, Any]:
    scalar: dict[str, Any] = {"type": _JSON_TYPES.get(field.kind, ["string", "number", "boolean"])}
    if field.values:
        scalar["enum"] = list(field.values)
    forms = [scalar, {"type": "array", "items": scalar, "minItems": 1}]
    return {"anyOf": [*forms, _COMPARISON] if field.kind in {"int", "float"} else forms}


def _call(library: Library, params: Params, describe_error: DescribeError, listen: Listen | None) -> dict[str, Any]:
    """Return the result of a tool; an error that the calling model can mend is a result too."""
    name = params.get("name")
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None:
        raise McpError(INVALID_PARAMS, f"There is no such tool; there are {', '.join(TOOLS)}")
    try:
        text, reply = tool.run(library, tool.arguments.model_validate(params.get("arguments") or {}), listen)
    except ValidationError as error:
        wrong = str(next(iter(error.errors(include_url=False, include_input=False)[0]["loc"]), ""))
        field = tool.arguments.model_fields.get(wrong)
        accepted = f"Accepted are {', '.join(tool.arguments.model_fields)}"
        sentence = f"{wrong} is missing or wrong: {field.description}" if field else accepted
        return _error_result(f"Wrong arguments. {sentence}")
    except (RagError, KnowledgeError) as error:
        return _error_result(describe_error(error))
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": reply.model_dump(mode="json"),
        "isError": False,
    }


def _error_result(sentence: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": sentence}], "isError": True}


def _progress(params: Params, notify: Notify | None) -> Listen | None:
    """Return a listener that reports an answer's stages and length; None without a token or a way to send."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    if notify is None or isinstance(token, bool) or not isinstance(token, str | int):
        return None
    numbers, characters, notified_at = count(1), 0, 0.0

    def report(message: str) -> None:
        nonlocal notified_at
        notified_at = time.monotonic()
        progress = {"progressToken": token, "progress": next(numbers), "message": message}
        notify({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})

    def listen(event: Event) -> None:
        nonlocal characters
        if isinstance(event, Status):
            report(event.stage)
        elif isinstance(event, Delta):
            characters += len(event.text)
            if time.monotonic() - notified_at >= NOTIFY_EVERY_S:
                report(f"writing: {characters} characters")

    return listen


def list_documents(library: Library, params: Params, describe_error: DescribeError) -> dict[str, Any]:
    """Return a page of the documents; the cursor is the number of a chunk."""
    cursor = params.get("cursor", "0")
    if not isinstance(cursor, str) or not cursor.isdecimal() or len(cursor) > MAX_CURSOR_DIGITS:
        raise McpError(INVALID_PARAMS, "cursor must be the nextCursor of an earlier page")
    try:
        page = library.service.document_page(int(cursor))
    except (RagError, KnowledgeError) as error:
        raise McpError(INTERNAL_ERROR, describe_error(error)) from error
    following = {} if page.following is None else {"nextCursor": str(page.following)}
    return {"resources": [_resource(chunk) for chunk in page.first_chunks], **following}


def read_resource(library: Library, params: Params, describe_error: DescribeError) -> dict[str, Any]:
    """Return a passage, or a whole document."""
    uri = params.get("uri")
    if not isinstance(uri, str) or not uri.startswith((SCHEME, DOCUMENT)):
        wanted = f"{SCHEME}id_42, a passage, or {DOCUMENT}id_42, the document that begins with it"
        data = {"uri": uri[:100]} if isinstance(uri, str) else None
        raise McpError(INVALID_PARAMS, f"uri must be such as {wanted}", data)
    service, name = library.service, uri.partition("://")[2]
    try:
        chunks = (service.chunk(name).chunk,) if uri.startswith(SCHEME) else service.document(name)
    except UnknownChunk as error:
        raise McpError(INVALID_PARAMS, describe_error(error), {"uri": uri[:100]}) from error
    except (RagError, KnowledgeError) as error:
        raise McpError(INTERNAL_ERROR, describe_error(error)) from error
    first = chunks[0]
    if uri.startswith(SCHEME):
        text = f"{' > '.join(filter(None, (first.title, first.section)))}\n{source_url(first)}\n\n{first.text}"
    else:
        parts = ["\n\n".join(filter(None, (f"## {one.section}" if one.section else "", one.text))) for one in chunks]
        text = "\n\n".join([f"# {first.title}\n{source_url(first)}", *parts])
    return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}


def _resource(first: Chunk) -> dict[str, Any]:
    name = f"{first.title} ({first.category})" if first.category else first.title
    description = {"description": source_url(first)} if source_url(first) else {}
    return {
        "uri": f"{DOCUMENT}id_{first.number}",
        "name": name,
        "title": first.title,
        **description,
        "mimeType": MARKDOWN,
    }
