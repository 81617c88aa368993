"""What every profile can do: feedback, answer cache, memory and each retriever, and what is on by default."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fakes_llm import LlmServer
from functional.gacounts_service import asked, cached, cited_chunks, counted, model, moved, of_llm
from functional.harness import IN_SCOPE, Reply, Start, starting

from rag.profiles import PROFILES, load_profile

CACHES = {"ENABLE_RESPONSE_CACHE": "true"}
SAME = ("answer", "citations", "citationsMarkdown", "sources", "relatedDocs", "confidence", "refused", "routing")
FULL_VOICES = 5


@dataclass(frozen=True)
class Case:
    """A profile with a question that it answers, a follow-up and what that means."""

    profile: str
    question: str
    follow_up: str
    meant: str


CASES = (
    Case("waypoint", IN_SCOPE, "And for food?", "Which documents do you need to import food into Singapore?"),
    Case(
        "clockify",
        "How many unused vacation days carry over to next year?",
        "And who approves them?",
        "Who approves time off requests?",
    ),
)


@pytest.fixture(params=CASES, ids=lambda case: case.profile)
def case(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def serve(case: Case, waypoint_index: Path, clockify_index: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts the profile on a store of this test; every start is another process."""
    index = {"waypoint": waypoint_index, "clockify": clockify_index}[case.profile]
    with starting(index) as start:
        yield partial(start, RAG_PROFILE=case.profile, STORE_PATH=str(tmp_path / "s.sqlite"))


def trail(reply: Reply) -> str:
    return "\n".join(reply.json["metadata"]["trail"])


def test_by_default_a_store_brings_feedback_and_conversations_and_no_cache(case: Case, serve: Start) -> None:
    api = serve()
    used = cited_chunks(api, case.question)
    first, *_ = replies = [api.ask(case.question) for _ in range(2)]
    assert [cached(reply) for reply in replies] == [False, False]
    assert replies[0].json["sessionId"] != replies[1].json["sessionId"]
    # A follow-up is searched for with the turns before it, one of another session is not.
    second = api.ask(case.follow_up, sessionId=first.json["sessionId"])
    assert "together with the turns before" in trail(second)
    assert counted(second, "Reframed") == 0
    assert "together with the turns before" not in trail(api.ask(case.follow_up))
    # Votes of several sessions move what was cited.
    assert moved(first) == {}
    for number in range(FULL_VOICES):
        response = api.ask(case.question, sessionId=f"a-reader-of-{number:012}").json["responseId"]
        assert api.vote(response, True).status == 202
    assert moved(api.ask(case.question)) == dict.fromkeys(used, 0.1)


def test_without_turns_nobody_is_remembered(case: Case, serve: Start) -> None:
    api = serve(HISTORY_TURNS="0")
    session = "a-session-of-the-caller-s-own"
    assert api.ask(case.question).json["sessionId"] is None
    api.ask(case.question, sessionId=session)
    assert "turns before" not in trail(api.ask(case.follow_up, sessionId=session))


def test_an_answer_is_cached_when_somebody_says_so(case: Case, serve: Start) -> None:
    first = serve(**CACHES).ask(case.question)
    there = serve(**CACHES)
    second, third = there.ask(case.question.upper()), there.ask(case.question)
    assert [cached(reply) for reply in (first, second, third)] == [False, True, True]
    assert (counted(second, "CacheHit", layer="l2"), counted(third, "CacheHit", layer="l1")) == (1, 1)
    assert {name: second.json[name] for name in SAME} == {name: first.json[name] for name in SAME}
    assert second.json["metadata"]["query"] == case.question.upper()
    assert len({reply.json["responseId"] for reply in (first, second, third)}) == 3
    # The help desk's route shares it, in its own shape.
    told = there.send("/v1/query", question=case.question, debug=True).json
    assert (told["metadata"]["cached"], told["answer"], told["refused"]) == (True, first.json["answer"], False)
    assert not cached(serve(ENABLE_RESPONSE_CACHE="false").ask(case.question))


def test_with_a_model_a_follow_up_is_rewritten_answered_as_what_it_means_and_not_cached(
    case: Case, serve: Start
) -> None:
    with LlmServer(answer=model(reframe=lambda _: case.meant)) as server:
        api = serve(HISTORY_TURNS="5", **CACHES, **of_llm(server.url))
        first = api.ask(case.question)
        second = api.ask(case.follow_up, sessionId=first.json["sessionId"])
        alone = [api.ask(case.meant) for _ in range(2)]
    assert f"understood as: {case.meant}" in trail(second)
    assert second.json["metadata"]["query"] == case.follow_up
    (reframing,) = asked(server.requests, "reframe")
    assert f"User: {case.question}" in reframing["messages"][0]["content"]
    _, answering, _ = asked(server.requests, "answer")
    system, user = answering["messages"]
    assert user == {"role": "user", "content": case.meant}
    assert case.question not in system["content"]
    assert [cached(reply) for reply in (second, *alone)] == [False, False, True], "what leans on turns is not shared"


def test_with_the_store_out_of_reach_the_question_is_answered(case: Case, serve: Start, tmp_path: Path) -> None:
    reply = serve(HISTORY_TURNS="5", **CACHES, STORE_PATH=str(tmp_path)).ask(case.question)
    assert (reply.status, reply.json["refused"]) == (200, False)
    assert set(reply.json["metadata"]["skipped"]) == {"cache", "feedback", "memory"}
    assert counted(reply, "SoftFailures", stage="feedback") == 1


@pytest.mark.parametrize(
    ("profile", "seed_rules"),
    [(name, rules) for name in PROFILES for rules in ("on", "off") if load_profile(name).seed or rules == "off"],
)
def test_each_retriever_answers(start: Start, profile: str, seed_rules: str) -> None:
    threshold = {"gacounts": "0.3"}.get(profile, "auto")  # the seed's .75 is that of another model
    found = {}
    for retriever in ("", "late", "dense", "hybrid"):
        api = start(RAG_PROFILE=profile, SEED_RULES=seed_rules, RETRIEVER=retriever, RELEVANCE_THRESHOLD=threshold)
        reply = api.ask("do i need a permit to bring machine parts into Singapore?")
        found[retriever] = (reply.status, reply.json["refused"], bool(reply.json["citations"]))
    assert found == dict.fromkeys(found, (200, False, True))
