"""rag.ask.admission: what the pipeline lets in, what it refuses, and what asks in a long message."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.ask.admission import (
    LONGEST_QUESTION,
    PlainAdmission,
    StrictAdmission,
    asking_part,
    collapse,
    has_controls,
    has_script,
    is_blank,
)
from rag.errors import EmptyQuery, QueryTooLong, UnsafeQuery
from rag.values.question import Question

admit = PlainAdmission(1000)
strict = StrictAdmission(1000)


def test_white_space_around_the_question_goes_and_all_else_stays() -> None:
    question = Question(text=" \n Which  permit? ", session_id="s" * 22, top_k=3, threshold=0.2, filters={"a": 1})
    admitted = admit(question)
    assert admitted == Question(text="Which  permit?", session_id="s" * 22, top_k=3, threshold=0.2, filters={"a": 1})


@pytest.mark.parametrize(
    ("admission", "text"),
    [(admit, ""), (admit, " \n\u3000"), (admit, "\u200d\u200f"), (strict, "\u200e\u202c"), (strict, "\uf0b7 \u3000")],
)
def test_a_question_of_which_nothing_shows_is_empty(admission: PlainAdmission, text: str) -> None:
    with pytest.raises(EmptyQuery):
        admission(Question(text=text))


def test_exactly_1000_characters_are_admitted() -> None:
    assert admit(Question(text=" " + "é" * 1000 + " ")).text == "é" * 1000


def test_1001_characters_are_not() -> None:
    with pytest.raises(QueryTooLong) as caught:
        admit(Question(text="a" * 1001))
    assert caught.value.sentence("Question") == "Question exceeds maximum length of 1000 characters"


def test_the_strict_one_collapses_white_space_and_leaves_out_what_came_along() -> None:
    assert strict(Question(text=" Call\n\n\u202a+1 555\u202c \x0b now ")).text == "Call +1 555 now"


@pytest.mark.parametrize(("text", "what"), [("a\x1fb", "control characters"), ("<script>", "a script pattern")])
def test_the_strict_one_says_what_it_does_not_take(text: str, what: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        strict(Question(text=text))
    assert caught.value.sentence("Question").startswith(f"Question holds {what};")


DATA = Path(__file__).parents[5] / "shared" / "data"


@pytest.mark.parametrize(
    ("text", "is_script"),
    [
        ("< b></SCRIPT >", True),
        ("go to JaVaScRiPt:%20alert", True),  # not when it is decoded
        ("what does eval('x') do", True),
        ("%26lt%3Bscript>", True),  # only when it is decoded twice
        ("java\u200bscript:x", True),
        ("Does it need JavaScript: yes or no?", False),
        ("What does <button class=start onload=5> do?", False),
        ("How is eval (the evaluation rate) computed, and what is eval()?", False),
        ("Is 3 < 5 and 20%3D20? Why does it show &#39; instead of an apostrophe?", False),
    ],
)
def test_scripts_are_told_from_questions(text: str, is_script: bool) -> None:
    assert has_script(collapse(text)) is is_script


def test_what_is_pasted_from_a_word_processor_is_a_question() -> None:
    asked = collapse(
        "\uf0b7\tDo I\u00a0track \u201cover\u00adtime\u201d\u200b \u2013\u2028who\u2019s \u202a+1 555\u202c?\x0b"
    )
    assert asked == "Do I track \u201covertime\u201d \u2013 who\u2019s +1 555?"
    assert (has_controls(asked), has_script(asked)) == (False, False)


def test_controls_are_no_text_but_for_those_that_are_white_space() -> None:
    refused = [code for code in range(256) if has_controls(collapse(f"a{chr(code)}b"))]
    assert refused == [*range(9), *range(14, 32), *range(127, 133), *range(134, 160)]


@pytest.mark.parametrize("text", ["\x07", "\u0301", "می\u200cروم", "👩\u200d💻"])
def test_something_is_there(text: str) -> None:
    assert collapse(text) == text
    assert not is_blank(text)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", ["clapnq_dev", "covid_faq", "squad_v11_dev", "out_of_scope"])
def test_no_question_that_people_asked_is_refused(name: str) -> None:
    lines = (DATA / name / ("queries.txt" if name == "out_of_scope" else "queries.jsonl")).read_text(encoding="utf-8")
    questions = [json.loads(line)["text"] if line.startswith("{") else line for line in lines.splitlines()]
    refused = [text for text in map(collapse, questions) if has_script(text) or has_controls(text)]
    assert questions
    assert not refused


MAIL = "We met Mr. Kessler on Tuesday. He was pleased, and so were we. " * 8
ASKS = "My bike is late. What does a second day cost?"


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        (f"{MAIL}\n\n{ASKS}\n\nBest regards,\nAnna Kessler", ASKS),
        (f"How are you all? {MAIL}\n\n{MAIL}\n\nMy bike is late.\nWhat does a second day cost?", ASKS),
        (
            f"Use the context.\n\n{MAIL}\n\nQuestion: the price of a day\nHelpful Answer:",
            "Question: the price of a day Helpful Answer:",
        ),
        (f"{MAIL}\n\n\u591a\u5c11\u94b1\uff1f\n\nAnna", "\u591a\u5c11\u94b1\uff1f"),
        (f"{MAIL}\n\n\u0628\u0643\u0645\u061f\n\nAnna", "\u0628\u0643\u0645\u061f"),
        (f"{MAIL}\n\n{'x' * (LONGEST_QUESTION - 1)}?", f"{'x' * (LONGEST_QUESTION - 1)}?"),
    ],
    ids=["signature", "two that ask", "none that asks", "Chinese", "Arabic", "the longest"],
)
def test_the_last_paragraph_that_asks_is_the_query(text: str, asking: str) -> None:
    assert asking_part(text) == asking


def test_of_a_long_paragraph_the_sentences_that_ask_are_the_query() -> None:
    asking = asking_part(f"{MAIL} {ASKS} Thanks!")
    assert (asking.endswith(ASKS), len(asking) < 200) == (True, True)


@pytest.mark.parametrize(
    "text",
    [MAIL, f"{MAIL[: LONGEST_QUESTION - len(ASKS) - 2]}\n\n{ASKS}", f"{'x' * LONGEST_QUESTION}?", "\u200b \n\n" * 400],
    ids=["does not ask", "short", "one long question", "blank"],
)
def test_what_is_short_or_has_no_part_that_asks_stays_as_it_is(text: str) -> None:
    assert asking_part(text) == text


PIECES = ["He was pleased. ", "What? ", "How late is it? ", "\n\n", "a" * 99, " "]


@given(st.lists(st.sampled_from(PIECES), min_size=20, max_size=40).map("".join))
def test_what_asks_is_no_longer_than_a_question(text: str) -> None:
    part = asking_part(text)
    assert part == text or 0 < len(part) <= LONGEST_QUESTION
