"""docs/openapi.json: every route with what it takes and gives, made of the models that read and write it."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rag.http.chat_completions import ChatRequest, error_body, model_body
from rag.http.health_schema import HealthReply
from rag.http.reader_schema import ChunkReply, RenderedChunkReply, RenderedReply, SuggestionsReply
from rag.http.schema import (
    ErrorReply,
    FeedbackReply,
    FeedbackRequest,
    QueryReply,
    QueryRequest,
    QuestionReply,
    QuestionRequest,
)
from rag.version import VERSION
from ragctl.examples import (
    ANSWER,
    CHUNK,
    COMPLETION,
    COMPLETION_STREAM,
    DECLINE,
    HEALTH,
    MCP_CALL,
    MCP_RESULT,
    STREAM,
    WELCOME,
)
from ragctl.openapi_parts import of_model, of_object, operation, parameter, static_file, told

_OPTIONS = "invalid_json, invalid_query, empty_query, query_too_long, unsafe_query, invalid_parameter"
_ANY = {
    "401": "unauthorized",
    "403": "forbidden: the API key is missing or wrong (on AWS)",
    "429": "too_many_requests",
    "500": "pipeline_error",
}
_BODY = {"413": "body_too_large (over 64 KiB)", "415": "unsupported_media_type"}
_INDEX = {"503": "index_not_ready, index_mismatch"}
_ANSWERED = {
    **_ANY,
    "400": f"A bad body or parameter: {_OPTIONS}",
    **_BODY,
    "503": "llm_unavailable, embedder_unavailable, index_not_ready, index_mismatch",
}
_QUESTION = "What does it cost to change an ocean booking?"
_MODELS: tuple[type[BaseModel], ...] = (
    QueryRequest,
    QueryReply,
    RenderedReply,
    RenderedChunkReply,
    QuestionRequest,
    QuestionReply,
    FeedbackRequest,
    FeedbackReply,
    ChunkReply,
    SuggestionsReply,
    HealthReply,
    ChatRequest,
    ErrorReply,
)


def openapi() -> str:
    """The document."""
    _, schema = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
    )
    for one in schema["$defs"].values():  # docstrings are reStructuredText, descriptions Markdown
        one["description"] = one.get("description", "").replace("``", "`")
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Serverless RAG question answering",
            "version": VERSION,
            "description": "Answers with checked citations and a confidence, or an honest refusal.",
        },
        "security": [{"apiKey": []}, {}],
        "paths": _paths(),
        "components": {
            "schemas": schema["$defs"],
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-api-key",
                    "description": "On AWS; the local server asks for none.",
                }
            },
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _paths() -> dict[str, Any]:
    stream = {"text/event-stream": {"schema": {"type": "string"}, "example": STREAM}}
    return {
        "/api/query": {
            "post": operation(
                "query",
                "Answer one question",
                "With Accept: text/event-stream the answer comes as server-sent events: status {stage}, sources "
                "{references} before the first text, delta {text} while a model writes, with rendered: true patch "
                "{block, nodes} too, statement {statement, text, support, references, score} for each one checked, "
                "then answer, the whole body, or error. With rendered: true the body is a RenderedReply.",
                body=of_model(QueryRequest, {"query": _QUESTION}),
                responses={"200": told("An answer, or a decline", {**of_model(QueryReply, ANSWER, DECLINE), **stream})},
                errors=_ANSWERED,
            )
        },
        "/v1/query": {
            "post": operation(
                "question",
                "Answer one question, in the help desk's words",
                body=of_model(QuestionRequest, {"question": "How do I start a timer?"}),
                responses={"200": told("An answer, or a refusal", of_model(QuestionReply))},
                errors=_ANSWERED,
            )
        },
        "/api/feedback": {
            "post": operation(
                "feedback",
                "Vote on a response; the session's last vote counts, null withdraws it",
                body=of_model(FeedbackRequest, {"responseId": "Jk2v9oXW0yq3Q5m1r7TzAw", "helpful": True}),
                responses={"202": told("The vote is kept", of_model(FeedbackReply))},
                errors={
                    **_ANY,
                    "400": "A bad body or field: invalid_json, invalid_parameter",
                    "404": "unknown_response",
                    **_BODY,
                    "429": "too_many_votes: of one session within an hour, Retry-After says for how long; "
                    "too_many_requests",
                    "503": "store_unavailable",
                },
            )
        },
        "/api/chunks/{chunk_id}": {
            "get": operation(
                "chunk",
                "A passage, and what in it answers a question",
                "Offsets count characters of text. Scores and weights are 0 to 1; without a question units score 0. "
                "With rendered=true the body is a RenderedChunkReply.",
                parameters=[
                    parameter("chunk_id", "path", "The id of a chunk, as citations name it.", "id_42"),
                    parameter("question", "query", "The question that was asked, at most 2000 characters.", _QUESTION),
                    parameter("rendered", "query", "true: also the passage's Markdown as nodes.", "true"),
                ],
                responses={"200": told("The passage", of_model(ChunkReply, CHUNK))},
                errors={**_ANY, "400": "invalid_parameter", "404": "unknown_chunk", **_INDEX},
            )
        },
        "/api/suggestions": {
            "get": operation(
                "suggestions",
                "Questions that the index answers, from its own headings",
                responses={"200": told("Up to six, and the page's words", of_model(SuggestionsReply, WELCOME))},
                errors={**_ANY, **_INDEX},
            )
        },
        "/api/health": {
            "get": operation(
                "health",
                "Is there an index, and who writes the answers?",
                responses={"200": told("Ready", of_model(HealthReply, HEALTH))},
                errors={**_ANY, **_INDEX},
            )
        },
        "/v1/chat/completions": {
            "post": operation(
                "chatCompletion",
                "OpenAI's chat completions",
                "The last message of the user is the question, what was said before it the conversation. Beside "
                "choices stand citations, sources, confidence, refused and responseId. Errors have OpenAI's shape.",
                body=of_model(ChatRequest, {"model": "waypoint", "messages": [{"role": "user", "content": _QUESTION}]}),
                responses={
                    "200": told(
                        "A completion, or with stream: true its chunks",
                        {
                            "application/json": {"schema": {"type": "object"}, "example": COMPLETION},
                            "text/event-stream": {"schema": {"type": "string"}, "example": COMPLETION_STREAM},
                        },
                    )
                },
                errors={**_ANSWERED, "413": "body_too_large (over 1 MiB)"},
                shape=error_body("messages must hold a message of the user", "invalid_parameter", 400),
            )
        },
        "/v1/models": {
            "get": operation(
                "models",
                "The models: the profile, and the same with its sources as links below the answer",
                responses={"200": told("The models", of_object({"object": "list", "data": [model_body("waypoint")]}))},
                errors=_ANY,
            )
        },
        "/v1/models/{model}": {
            "get": operation(
                "model",
                "One model",
                parameters=[parameter("model", "path", "Its name.", "waypoint")],
                responses={"200": told("The model", of_object(model_body("waypoint")))},
                errors={**_ANY, "404": "model_not_found"},
                shape=error_body("The model 'x' does not exist", "model_not_found", 404),
            )
        },
        "/mcp": {
            "post": operation(
                "mcp",
                "One message of the Model Context Protocol",
                "Revisions 2026-07-28 and 2025-11-25, stateless, JSON replies: tools ask and search, resources chunk://ID.",
                body=of_object(MCP_CALL),
                responses={
                    "200": told("A JSON-RPC reply", of_object(MCP_RESULT)),
                    "202": {"description": "A notification, which gets no reply"},
                },
                errors={
                    **_ANY,
                    "400": "A message that cannot be read (a JSON-RPC error)",
                    "404": "An unknown method (a JSON-RPC error)",
                    "406": "not_acceptable",
                    **_BODY,
                },
            )
        },
        "/": {"get": static_file("page", "The page to ask on", "text/html")},
        "/docs": {"get": static_file("docs", "This reference", "text/html")},
        "/openapi.json": {"get": static_file("openapi", "This description", "application/json")},
    }
