"""rag.answer.confidence.stated: the unit that says what was stated, beside the other units of the context."""

from __future__ import annotations

import pytest
from fakes import make_hit
from fakes_evidence import make_asked, matched

from rag.answer.confidence.stated import stated
from rag.values.answer import Passage, Statement, Support
from rag.values.draft import ConfidenceInput

QUESTION = "permit days"
PERMITS = "A permit takes five working days. An office prints permits on paper. Llamas eat grass all day long."
TEA = "Tea is served in the hall at four o'clock."


def passage(text: str, number: int) -> Passage:
    hit = matched(make_hit(text, number=number, title="Page", cosine=1 / number), QUESTION)
    return Passage(hit=hit, citation="[Page]", text=text)


def statement(text: str, *chunks: int, support: Support = "supported") -> Statement:
    return Statement(text=text, citations=("[Page]",), support=support, chance=0.9, chunks=chunks)


def said(*statements: Statement) -> ConfidenceInput:
    return ConfidenceInput("", (), statements, (passage(PERMITS, 1), passage(TEA, 2)))


def test_the_answering_statement_has_no_regret_and_another_one_has() -> None:
    asked = make_asked(QUESTION)
    right, wrong = (
        stated(said(statement("A permit takes five working days.", 1)), asked),
        stated(said(statement(TEA, 2)), asked),
    )
    assert right is not None
    assert wrong is not None
    assert right == pytest.approx({"regret": 0, "standing": 1})
    assert wrong == pytest.approx({"regret": 0.7, "standing": 0.5})


def test_in_other_words_it_is_the_unit_that_shares_most_of_them() -> None:
    own = stated(said(statement("Five working days are what a permit takes, we hear.", 1)), make_asked(QUESTION))
    assert own is not None
    assert own["regret"] == pytest.approx(0)


def test_what_nothing_supports_does_not_count() -> None:
    lies = statement("A permit takes five working days.", 1, support="unsupported")
    assert stated(said(lies), make_asked(QUESTION)) is None
    kept = stated(said(lies, statement(TEA, 2, support="partial")), make_asked(QUESTION))
    assert kept is not None
    assert kept["regret"] == pytest.approx(0.7)


def test_without_statements_or_tokens_there_is_nothing_to_tell() -> None:
    asked = make_asked(QUESTION)
    assert stated(said(), asked) is None
    bare = Passage(hit=make_hit(PERMITS, number=1), citation="[Page]", text=PERMITS)
    assert stated(ConfidenceInput("", (), (statement(TEA, 1),), (bare,)), asked) is None
