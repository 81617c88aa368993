"""What asks about nothing, in every profile: a kind reply, no search, no model."""

from __future__ import annotations

import json

import pytest
from fakes_llm import LlmServer
from functional.harness import Start, rest_event

from rag.config.settings import PROFILE_NAMES

KIND = {
    "Hi there!": "Hello! What would you like to know?",
    "thank you so much": "You're welcome. What else would you like to know?",
    "ok, bye": "Goodbye!",
    "Can you help me?": "What would you like to know?",
}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_it_is_answered_in_kind_and_costs_no_model(start: Start, profile: str) -> None:
    with LlmServer(answer=lambda _: "Yes.") as server:
        api = start(RAG_PROFILE=profile, LLM_BASE_URL=server.url, RAG_OLLAMA_URL=server.url)
        replies = {text: api.ask(text) for text in KIND}
    assert server.requests == []
    assert {text: reply.json["answer"] for text, reply in replies.items()} == KIND
    for body in (reply.json for reply in replies.values()):
        assert (body["refused"], body["citations"], body["metadata"]["model"]) == (True, [], None)
        assert body["confidence"] == {"level": "Low", "score": 0, "reason": "Nothing was asked", "raw": None}
        assert body["metadata"]["timings"]["retrievalMs"] == 0
    assert all(line.get("NoResults", [0]) == [0] for reply in replies.values() for line in reply.metrics)


def test_nobody_has_to_look_after_it(start: Start) -> None:
    api = start(RAG_PROFILE="clockify")
    body = api.call(rest_event("POST", "/v1/query", json.dumps({"question": "Thanks!"}))).json
    assert (body["refused"], body["routing"]) == (True, {"action": "return", "reason": "Nothing was asked"})


def test_the_seeds_know_no_small_talk(start: Start) -> None:
    assert "specific information" in start(SEED_RULES="on").ask("Hello!").json["answer"]
