"""rag.ask.admit.admission: what the pipeline lets in."""

from __future__ import annotations

import pytest

from rag.ask.admit.admission import PlainAdmission, StrictAdmission
from rag.errors import EmptyQuery, QueryTooLong, UnsafeQuery
from rag.values.question import Question

admit = PlainAdmission(1000)
strict = StrictAdmission(1000)


def test_white_space_around_the_question_goes_and_all_else_stays() -> None:
    question = Question(text=" \n Which  permit? ", session_id="s" * 22, top_k=3, threshold=0.2, filters={"a": 1})
    admitted = admit(question)
    assert admitted == Question(text="Which  permit?", session_id="s" * 22, top_k=3, threshold=0.2, filters={"a": 1})


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\u200d\u200d", "\u200f \u200e"])
@pytest.mark.parametrize("admission", [admit, strict])
def test_empty(admission: PlainAdmission | StrictAdmission, text: str) -> None:
    with pytest.raises(EmptyQuery) as caught:
        admission(Question(text=text))
    assert caught.value.code == "empty_query"
    assert caught.value.sentence() == "Query cannot be empty"
    assert caught.value.sentence("Question") == "Question cannot be empty"


def test_exactly_1000_characters_are_admitted() -> None:
    assert admit(Question(text=" " + "é" * 1000 + " ")).text == "é" * 1000


def test_1001_characters_are_not() -> None:
    with pytest.raises(QueryTooLong) as caught:
        admit(Question(text="a" * 1001))
    assert caught.value.code == "query_too_long"
    assert caught.value.sentence() == "Query exceeds maximum length of 1000 characters"
    assert caught.value.sentence("Question") == "Question exceeds maximum length of 1000 characters"


def test_the_strict_one_collapses_white_space_and_leaves_out_what_came_along() -> None:
    assert strict(Question(text=" Call\n\n\u202a+1 555\u202c \x0b now ")).text == "Call +1 555 now"


@pytest.mark.parametrize(("text", "what"), [("a\x1fb", "control characters"), ("<script>", "a script pattern")])
def test_the_strict_one_says_what_it_does_not_take(text: str, what: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        strict(Question(text=text))
    assert caught.value.sentence("Question").startswith(f"Question holds {what};")
