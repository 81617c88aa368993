"""What asks about nothing, in every profile: a reply in kind, no search, no model."""

import json
from pathlib import Path

import pytest
from functional.harness import Start

from rag.ask.remarks import NOT_ASKED, ONLY_QUOTES, REPLIES, VOTE
from rag.profiles import PROFILES

KIND = {
    "Hi there!": REPLIES["greeting"],
    "thank you so much": REPLIES["thanks"],
    "ok, bye": REPLIES["goodbye"],
    "yes, that is right": REPLIES["assent"],
    "That is wrong.": REPLIES["dissent"],
    "Are you a real person?": REPLIES["identity"],
    "What is it?": NOT_ASKED,
}
QUESTION = "How much is a telex release?"
SAME = ("answer", "citations", "refused", "sources")
SESSION = "remarks-on-an-answer-0123456789"


@pytest.mark.parametrize("profile", PROFILES)
def test_it_is_answered_in_kind_and_costs_no_model(with_llm: Start, profile: str) -> None:
    api = with_llm(answer=lambda _: "Yes.", RAG_PROFILE=profile)
    replies = {text: api.ask(text) for text in KIND}
    assert api.llm.requests == []
    assert {text: reply.json["answer"] for text, reply in replies.items()} == KIND
    for body in (reply.json for reply in replies.values()):
        assert (body["refused"], body["citations"], body["metadata"]["model"]) == (True, [], None)
        assert body["confidence"] == {"level": "Low", "score": 0, "reason": "Nothing was asked", "raw": None}
        assert body["metadata"]["timings"]["retrievalMs"] == 0
    assert all(line.get("NoResults", [0]) == [0] for reply in replies.values() for line in reply.metrics)


def test_without_a_model_the_passage_is_offered_again(start: Start, tmp_path: Path) -> None:
    api = start(STORE_PATH=str(tmp_path / "store.sqlite"))
    said = (QUESTION, "Can you repeat that?", "Can you explain that further please?", "That is wrong.", "Until when?")
    first, again, simpler, wrong, asked = (api.ask(text, sessionId=SESSION).json for text in said)
    assert {name: again[name] for name in SAME} == {name: first[name] for name in SAME}
    assert simpler["answer"] == f"{ONLY_QUOTES}\n\n{first['answer']}"
    assert len(simpler["references"]) == len(first["references"]) > 0
    assert wrong["answer"] == REPLIES["dissent"] + VOTE
    assert asked["references"] != []
    told = api.ask("What did I ask before?", sessionId=SESSION, rendered=True).json["rendered"]
    assert told[1]["tag"] == "ul"
    assert QUESTION in json.dumps(told)


def test_help_says_what_can_be_asked(start: Start) -> None:
    said, _, *topics = start().ask("help").json["answer"].splitlines()
    assert said == "I answer from 28 documents. Ask in your own words, for example about:"
    assert [topic[:2] for topic in topics] == ["- "] * 3


@pytest.mark.parametrize("profile", PROFILES)
def test_a_model_is_asked_the_question_again_with_the_remark(with_llm: Start, tmp_path: Path, profile: str) -> None:
    simpler = "Can you explain that further please?"
    api = with_llm(answer=lambda _: "It costs SGD 45.", RAG_PROFILE=profile, STORE_PATH=str(tmp_path / "s.sqlite"))
    before = api.ask(QUESTION, sessionId=SESSION).json
    asked = len(api.llm.requests)
    if before["refused"]:
        pytest.skip("the sample of this profile does not know it")
    body = api.ask(simpler, sessionId=SESSION).json
    system, user = (message["content"] for message in api.llm.requests[-1].json["messages"])
    assert len(api.llm.requests) == asked + 1  # nothing is rewritten
    assert simpler in user
    assert QUESTION in user + system
    assert f"looked up again: {QUESTION}" in body["metadata"]["trail"]


def test_nobody_has_to_look_after_it_and_the_seeds_know_no_remarks(start: Start) -> None:
    body = start(RAG_PROFILE="clockify").send("/v1/query", question="Thanks!").json
    assert (body["refused"], body["routing"]) == (True, {"action": "return", "reason": "Nothing was asked"})
    assert "specific information" in start(SEED_RULES="on").ask("Hello!").json["answer"]
