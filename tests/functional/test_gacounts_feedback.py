"""POST /api/feedback through the handler: what it takes, what it teaches, and who it cannot hurt."""

import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClock
from functional.gacounts_service import (
    COLORS,
    MEALS,
    TOMATOES,
    TRAINING,
    cached,
    cited,
    cited_chunks,
    counted,
    gacounts,
    moved,
)
from functional.harness import Api, Json, Start, rest_event

FULL_VOICES = 5
SESSIONS = (f"reader-{number:015}" for number in count())
LEAVE = "Who approves leave requests?"
ANGRY = "an-angry-session-of-22c"
POOR = "Which vaccine does my puppy need at eight weeks?"


@pytest.fixture
def api(fresh: Start, tmp_path: Path) -> Api:
    """The profile on a fresh store, without a cache: every ask shows the order as it is now."""
    return fresh(**gacounts(tmp_path / "s.sqlite", ENABLE_RESPONSE_CACHE="false", RECENCY_WIDTH="0"))


def order(api: Api, question: str, **fields: Any) -> list[str]:
    """The documents of an answer, best first."""
    return [doc["docId"] for doc in api.ask(question, **fields).json["relatedDocs"]]


def test_any_vote_on_an_answer_or_a_decline_is_accepted_and_counted(api: Api) -> None:
    response = api.ask(COLORS).json["responseId"]
    for helpful, comment in ((True, "Thank you."), (False, "\U0001f600" * 2000), (None, "\ud83d half a pair \u0000")):
        reply = api.vote(response, helpful, comment=comment)
        assert (reply.status, reply.json) == (202, {"responseId": response, "accepted": True})
        assert counted(reply, "FeedbackReceived") == 1
    assert api.vote(api.ask(TOMATOES).json["responseId"], False).status == 202


def test_an_unknown_response_is_404_and_what_is_no_object_400(api: Api) -> None:
    refused = api.call(rest_event("POST", "/api/feedback", "[]"))
    assert (refused.status, refused.json["code"]) == (400, "invalid_json")
    reply = api.vote("' OR 1=1 --", True)
    assert (reply.status, reply.json["code"]) == (404, "unknown_response")
    assert counted(reply, "FeedbackReceived") == 0


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"responseId": "r"}, "helpful"),
        ({"responseId": "r", "helpful": 1}, "helpful"),
        ({"responseId": "", "helpful": True}, "responseId"),
        ({"responseId": "r", "helpful": True, "comment": "x" * 2001}, "comment"),
    ],
    ids=["missing", "no boolean", "empty", "too long"],
)
def test_a_wrong_field_is_named(api: Api, fields: Json, name: str) -> None:
    refused = api.send("/api/feedback", **fields)
    assert (refused.status, refused.json["code"]) == (400, "invalid_parameter")
    assert refused.json["error"].startswith(f"{name} must be ")


def voted(api: Api, question: str, helpful: bool, *, voices: int = FULL_VOICES, **fields: Any) -> list[str]:
    """As many sessions ask ``question`` and vote on what they got."""
    ids = [api.ask(question, sessionId=next(SESSIONS), **fields).json["responseId"] for _ in range(voices)]
    assert {api.vote(response, helpful).status for response in ids} == {202}
    return ids


def test_votes_against_move_what_was_cited_but_no_score_no_gate_and_no_other_question(api: Api) -> None:
    """No filters, no special request: what readers do all day."""
    before, blamed, other = api.ask(LEAVE), cited_chunks(api, LEAVE), api.ask(COLORS).json["citations"]
    voted(api, LEAVE, False, voices=2 * FULL_VOICES)
    after = api.ask(LEAVE)
    assert (moved(before), moved(after)) == ({}, dict.fromkeys(blamed, -0.15))
    found, now = ([doc["docId"] for doc in reply.json["relatedDocs"]] for reply in (before, after))
    assert set(found) - set(cited(before)), "else there is nothing to pass what was cited"
    assert (now != found, set(now)) == (True, set(found))
    one, two = ({(c["docId"], c["section"]): c["score"] for c in reply.json["citations"]} for reply in (before, after))
    assert all(one[place] == two[place] for place in one.keys() & two.keys())
    assert after.json["refused"] is False
    assert after.json["metadata"]["chunksRetrieved"] == before.json["metadata"]["chunksRetrieved"]
    assert api.ask(COLORS).json["citations"] == other


