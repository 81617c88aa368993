"""The routes of docs/openapi.json: what each takes and gives, with examples, and how it fails."""

from __future__ import annotations

from typing import Any

from rag.http.chat_completions import ChatRequest
from rag.http.health_schema import HealthReply
from rag.http.openai_errors import model_body
from rag.http.openai_responses import ResponseRequest
from rag.http.reader_schema import ChunkReply, SuggestionsReply
from rag.http.schema import (
    FeedbackReply,
    FeedbackRequest,
    QueryReply,
    QueryRequest,
    QuestionReply,
    QuestionRequest,
)
from ragctl.examples import (
    ANSWER,
    CHUNK,
    COMPLETION,
    COMPLETION_STREAM,
    DECLINE,
    HEALTH,
    MCP_CALL,
    MCP_RESULT,
    MCP_STREAM,
    RESPONSE,
    RESPONSE_STREAM,
    STREAM,
    WELCOME,
)
from ragctl.openapi_errors import ANSWERED, ANY, BODY, INDEX, OPENAI
from ragctl.openapi_parts import of_model, of_named, operation, parameter, static_file, stream, told

_EVENTS = {
    "status": "StatusEvent",
    "sources": "SourcesEvent",
    "delta": "DeltaEvent",
    "patch": "PatchEvent",
    "statement": "StatementEvent",
    "answer": "QueryReply",
    "error": "ErrorReply",
}
_LISTED = {"object": "list", "data": [model_body("waypoint"), model_body("waypoint-sources")]}
_QUESTION = "What does it cost to change an ocean booking?"


def paths() -> dict[str, Any]:
    """Every route."""
    return {**_questions(), **_openai(), **_mcp(), **_pages()}


def _questions() -> dict[str, Any]:
    return {
        "/api/query": {
            "post": operation(
                "query",
                "Questions",
                "Answer one question",
                "With Accept: text/event-stream the answer comes as server-sent events: status {stage}, sources "
                "{references} before the first text, delta {text} while a model writes, with rendered: true patch "
                "{block, nodes} too, statement {statement, text, support, references, score} for each one checked, "
                "then answer, the whole body, or error. With rendered: true the body is a RenderedReply.",
                body=of_model(QueryRequest, {"query": _QUESTION}),
                responses={
                    "200": told(
                        "An answer, or a decline", {**of_model(QueryReply, ANSWER, DECLINE), **stream(STREAM, _EVENTS)}
                    )
                },
                errors=ANSWERED,
            )
        },
        "/v1/query": {
            "post": operation(
                "question",
                "Questions",
                "Answer one question, in the help desk's words",
                body=of_model(QuestionRequest, {"question": "How do I start a timer?"}),
                responses={"200": told("An answer, or a refusal", of_model(QuestionReply))},
                errors=ANSWERED,
            )
        },
        "/api/feedback": {
            "post": operation(
                "feedback",
                "Questions",
                "Vote on a response; the session's last vote counts, null withdraws it",
                body=of_model(FeedbackRequest, {"responseId": "Jk2v9oXW0yq3Q5m1r7TzAw", "helpful": True}),
                responses={"202": told("The vote is kept", of_model(FeedbackReply))},
                errors={
                    **ANY,
                    "400": "A bad body or field: invalid_json, invalid_parameter",
                    "404": "unknown_response",
                    **BODY,
                    "429": "too_many_votes: of one session within an hour, Retry-After says for how long; "
                    "too_many_requests",
                    "503": "store_unavailable",
                },
            )
        },
        "/api/chunks/{chunk_id}": {
            "get": operation(
                "chunk",
                "Questions",
                "A passage, and what in it answers a question",
                "Offsets count characters of text. Scores and weights are 0 to 1; without a question units score 0. "
                "With rendered=true the body is a RenderedChunkReply.",
                parameters=[
                    parameter("chunk_id", "path", "The id of a chunk, as citations name it.", "id_42"),
                    parameter("question", "query", "The question that was asked, at most 2000 characters.", _QUESTION),
                    parameter("rendered", "query", "true: also the passage's Markdown as nodes.", "true"),
                ],
                responses={"200": told("The passage", of_model(ChunkReply, CHUNK))},
                errors={**ANY, "400": "invalid_parameter", "404": "unknown_chunk", **INDEX},
            )
        },
        "/api/suggestions": {
            "get": operation(
                "suggestions",
                "Questions",
                "Questions that the index answers, from its own headings",
                responses={"200": told("Up to six, and the page's words", of_model(SuggestionsReply, WELCOME))},
                errors={**ANY, **INDEX},
            )
        },
        "/api/health": {
            "get": operation(
                "health",
                "Operation",
                "Is there an index, and who writes the answers?",
                responses={"200": told("Ready", of_model(HealthReply, HEALTH))},
                errors={**ANY, **INDEX},
            )
        },
    }


