"""rag.http.failures: an error as the caller sees it."""

import pytest

from knowledge.model.errors import IndexDamaged, IndexMismatch, IndexMissing, IndexUnavailable, SearchFailed
from rag.errors import (
    ConfigurationError,
    EmptyQuery,
    InvalidParameter,
    InvalidQuery,
    LlmFailed,
    LlmUnavailable,
    QueryTooLong,
    UnsafeQuery,
)
from rag.http.failures import QUESTION, explain
from rag.http.requests import InvalidJson


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (InvalidJson("Request body must be a JSON object"), "invalid_json", "Request body must be a JSON object"),
        (InvalidQuery(), "invalid_query", "Query must be a string"),
        (EmptyQuery(), "empty_query", "Query cannot be empty"),
        (QueryTooLong(1000), "query_too_long", "Query exceeds maximum length of 1000 characters"),
        (UnsafeQuery("{noun} holds a script"), "unsafe_query", "Query holds a script"),
        (InvalidParameter("topK must be small"), "invalid_parameter", "topK must be small"),
        (IndexMissing("secret/path"), "index_not_ready", "No index is loaded. Run: ragctl ingest PATH"),
        (IndexDamaged("secret/path"), "index_not_ready", "The index is damaged. Run: ragctl ingest PATH"),
        (IndexUnavailable("secret/path"), "index_not_ready", "There is no room to open the index in"),
        (
            IndexMismatch("secret/path"),
            "index_mismatch",
            "The index was made for another embedding model or format. Run: ragctl ingest PATH",
        ),
        (SearchFailed("vendor's words"), "pipeline_error", "Pipeline error: Retrieval failed"),
        (LlmFailed("vendor's words"), "pipeline_error", "Pipeline error: LLM request failed"),
        (LlmUnavailable("vendor's words"), "llm_unavailable", "Pipeline error: LLM request failed"),
        (KeyError("secret"), "pipeline_error", "Pipeline error: Unexpected failure"),
        (ConfigurationError("secret"), "configuration_error", "Pipeline error: Unexpected failure"),
    ],
)
def test_errors_have_a_stable_code_and_nobody_elses_words(error: Exception, code: str, sentence: str) -> None:
    assert explain(error).body == {"error": sentence, "code": code}


def test_the_endpoints_own_word_for_the_question() -> None:
    assert explain(EmptyQuery(), QUESTION).body == {"error": "Question cannot be empty", "code": "empty_query"}