def test_helpful_answers_pull_their_documents_up_until_their_votes_are_withdrawn(api: Api) -> None:
    before = order(api, LEAVE)
    # Readers that ask for the other document alone, with the very same words, are happy with it.
    responses = voted(api, LEAVE, True, filters={"doc_id": before[1]})
    after = order(api, LEAVE)
    assert (after[:2], set(after)) == (before[1::-1], set(before))
    voted(api, POOR, True, voices=2 * FULL_VOICES, threshold=-1)
    assert api.ask(POOR).json["refused"], "no vote lifts an answer over the gate"
    for response in responses:
        api.vote(response, None)
    assert order(api, LEAVE) == before


def test_one_angry_session_moves_a_score_by_a_fifth_of_the_penalty_and_cannot_bury_what_others_like(api: Api) -> None:
    before = api.ask(MEALS)
    (liked,) = cited(before)
    for _ in range(10):
        api.vote(api.ask(MEALS, sessionId=ANGRY).json["responseId"], False)
    assert set(moved(api.ask(MEALS)).values()) == {-0.15 / FULL_VOICES}
    voted(api, MEALS, True)
    after = api.ask(MEALS)
    assert after.json["relatedDocs"][0]["docId"] == liked
    assert after.json["confidence"]["score"] == before.json["confidence"]["score"]


def test_a_script_without_a_session_is_one_voice_however_it_asks(
    fresh: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = time.time() // 3600 * 3600
    monkeypatch.setattr(time, "time", lambda: hour)
    api = fresh(**gacounts(tmp_path / "s.sqlite", ENABLE_RESPONSE_CACHE="false"))
    for number in range(10):
        api.vote(api.ask(LEAVE, topK=8 + number).json["responseId"], False)
    assert set(moved(api.ask(LEAVE)).values()) == {-0.15 / FULL_VOICES}


@pytest.fixture
def clock(api: Api) -> FakeClock:
    """The store's, as of now."""
    clock = FakeClock(now=time.time())
    api.app.service.stores.table.clock = clock
    return clock


def test_a_session_may_send_60_votes_an_hour(api: Api, clock: FakeClock) -> None:
    responses = [api.ask(COLORS).json]
    session = responses[0]["sessionId"]  # which the service began with it
    responses += [api.ask(question, sessionId=session).json for question in (MEALS, TRAINING)]
    for number in range(60):
        assert api.vote(responses[number % 3]["responseId"], number % 2 == 0, comment="again").status == 202

    clock.now += 1200
    for helpful in (True, None):
        refused = api.vote(responses[0]["responseId"], helpful)
        assert (refused.status, refused.json["code"]) == (429, "too_many_votes")
        assert int(refused.headers["retry-after"]) in {2400, 2401}
        assert refused.json["error"].startswith("No more than 60 votes within an hour are taken from one session; ")
        assert counted(refused, "FeedbackReceived") == 0
        assert counted(refused, "Errors", code="too_many_votes") == 1
    other = api.ask(COLORS, sessionId=next(SESSIONS)).json["responseId"]
    assert api.vote(other, True).status == 202
    assert api.ask(COLORS, sessionId=session).status == 200

    clock.now += int(refused.headers["retry-after"])
    assert api.vote(responses[0]["responseId"], None).status == 202


def test_a_refused_vote_against_an_answer_removes_it_from_no_cache(fresh: Start, tmp_path: Path) -> None:
    api = fresh(**gacounts(tmp_path / "s.sqlite", FEEDBACK_PER_HOUR="1"))
    response = api.ask(COLORS).json["responseId"]
    assert [api.vote(response, helpful).status for helpful in (True, False)] == [202, 429]
    assert cached(api.ask(COLORS))


def test_with_0_any_number_is_taken(fresh: Start, tmp_path: Path) -> None:
    api = fresh(**gacounts(tmp_path / "s.sqlite", FEEDBACK_PER_HOUR="0"))
    response = api.ask(COLORS).json["responseId"]
    assert {api.vote(response, True).status for _ in range(61)} == {202}
