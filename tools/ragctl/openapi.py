"""docs/openapi.json: every route with what it takes and gives, made of the models that read and write it."""

from __future__ import annotations

import json

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rag.http.chat_completions import ChatRequest
from rag.http.health_schema import HealthReply
from rag.http.openai_responses import ResponseRequest
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
from ragctl.openapi_descriptions import describe
from ragctl.openapi_errors import table
from ragctl.openapi_paths import paths
from ragctl.openapi_protocols import PROTOCOLS
from ragctl.openapi_samples import BASE, samples

_TAGS = {
    "Questions": "The service's own API: ask, vote, read what an answer rests on.",
    "OpenAI": "For programs that speak OpenAI's protocol: set the base address to this server's /v1.",
    "MCP": "For assistants that speak the Model Context Protocol.",
    "Operation": "For whoever runs the service.",
    "Page": "What a browser opens.",
}
_SERVERS = [
    {"url": BASE, "description": "make run, or ragctl serve"},
    {
        "url": "https://{api}.execute-api.{region}.amazonaws.com/prod",
        "description": "A deployed stack",
        "variables": {
            "api": {"default": "abcdefghij", "description": "The API's id."},
            "region": {"default": "eu-central-1", "description": "The region."},
        },
    },
]
_REPLIES: tuple[type[BaseModel], ...] = (
    QueryReply,
    RenderedReply,
    RenderedChunkReply,
    QuestionReply,
    FeedbackReply,
    ChunkReply,
    SuggestionsReply,
    HealthReply,
    ErrorReply,
)
_REQUESTS = (QueryRequest, QuestionRequest, FeedbackRequest, ChatRequest, ResponseRequest)


def openapi() -> str:
    """The document."""
    # A request's field with a default may be left out; of a reply every field is there.
    _, schema = models_json_schema(
        [*((model, "validation") for model in _REQUESTS), *((model, "serialization") for model in _REPLIES)],
        ref_template="#/components/schemas/{model}",
    )
    schemas = {**schema["$defs"], **PROTOCOLS}
    describe(schemas)
    routes = paths()
    for path, methods in routes.items():
        for method, one in methods.items():
            if one["tags"] != ["Page"]:
                one["x-codeSamples"] = samples(method, path, one)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Serverless RAG question answering",
            "version": VERSION,
            "description": "Answers with checked citations and a confidence, or an honest refusal.",
        },
        "servers": _SERVERS,
        "tags": [{"name": name, "description": told} for name, told in _TAGS.items()],
        "security": [{"apiKey": []}, {"bearer": []}, {}],
        "paths": routes,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-api-key",
                    "description": "On AWS; the local server asks for none.",
                },
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The same key, as OpenAI's clients send it.",
                },
            },
        },
        "x-error-codes": table(),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