def _openai() -> dict[str, Any]:
    return {
        "/v1/chat/completions": {
            "post": operation(
                "chatCompletion",
                "OpenAI",
                "OpenAI's chat completions",
                "The last message of the user is the question, what was said before it the conversation. Beside "
                "choices stand citations, sources, confidence, refused and responseId. What would change the form of "
                "the result (n, logprobs, response_format, tool_choice) is refused as unsupported_parameter, what "
                "tunes a model is ignored.",
                body=of_model(ChatRequest, {"model": "waypoint", "messages": [{"role": "user", "content": _QUESTION}]}),
                responses={
                    "200": told(
                        "A completion, or with stream: true its chunks",
                        {
                            **of_named("ChatCompletion", COMPLETION),
                            **stream(COMPLETION_STREAM, {"message": "ChatCompletionChunk"}),
                        },
                    )
                },
                errors=OPENAI,
                openai=True,
            )
        },
        "/v1/responses": {
            "post": operation(
                "response",
                "OpenAI",
                "OpenAI's responses",
                "As chat completions, for clients that send input. Nothing is stored: previous_response_id and "
                "conversation are refused as unsupported_parameter, and the conversation stands in input.",
                body=of_model(ResponseRequest, {"model": "waypoint", "input": _QUESTION}),
                responses={
                    "200": told(
                        "A response, or with stream: true its events",
                        {
                            **of_named("ResponseObject", RESPONSE),
                            **stream(RESPONSE_STREAM, {"response.*": "ResponseEvent"}),
                        },
                    )
                },
                errors=OPENAI,
                openai=True,
            )
        },
        "/v1/models": {
            "get": operation(
                "models",
                "OpenAI",
                "The models: the profile, and the same with its sources as links below the answer",
                responses={"200": told("The models", of_named("ModelList", _LISTED))},
                errors=ANY,
                openai=True,
            )
        },
        "/v1/models/{model}": {
            "get": operation(
                "model",
                "OpenAI",
                "The model that answers to a name; to any but those listed, the profile does",
                parameters=[parameter("model", "path", "Its name.", "waypoint")],
                responses={"200": told("The model", of_named("ModelObject", model_body("waypoint")))},
                errors=ANY,
                openai=True,
            )
        },
    }


def _mcp() -> dict[str, Any]:
    return {
        "/mcp": {
            "post": operation(
                "mcp",
                "MCP",
                "One message of the Model Context Protocol",
                "Revisions 2026-07-28, 2025-11-25 and 2025-06-18, stateless: tools ask and search, the documents as "
                "resources, a prompt. A call with a progressToken may get an event stream: notifications/progress, "
                "then the reply.",
                body=of_named("JsonRpcRequest", MCP_CALL),
                responses={
                    "200": told(
                        "A JSON-RPC reply",
                        {**of_named("JsonRpcReply", MCP_RESULT), **stream(MCP_STREAM, {"message": "JsonRpcReply"})},
                    ),
                    "202": {"description": "A notification, which gets no reply"},
                },
                errors={
                    **ANY,
                    "400": "A message that cannot be read (a JSON-RPC error)",
                    "404": "An unknown method (a JSON-RPC error)",
                    "406": "not_acceptable",
                    **BODY,
                },
            )
        },
    }


def _pages() -> dict[str, Any]:
    return {
        "/": {"get": static_file("page", "The page to ask on", "text/html")},
        "/docs": {"get": static_file("docs", "This reference", "text/html")},
        "/openapi.json": {"get": static_file("openapi", "This description", "application/json")},
    }
