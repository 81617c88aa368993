"""rag.stages.gate.exact_or: a question of exact words is answered by the chunk that holds them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import make_hit

from rag.stages.gate.exact_or import ExactOr
from rag.stages.gate.thresholds import Coverage
from rag.values.answer import Decline, Hit, Proceed, Question

GATE = ExactOr(Coverage(2, 0.25, 0.4), rare=3.0, cosine=0.25)


def hit(text: str, cosine: float, fused: float = 5.0, **fields: object) -> Hit:
    found = make_hit(text, cosine=cosine, **fields)
    return replace(found, parts={"dense": cosine, "fused": fused})


def decide(question: str, *hits: Hit, threshold: float | None = None) -> Proceed | Decline:
    return GATE(hits, Question(text=question, threshold=threshold))


FAR = hit("Tea is served at four.", 0.1)


@pytest.mark.parametrize("question", ["SSO", "Is SSO available?", '"SSO only"'])
def test_one_chunk_that_holds_the_words_is_enough_whatever_its_cosine(question: str) -> None:
    hits = (hit("With SSO only, passwords stop working.", 0.05, fused=0.0), FAR)
    assert decide(question, *hits) == Proceed(hits, 1)


def test_titles_and_headings_count() -> None:
    assert isinstance(decide("GDPR", hit("Request my data.", 0.1, section="Privacy > GDPR data export"), FAR), Proceed)


@pytest.mark.parametrize("question", ["SAP", "Is SAP available?", '"Dissolve"', "Retry-Before"])
def test_words_that_no_chunk_holds_are_a_decline(question: str) -> None:
    hits = (hit("The header Retry-After says so. Try to retry. Before noon, wait.", 0.3), FAR)
    assert decide(question, *hits) == Decline("1 chunk covers the question (cosine >= 0.25), 2 needed")


def test_all_words_must_stand_in_one_chunk() -> None:
    apart = (hit("SAML for everybody", 0.2), hit("The kiosk has a PIN", 0.2))
    assert isinstance(decide("SAML kiosk", *apart), Decline)
    assert isinstance(decide("SAML kiosk", *apart, hit("SAML at the kiosk", 0.2)), Proceed)


@pytest.mark.parametrize("question", ["CHR-9999", "CHR 9999", "What does CHR-9999 mean?"])
def test_a_code_that_no_chunk_holds_is_a_decline_however_near_the_others_are(question: str) -> None:
    near = (hit("CHR-4003 means that the Entity ID differs.", 0.6), hit("CHR-4007 means another thing.", 0.5))
    code = question.split()[-2] if question.endswith("mean?") else question
    assert decide(question, *near) == Decline(f"no chunk holds {code}")


@pytest.mark.parametrize(
    "question", ["weekly report W45", "Q3 report export", "hourly rate EUR 50", "export CSV 3 reports", "kiosk CW12"]
)
def test_an_incidental_code_that_no_chunk_holds_leaves_it_to_the_cosines(question: str) -> None:
    near = (hit("It shows a week of the team.", 0.5), hit("Reports show time.", 0.3))
    assert decide(question, *near) == Proceed(near, 2)
    far = (hit("It shows a week of the team.", 0.39), hit("Reports show time.", 0.3))
    assert isinstance(decide(question, *far), Decline)


def test_beside_an_incidental_code_the_other_words_may_open_the_gate_as_plain_ones() -> None:
    text = "Send the invoice as a PDF."
    near = (hit(text, 0.25, fused=3.0), FAR)
    assert decide("invoice PDF A4", *near) == Proceed(near, 1)
    assert isinstance(decide("invoice PDF A4", hit(text, 0.25, fused=2.9), FAR), Decline)
    assert isinstance(decide("invoice PDF A4", hit(text, 0.24, fused=3.0), FAR), Decline)
    assert isinstance(decide("invoice A4", hit(text, 0.24, fused=3.0), FAR), Decline)
    assert isinstance(decide("invoice PDF A4", hit("Send the invoice.", 0.3), FAR), Decline)


@pytest.mark.parametrize("question", ["error code CHR-9999", "fix CHR-9999", "CHR-4003 CHR-9999"])
def test_generic_words_and_known_codes_do_not_save_an_unknown_code(question: str) -> None:
    near = (hit("The error CHR-4003 means that the Entity ID differs.", 0.6), hit("CHR-4007 is another.", 0.5))
    assert decide(question, *near) == Decline("no chunk holds CHR-9999")


def test_a_long_question_is_not_decided_by_its_code() -> None:
    near = (hit("CHR-4003 means that the Entity ID differs.", 0.6), hit("CHR-4007 means another thing.", 0.5))
    question = "Our script gets CHR-9999 from the kiosk after an update, how long should it wait?"
    assert decide(question, *near) == Proceed(near, 2)


def test_a_keyword_that_most_chunks_hold_says_nothing() -> None:
    assert isinstance(decide("day", hit("A day has a night.", 0.2, fused=2.9), FAR), Decline)
    assert isinstance(decide("kiosk", hit("The kiosk has a PIN.", 0.2, fused=3.0), FAR), Proceed)


def test_several_plain_words_may_stand_together_by_chance() -> None:
    assert isinstance(decide("open door", hit("Open it. The door is blue.", 0.24), FAR), Decline)
    assert isinstance(decide("open door", hit("Open it. The door is blue.", 0.25), FAR), Proceed)


def test_without_a_fused_score_plain_keywords_are_left_to_cosines() -> None:
    assert isinstance(decide("kiosk", make_hit("The kiosk has a PIN.", cosine=0.2)), Decline)


def test_a_threshold_that_the_request_sets_decides_alone() -> None:
    holding = hit("With SSO only, passwords stop working.", 0.3)
    assert isinstance(decide("SSO", holding, FAR, threshold=0.4), Decline)
    assert isinstance(decide("CHR-9999", hit("CHR-1", 0.5), hit("CHR-2", 0.5), threshold=0.4), Proceed)


def test_what_the_cosines_let_pass_passes_as_they_say() -> None:
    hits = (hit("With SSO only, passwords stop working.", 0.6), hit("Sign in with SSO.", 0.5), FAR)
    assert decide("SSO", *hits) == Proceed(hits, 2)
    assert decide("How do people sign in without a password?", *hits) == Proceed(hits, 2)


def test_nothing_found_is_a_decline() -> None:
    assert isinstance(decide("SSO"), Decline)
