"""The whole service held to samples/waypoint/questions.jsonl, with an LLM configured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes_llm import LlmServer
from functional.harness import API_KEY, DECLINE, REPOSITORY, Api, Json, starting

EXPECTED_SHARE = 0.85
MIN_DECLINED = 10

QUESTIONS = [
    json.loads(line)
    for line in (REPOSITORY / "samples" / "waypoint" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
IN_SCOPE = [question for question in QUESTIONS if question["expected"]]
OUT_OF_SCOPE = [question for question in QUESTIONS if not question["expected"]]


def cite_the_first_passage(request: Json) -> str:
    """What a model would do that trusts the order of the context."""
    system = request["messages"][0]["content"]
    context = system[system.index("=======") :]
    label = context[context.index("[") : context.index("]") + 1]
    return f"The context says so. {label}"


@pytest.fixture(scope="module")
def served(waypoint_index: Path) -> Iterator[tuple[Api, LlmServer]]:
    """The service beside an LLM that counts its requests."""
    with LlmServer(answer=cite_the_first_passage) as server, starting(waypoint_index) as start:
        yield start(LLM_BASE_URL=server.url, LLM_API_KEY=API_KEY), server


def test_there_are_enough_questions() -> None:
    assert len(IN_SCOPE) >= 40
    assert len(OUT_OF_SCOPE) == 12


def test_the_expected_document_is_cited_or_related(served: tuple[Api, LlmServer]) -> None:
    api, _ = served
    missed = []
    for question in IN_SCOPE:
        body = api.ask(question["question"]).json
        shown = {item["docId"] for item in (*body["citations"], *body["relatedDocs"])}
        if not shown & set(question["expected"]):
            missed.append(question["id"])
    assert 1 - len(missed) / len(IN_SCOPE) >= EXPECTED_SHARE, f"missed: {missed}"


def test_questions_out_of_scope_cost_no_llm_call(served: tuple[Api, LlmServer]) -> None:
    api, server = served
    called = []
    for question in OUT_OF_SCOPE:
        before = len(server.requests)
        body = api.ask(question["question"]).json
        if len(server.requests) != before:
            called.append(question["id"])
        else:
            assert body["answer"] == DECLINE
    assert len(OUT_OF_SCOPE) - len(called) >= MIN_DECLINED, f"called for: {called}"


def test_every_extractive_answer_quotes_its_own_sources(api: Api) -> None:
    """Two to five sentences, each with its citation, at most 900 characters, whatever the question."""
    for question in IN_SCOPE:
        body = api.ask(question["question"]).json
        if body["metadata"]["model"] is None:
            continue
        assert len(body["answer"]) <= 900, question
        assert body["citations"], question
        assert body["answer"].endswith("]"), question
        for citation in body["citations"]:
            assert citation["raw"].startswith(f"[{citation['fullTitle']}"), question
