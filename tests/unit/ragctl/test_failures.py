"""What the user is told of an error: sentence, code, exit status."""

from __future__ import annotations

import pytest

from knowledge.model.errors import IndexLocked, IndexMissing
from rag.errors import ConfigurationError, EmptyQuery, LlmUnavailable
from ragctl.failures import CommandFailed, Problem, describe


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (EmptyQuery(), Problem("Query cannot be empty", "empty_query", 2)),
        (IndexMissing("No index in 'x'"), Problem("No index in 'x'", "index_not_ready", 1)),
        (IndexLocked("Another process"), Problem("Another process", "index_locked", 1)),
        (ConfigurationError("Wrong setting"), Problem("Wrong setting", "configuration_error", 1)),
        (LlmUnavailable("vendor words"), Problem("Pipeline error: LLM request failed", "llm_unavailable", 1)),
        (FileNotFoundError(2, "No such file", "a.txt"), Problem("No such file: a.txt", "os_error", 1)),
        (OSError(28, "No space left on device", "a.txt"), Problem("The disk is full: a.txt", "os_error", 1)),
        (OSError(28, "No space"), Problem("The disk is full: a file could not be written", "os_error", 1)),
        (CommandFailed("so", code="c", exit_status=130, n=1), Problem("so", "c", 130, {"n": 1})),
        (KeyError("surprise"), None),
    ],
)
def test_every_expected_error_has_a_sentence_a_code_and_an_exit_status(error: Exception, problem: object) -> None:
    assert describe(error) == problem
