"""rag.ask.conversation.joined: a question and the turns before it as further views."""

from __future__ import annotations

import pytest

from knowledge.model.values import View
from rag.ask.conversation.joined import ANSWER_CHARS, MAX_CHARS, with_turns
from rag.values.question import SearchQuery, Turn

QUERY = SearchQuery(text="And the deadline?", top_k=8, trail=("before",))


def turn(question: str) -> Turn:
    return Turn(question=question, answer="not this one", at=1.0)


def test_the_question_stays_and_the_turns_stand_beside_it() -> None:
    found = with_turns(QUERY, (turn("How do I report?"), turn("In GaCounts?")), answer="Sign in first.")
    assert found.text == QUERY.text
    assert [(view.text, view.where) for view in found.views] == [
        ("And the deadline? In GaCounts? How do I report?", None),
        ("And the deadline? Sign in first.", None),
    ]
    whole = 1 + sum(view.weight for view in found.views)
    assert [1 / whole, *(view.weight / whole for view in found.views)] == pytest.approx([0.55, 0.3, 0.15], abs=0.005)
    assert found.trail == ("before", "searched for alone and together with the turns before")


def test_what_there_is_no_room_for_is_the_oldest() -> None:
    found = with_turns(QUERY, (turn("old " * MAX_CHARS), turn("In GaCounts?")), answer="long " * MAX_CHARS)
    questions, answer = found.views
    assert questions.text == "And the deadline? In GaCounts?"
    assert len(answer.text) <= len(QUERY.text) + 1 + ANSWER_CHARS


def test_without_an_answer_of_use_only_the_questions_do() -> None:
    found = with_turns(QUERY, (turn("In GaCounts?"),), answer="")
    assert [view.text for view in found.views] == ["And the deadline? In GaCounts?"]


def test_a_question_that_fills_the_room_is_searched_for_alone() -> None:
    long = SearchQuery(text="x" * MAX_CHARS, top_k=8, views=(View("other"),))
    assert with_turns(long, (turn("In GaCounts?"),), answer="So.") is long
