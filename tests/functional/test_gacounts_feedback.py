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


@pytest.fixture
def api(fresh: Start, tmp_path: Path) -> Api:
    """The profile on a fresh store, without a cache: every ask shows the order as it is now."""
    return fresh(**gacounts(tmp_path / "s.sqlite", ENABLE_RESPONSE_CACHE="false", RECENCY_WIDTH="0"))


def feedback(api: Api, body: str) -> tuple[int, Json]:
    reply = api.call(rest_event("POST", "/api/feedback", body))
    return reply.status, reply.json


def order(api: Api, question: str, **fields: Any) -> list[str]:
    """The documents of an answer, best first."""
    return [doc["docId"] for doc in api.ask(question, **fields).json["relatedDocs"]]


# --- what it takes


@pytest.mark.parametrize("helpful", [True, False, None])
def test_a_vote_is_accepted_and_counted(api: Api, helpful: bool | None) -> None:
    response = api.ask(COLORS).json["responseId"]
    reply = api.vote(response, helpful, comment="Thank you.")
    assert (reply.status, reply.json) == (202, {"responseId": response, "accepted": True})
    assert counted(reply, "FeedbackReceived") == 1


def test_a_decline_can_be_voted_on(api: Api) -> None:
    assert api.vote(api.ask(TOMATOES).json["responseId"], False).status == 202


@pytest.mark.parametrize("unknown", ["never-given", "' OR 1=1 --"])
def test_an_unknown_response_is_404(api: Api, unknown: str) -> None:
    reply = api.vote(unknown, True)
    assert (reply.status, reply.json["code"]) == (404, "unknown_response")
    assert counted(reply, "FeedbackReceived") == 0


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('{"responseId": "r"}', "helpful"),
        ('{"responseId": "r", "helpful": 1}', "helpful"),
        ('{"responseId": "", "helpful": true}', "responseId"),
        (f'{{"responseId": "r", "helpful": true, "comment": "{"x" * 2001}"}}', "comment"),
    ],
)
def test_a_wrong_field_is_named(api: Api, body: str, name: str) -> None:
    status, error = feedback(api, body)
    assert (status, error["code"]) == (400, "invalid_parameter")
    assert error["error"].startswith(f"{name} must be ")


def test_what_is_no_object_is_400(api: Api) -> None:
    status, error = feedback(api, "[]")
    assert (status, error["code"]) == (400, "invalid_json")


def test_the_longest_comment_and_odd_characters_are_taken(api: Api) -> None:
    response = api.ask(COLORS).json["responseId"]
    assert api.vote(response, False, comment="\U0001f600" * 2000).status == 202
    assert api.vote(response, False, comment="\ud83d half a pair \u0000").status == 202


# --- what it teaches


def voted(api: Api, question: str, helpful: bool, *, voices: int, **fields: Any) -> list[Json]:
    """As many sessions ask ``question`` and vote on what they got."""
    bodies = [api.ask(question, sessionId=next(SESSIONS), **fields).json for _ in range(voices)]
    for body in bodies:
        assert api.vote(body["responseId"], helpful).status == 202
    return bodies


def test_ordinary_votes_against_move_what_was_cited_and_nothing_else(api: Api) -> None:
    """No filters, no special request: what readers do all day."""
    before = api.ask(LEAVE)
    blamed = cited_chunks(api, LEAVE)
    voted(api, LEAVE, False, voices=FULL_VOICES)
    after = api.ask(LEAVE)
    assert moved(before) == {}
    assert moved(after) == dict.fromkeys(blamed, -0.15)
    found = [doc["docId"] for doc in before.json["relatedDocs"]]
    assert set(found) - set(cited(before)), "else there is nothing to pass what was cited"
    assert order(api, LEAVE) != found
    assert set(order(api, LEAVE)) == set(found)


def test_votes_change_no_score_and_no_confidence(api: Api) -> None:
    before = api.ask(MEALS).json
    voted(api, MEALS, True, voices=FULL_VOICES)
    after = api.ask(MEALS).json
    one, other = ({(c["docId"], c["section"]): c["score"] for c in body["citations"]} for body in (before, after))
    assert one.keys() & other.keys()
    assert all(one[place] == other[place] for place in one.keys() & other.keys())
    assert (after["confidence"]["score"], after["refused"]) == (before["confidence"]["score"], False)
    assert after["metadata"]["chunksRetrieved"] == before["metadata"]["chunksRetrieved"]


def test_helpful_answers_pull_their_documents_up(api: Api) -> None:
    before = order(api, LEAVE)
    # Readers that ask for the other document alone, with the very same words, are happy with it.
    voted(api, LEAVE, True, voices=FULL_VOICES, filters={"doc_id": before[1]})
    after = order(api, LEAVE)
    assert after[:2] == before[1::-1]
    assert set(after) == set(before)


def test_a_withdrawn_vote_leaves_no_trace(api: Api) -> None:
    before = order(api, LEAVE)
    bodies = voted(api, LEAVE, True, voices=FULL_VOICES, filters={"doc_id": before[1]})
    assert order(api, LEAVE) != before
    for body in bodies:
        api.vote(body["responseId"], None)
    assert order(api, LEAVE) == before


def test_one_angry_session_moves_a_score_by_a_fifth_of_the_penalty_and_cannot_bury_what_others_like(api: Api) -> None:
    (liked,) = cited(api.ask(MEALS))
    for _ in range(10):
        api.vote(api.ask(MEALS, sessionId=ANGRY).json["responseId"], False)
    assert set(moved(api.ask(MEALS)).values()) == {-0.15 / FULL_VOICES}
    voted(api, MEALS, True, voices=FULL_VOICES)
    assert order(api, MEALS)[0] == liked


def test_a_script_without_a_session_is_one_voice_however_it_asks(
    fresh: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = time.time() // 3600 * 3600
    monkeypatch.setattr(time, "time", lambda: hour)
    api = fresh(**gacounts(tmp_path / "s.sqlite", ENABLE_RESPONSE_CACHE="false"))
    for number in range(10):
        api.vote(api.ask(LEAVE, topK=8 + number).json["responseId"], False)
    assert set(moved(api.ask(LEAVE)).values()) == {-0.15 / FULL_VOICES}


def test_no_vote_moves_the_gate(api: Api) -> None:
    """Everybody dislikes an answer: it is still given. Everybody likes one below the bar: it is still declined."""
    voted(api, TRAINING, False, voices=2 * FULL_VOICES)
    assert not api.ask(TRAINING).json["refused"]
    poor = "Which vaccine does my puppy need at eight weeks?"
    voted(api, poor, True, voices=2 * FULL_VOICES, threshold=-1)
    assert api.ask(poor).json["refused"]


def test_votes_on_one_question_leave_another_alone(api: Api) -> None:
    before = api.ask(COLORS).json["citations"]
    voted(api, TRAINING, False, voices=FULL_VOICES)
    voted(api, MEALS, False, voices=FULL_VOICES)
    assert api.ask(COLORS).json["citations"] == before


# --- how many it takes


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
        assert refused.status == 429
        assert int(refused.headers["retry-after"]) in {2400, 2401}
        assert refused.json["code"] == "too_many_votes"
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
