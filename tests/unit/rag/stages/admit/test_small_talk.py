"""rag.stages.admit.small_talk: what is answered in kind, and what is a question."""

from __future__ import annotations

import pytest

from rag.stages.admit.small_talk import GREETED, NOT_ASKED, PARTED, THANKED, small_talk, without_small_talk

SPOKEN = {
    "Hello!": GREETED,
    "good morning": GREETED,
    "Hey there, how are you doing today?": GREETED,
    "Thanks": THANKED,
    "ok, thank you so much for your help": THANKED,
    "I really appreciate that.": THANKED,
    "thanks, bye": THANKED,
    "Goodbye": PARTED,
    "see you later": PARTED,
    "have a nice day": PARTED,
}
EMPTY = ["What is it?", "help", "Can you help me?", "I have a question", "???", "how?"]
ASKED = [
    "Hi, how do I export a report?",
    "Thanks! And which permit do I need?",
    "What is a thank-you page?",
    "fees",
    "Hello World in Rust",
    "C++",
    "404",
    "\u00bfQu\u00e9 permisos?",
    "\u8f38\u5165",
]


@pytest.mark.parametrize("alone", [True, False])
def test_it_is_answered_in_kind_wherever_it_stands_in_a_conversation(alone: bool) -> None:
    replies = {text: small_talk(text, alone=alone) for text in SPOKEN}
    assert {text: no.reply if no else "" for text, no in replies.items()} == SPOKEN


@pytest.mark.parametrize("text", EMPTY)
def test_a_question_about_nothing_may_lean_on_the_turns_before(text: str) -> None:
    said = small_talk(text, alone=True)
    assert said is not None
    assert said.reply == NOT_ASKED
    assert small_talk(text, alone=False) is None


@pytest.mark.parametrize("text", ASKED)
def test_what_holds_anything_else_is_a_question(text: str) -> None:
    assert small_talk(text, alone=True) is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi, how do I export a report?", "how do I export a report?"),
        ("Good morning! I have a question: which permit do I need? Thanks a lot!", "which permit do I need?"),
        ("Hello there. Can you help me? Fees for plants.", "Fees for plants."),
        ("In the US, who decides on fees?", "In the US, who decides on fees?"),
        ("The mantle has two layers. What are they?", "The mantle has two layers. What are they?"),
        ("Hello!", "Hello!"),
        ("Which  permit?", "Which  permit?"),
    ],
)
def test_small_talk_around_a_question_is_left_out_of_the_search(text: str, left: str) -> None:
    assert without_small_talk(text) == left
