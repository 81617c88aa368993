"""The codes of errors: what is said with each, and what to do about it. docs/openapi.json has an example of each."""

from __future__ import annotations

import re
from typing import Any

from rag.http.openai_errors import error_body

_OPTIONS = "invalid_json, invalid_query, empty_query, query_too_long, unsafe_query, invalid_parameter"
ANY = {
    "401": "unauthorized",
    "403": "forbidden: the API key is missing or wrong (on AWS)",
    "429": "too_many_requests",
    "500": "pipeline_error",
}
BODY = {"413": "body_too_large (over 64 KiB)", "415": "unsupported_media_type"}
INDEX = {"503": "index_not_ready, index_mismatch"}
ANSWERED = {
    **ANY,
    "400": f"A bad body or parameter: {_OPTIONS}",
    **BODY,
    "503": "llm_unavailable, embedder_unavailable, index_not_ready, index_mismatch",
}
OPENAI = {
    **ANSWERED,
    "400": f"A bad body or parameter: {_OPTIONS.replace('query_too_long', 'context_length_exceeded')}, "
    "unsupported_parameter",
    "413": "body_too_large (over 1 MiB)",
}
"""What each status says, by kind of route."""

ERRORS = {
    "bad_request": ("The request is not HTTP as this server reads it", "Send HTTP/1.1."),
    "body_too_large": ("Request body exceeds 64 KiB", "Send less."),
    "context_length_exceeded": (
        "The last message of the user exceeds maximum length of 8000 characters",
        "Ask shorter.",
    ),
    "embedder_unavailable": ("Pipeline error: The embedding model cannot be reached", "Ask again later."),
    "empty_query": ("Query cannot be empty", "Ask something."),
    "forbidden": ("Send a valid API key in the header x-api-key or as Authorization: Bearer", "Send the key."),
    "index_mismatch": ("The index was made for another embedding model or format. Run: ragctl ingest PATH", "Ingest."),
    "index_not_ready": ("No index is loaded. Run: ragctl ingest PATH", "Ingest."),
    "invalid_json": ("Request body must be a JSON object", "Send JSON in UTF-8."),
    "invalid_parameter": ("topK must be a whole number from 1 to 50", "Mend the field that is named."),
    "invalid_query": ("Query must be a string", "Send text."),
    "llm_unavailable": ("Pipeline error: LLM request failed", "Ask again after Retry-After."),
    "method_not_allowed": ("Method not allowed; use POST", "Use the method that Allow names."),
    "not_acceptable": ("Accept must include application/json", "Accept JSON."),
    "not_found": ("No such path", "See the list of routes."),
    "pipeline_error": ("Pipeline error: Unexpected failure", "Ask again; report it if it stays."),
    "query_too_long": ("Query exceeds maximum length of 1000 characters", "Ask shorter."),
    "store_unavailable": ("Feedback cannot be kept now", "Vote again later."),
    "too_many_requests": ("Too many requests at once", "Wait for Retry-After."),
    "too_many_votes": ("No more than 60 votes within an hour are taken from one session", "Wait for Retry-After."),
    "unauthorized": ("Not authenticated", "Send the key."),
    "unknown_chunk": ("The index has no such chunk; ids look like id_42", "Take an id from a citation."),
    "unknown_response": ("responseId names no response of the last 30 days", "Take it from an answer."),
    "unsafe_query": ("Query holds a script pattern; plain text is accepted", "Ask in plain text."),
    "unsupported_media_type": ("Content-Type must be application/json", "Send JSON, and say so."),
    "unsupported_parameter": (
        "n is not supported with this value: the answer is one text, and nothing is kept of it",
        "Leave the parameter out that is named.",
    ),
}
"""By code: the sentence, or one of those that come with it, and what to do."""


def examples(described: str, status: int, *, openai: bool) -> dict[str, Any]:
    """An example for each code that ``described`` names, in the shape that is spoken there."""
    shown = {}
    for code in re.findall(r"[a-z]+(?:_[a-z]+)*", described):
        if code in ERRORS:
            sentence = ERRORS[code][0]
            body = error_body(sentence, code, status) if openai else {"error": sentence, "code": code}
            shown[code] = {"value": body}
    return shown


def table() -> list[dict[str, str]]:
    """All codes, for the page."""
    return [{"code": code, "error": error, "remedy": remedy} for code, (error, remedy) in sorted(ERRORS.items())]
