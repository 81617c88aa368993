"""GaCounts without an LLM: the sample questions, the scripted conversation, and guides that contradict each other."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.gacounts_service import cached, cited, counted, gacounts, lines
from functional.harness import Api, Json, Reply, starting

CATEGORY_OF_FILTER = {
    "gacounts": "documentation",
    "policy": "abo_policies",
    "brand": "brand_guidelines",
    "training": "ets_training",
}
FOLLOW_UPS_NOT_FOUND = 2
"""Without an LLM the expected document need not come first; it is cited in all but so many."""
TOGETHER = "searched for alone and together with the turns before"
REPORTING = "How do I report in GaCounts?"
NEW = "The GaCounts reporting deadline is the 10th of the following month"
OLD = "The GaCounts reporting deadline is the 15th of the following month"

type Dialogue = list[tuple[Json, Reply]]


@pytest.fixture(scope="module")
def api(gacounts_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The profile on a fresh store."""
    with starting(gacounts_index) as start:
        yield start(**gacounts(tmp_path_factory.mktemp("answers") / "s.sqlite"))


@pytest.fixture(scope="module")
def spoken(gacounts_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dialogue]:
    """The dialogue, each session's turns in order, and what was answered."""
    with starting(gacounts_index) as start:
        api = start(**gacounts(tmp_path_factory.mktemp("dialogue") / "s.sqlite"))
        sessions: dict[str, Json] = {}
        told = []
        for turn in lines("dialogue.jsonl"):
            reply = api.ask(turn["question"], **sessions.get(turn["session"], {}))
            sessions.setdefault(turn["session"], {"sessionId": reply.json["sessionId"]})
            told.append((turn, reply))
        yield told


def _trail(reply: Reply) -> str:
    return "\n".join(reply.json["metadata"]["trail"])


def answer_to(spoken: Dialogue, question: str) -> Reply:
    return next(reply for turn, reply in spoken if turn["question"] == question)


def test_every_turn_is_answered_and_all_but_a_session_s_first_with_the_turns_before(spoken: Dialogue) -> None:
    sessions: dict[str, str] = {}
    for turn, reply in spoken:
        assert reply.status == 200
        assert reply.json["refused"] == (turn["expects"]["doc"] is None), turn["question"]
        assert reply.json["metadata"]["skipped"] == []
        assert (TOGETHER in _trail(reply)) == (turn["session"] in sessions), turn["question"]
        assert counted(reply, "Reframed") == 0
        assert sessions.setdefault(turn["session"], reply.json["sessionId"]) == reply.json["sessionId"]
    assert len(set(sessions.values())) == 3
    assert all(22 <= len(issued) <= 64 for issued in sessions.values())


def test_follow_ups_find_their_documents(spoken: Dialogue) -> None:
    follow_ups = [(turn, reply) for turn, reply in spoken if turn["expects"]["followUp"]]
    missed = [turn["question"] for turn, reply in follow_ups if not {*turn["expects"]["doc"]} & {*cited(reply)}]
    assert len(follow_ups) >= 6
    assert len(missed) <= FOLLOW_UPS_NOT_FOUND, missed


def test_acronyms_are_expanded_and_filters_detected_where_there_are_any(spoken: Dialogue) -> None:
    for turn, reply in spoken:
        expects, trail = turn["expects"], _trail(reply)
        if (acronym := expects["acronym"]) and not expects["followUp"]:
            assert acronym in trail, turn["question"]
        else:
            assert "expanded" not in trail, turn["question"]
        if (word := expects["filter"]) and not expects["followUp"]:
            assert "prefers, by the word" in trail, turn["question"]
            assert CATEGORY_OF_FILTER[word] in trail, turn["question"]
        else:
            assert "prefers, by default: sourceEnvironment = production" in trail, turn["question"]


@pytest.mark.parametrize(
    ("question", "newer", "older"),
    [
        ("What is the meal allowance in the latest travel policy?", "ABO-002", "ABO-001"),
        (REPORTING, "DOC-001", "DOC-002"),
    ],
)
def test_the_newer_document_comes_first_and_it_alone_is_quoted(
    spoken: Dialogue, question: str, newer: str, older: str
) -> None:
    reply = answer_to(spoken, question)
    related = [doc["docId"] for doc in reply.json["relatedDocs"]]
    assert related.index(newer) < related.index(older)
    assert newer in cited(reply)
    assert older not in cited(reply)


def test_the_second_ask_is_cached_in_any_session_and_spelling(spoken: Dialogue) -> None:
    first, second = spoken[0][1], answer_to(spoken, "how do I report in gacounts")
    assert [reply for _, reply in spoken if cached(reply)] == [second]
    assert (counted(first, "CacheHit"), counted(second, "CacheHit", layer="l1")) == (0, 1)
    assert second.json["answer"] == first.json["answer"]
    assert second.json["metadata"]["trail"][-1] == "answered from the cache (l1)"
    assert second.json["sessionId"] != first.json["sessionId"]


def test_an_unknown_session_starts_empty_and_is_kept(api: Api) -> None:
    unknown = "never-heard-of-this-one-0"
    reply = api.ask(REPORTING, sessionId=unknown)
    assert reply.json["sessionId"] == unknown
    assert TOGETHER not in _trail(reply)
    assert TOGETHER in _trail(api.ask("And the deadline?", sessionId=unknown))


def test_of_two_guides_the_newer_is_the_answer_and_the_older_to_who_asks_for_its_year(
    api: Api, spoken: Dialogue
) -> None:
    body = api.ask("What is the GaCounts reporting deadline?").json
    assert body["relatedDocs"][0]["docId"] == "DOC-001"
    cites = body["answer"].split("(Source: ")[1]
    assert cites.startswith("https://ga.example.edu/gacounts/docs/reporting-guide-2025)")
    for answer in (body["answer"], answer_to(spoken, "And the deadline?").json["answer"]):
        assert answer.startswith(NEW)
        assert OLD not in answer
    assert OLD in api.ask("What was the GaCounts reporting deadline in 2023?").json["answer"]
