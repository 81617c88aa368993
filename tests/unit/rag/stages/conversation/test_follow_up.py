"""follow_up, held to bars on dialogues written for it and on real questions that stand alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.conversation.follow_up import carry_over, leans_on_history

REPOSITORY = Path(__file__).parents[5]
TURNS = [json.loads(line) for line in (REPOSITORY / "tests/golden/followups.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "question",
    ["What about collaborators?", "And the deadline?", "and by air", "Why?", "Can I edit it later?", "How long?",
     "What are the requirements?", "For students?", "Who signs them?", "Which one is cheaper?", "Is that included?",
     "Tell me more", "Can I park there?", "What is the first sign of it?", "And who signs?", "Volunteers?", "2024?",
     "Does it support Excel?", "Will it project costs?", "How late?", "Overnight as well?", "Who can I call?"],
)  # fmt: skip
def test_what_leans(question: str) -> None:
    assert leans_on_history(question)


@pytest.mark.parametrize(
    "question",
    ["How do I add a collaborator and what about permissions?", "What is IT security?", "password reset", "",
     "Is it possible to insure a shipment after it has sailed?", "How long does it take to clear customs?",
     "Does a student who lost his card get it replaced?", "Is the library open this weekend?", "?!", "GaCounts",
     "So what is the mileage rate?", "Also, how do I order business cards?", "And what is the phone number of OIT?",
     "So how do I report an activity in GaCounts?", "GaCounts?", "Does IT support Macs?", "Thanks!",
     "What about the policy on using personal vehicles for county business trips?"],
)  # fmt: skip
def test_what_stands_alone(question: str) -> None:
    assert not leans_on_history(question)


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    assert leans_on_history(text) in {True, False}


def test_a_long_question_brings_its_own_topic() -> None:
    assert not leans_on_history("and it " * 20_000)


def test_the_seeds_examples_get_their_topic() -> None:
    before = ("How do I report in GaCounts?",)
    assert carry_over("And the deadline?", before) == "And the deadline? (report GaCounts)"
    assert carry_over("What about collaborators?", (*before, "And the deadline?")) == (
        "What about collaborators? (report GaCounts)"
    )


def test_the_topic_is_that_of_the_newest_question_that_stands_alone() -> None:
    before = ("How do I bake bread?", "How do I renew a passport?", "Why?")
    assert carry_over("How long does it take?", before) == "How long does it take? (renew passport)"


def test_a_pronoun_may_stand_for_what_a_follow_up_named() -> None:
    before = ("How do I report in GaCounts?", "What about collaborators?")
    assert carry_over("Can they edit it?", before) == "Can they edit it? (report GaCounts collaborators)"
    assert carry_over("And the deadline?", before) == "And the deadline? (report GaCounts)"


def test_what_names_little_of_a_topic_does_not_hide_the_question_before_it() -> None:
    before = ("What is the parental leave policy?", "How many weeks do fathers get?")
    assert carry_over("Is it paid?", before) == "Is it paid? (parental leave policy weeks fathers)"


def test_words_that_the_question_has_are_not_repeated() -> None:
    assert carry_over("And that passport?", ("How do I renew a passport?",)) == "And that passport? (renew)"


@pytest.mark.parametrize("before", [(), ("Why?", "How?")])
def test_nothing_to_carry(before: tuple[str, ...]) -> None:
    assert carry_over("Why?", before) == "Why?"


@given(st.sampled_from([turn["question"] for turn in TURNS if not turn["followup"]]), st.lists(st.text(), max_size=3))
def test_a_stand_alone_question_is_never_touched(question: str, before: list[str]) -> None:
    if not leans_on_history(question):
        assert carry_over(question, tuple(before)) == question


def test_the_topic_is_bounded() -> None:
    carried = carry_over("And that?", (" ".join(f"topic{n}" for n in range(500)),))
    assert len(carried.split()) == 2 + 12
