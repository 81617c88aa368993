"""Drafts of questions: what documents give by template, and what of a model's reply is taken."""

import json
from typing import Any

import pytest

from evaluate.drafting import by_template, parse
from evaluate.drafts import Draft, spread_evenly
from knowledge.model.values import Chunk


def chunk(text: str, number: int = 1, **more: Any) -> Chunk:
    fields = {"title": "Fees", "section": "Release > Telex", "doc_id": "F-1", "chunk_index": 0, "chunk_count": 1}
    return Chunk(number=number, text=text, **{**fields, **more})


def test_a_section_is_asked_about_in_its_own_words() -> None:
    (made,) = by_template(chunk("See [here](https://a.example). A telex release costs SGD 45 for each set."))

    assert made.question == "What does 'Fees' say about 'Telex'?"
    assert made.answer == "A telex release costs SGD 45 for each set"
    assert json.loads(made.line(by_section=False)) == {
        "question": "What does 'Fees' say about 'Telex'?",
        "expected": ["F-1"],
        "answer": "A telex release costs SGD 45 for each set",
        "draft": True,
    }
    assert json.loads(made.line(by_section=True))["expected"] == ["Release > Telex"]


def test_a_heading_that_asks_is_the_question() -> None:
    (made,) = by_template(chunk("Press New entry and save it.", section="How do I add time?"))

    assert made.question == "How do I add time?"


def test_rows_of_a_table_are_asked_about_after_the_section() -> None:
    text = "Every release has its price.\n\n| What | Price |\n|---|---|\n| Telex | SGD 45 |\n| Courier | SGD 60 |\n"

    assert [(made.question, made.answer) for made in by_template(chunk(text))] == [
        ("What does 'Fees' say about 'Telex'?", "Every release has its price"),
        ("What does 'Fees' say about 'Telex'?", "SGD 45"),
        ("What does 'Fees' say about 'Courier'?", "SGD 60"),
    ]


def test_drafts_begin_with_every_document_once_and_are_seeded() -> None:
    chunks = [chunk(f"{doc} {n}", number=10 * doc + n, doc_id=f"d{doc}") for doc in range(5) for n in range(4)]

    drawn = spread_evenly(chunks, seed=0)

    for start in range(0, 20, 5):
        assert {one.doc_id for one in drawn[start : start + 5]} == {f"d{doc}" for doc in range(5)}
    assert spread_evenly(chunks, seed=0) == drawn
    assert spread_evenly(chunks, seed=1) != drawn


def test_a_models_question_is_taken_with_words_that_stand_in_the_passage() -> None:
    passage = chunk("A telex release costs **SGD 45**.")

    reply = 'Sure! ```json\n{"question": "what does\\n telex cost", "answer": "SGD 45"}\n```'

    assert parse(reply, passage) == Draft("what does telex cost", "SGD 45", "F-1", "Release > Telex")


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot do that.",
        "{not json}",
        '{"question": "what?", "answer": "SGD 99"}',
        '{"question": ["what?"], "answer": "SGD 45"}',
        json.dumps({"question": "long " * 50, "answer": "SGD 45"}),
    ],
)
def test_anything_else_that_a_model_writes_is_no_question(reply: str) -> None:
    assert parse(reply, chunk("A telex release costs SGD 45.")) is None
