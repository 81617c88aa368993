"""rag.write.not_mentioned: which words of a question the documents do not mention."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fakes import make_hit
from fakes_evidence import make_evidence, matched

from rag.write.not_mentioned import WEAK, not_mentioned

FOUND = "An import permit costs forty dollars. Policies of the county are kept."


def absent(question: str, *unknown: str, score: float = 0.7, near: dict[str, float] | None = None) -> tuple[str, ...]:
    evidence = make_evidence(question, score=score, bar=0.3, unknown=unknown, ohio=0.5, rock=0.4, eagle=0.4)
    return not_mentioned(evidence, [matched(make_hit(FOUND), question, near=near)])


def test_the_word_that_no_document_has() -> None:
    assert absent("What does a permit cost in Ohio?", "Ohio") == ("Ohio",)


def test_a_word_that_a_document_has_which_was_not_found_is_not_named() -> None:
    assert absent("What does a permit cost in Ohio?") == ()


def test_neighbours_are_one_phrase_and_the_heaviest_are_named() -> None:
    assert absent("permit at Rock Eagle or Macon", "Rock", "Eagle", "Macon") == ("Rock Eagle",)
    assert absent("permit in Ohio or Macon", "Ohio", "Macon") == ("Ohio", "Macon")


def test_words_of_grammar_are_not_named() -> None:
    assert absent("What would it cost?", "would") == ()


def test_what_another_word_says_is_not_named() -> None:
    for near, named in ((0.75, ()), (0.65, ("price",))):
        assert absent("permit price", "price", near={"costs": near}) == named


def test_where_the_evidence_is_strong_a_name_is_named_and_a_word_is_not() -> None:
    assert absent("permit in Ohio", "Ohio", score=0.31 + WEAK) == ()
    strong = make_evidence("permit in Ohio", score=9.0, bar=0.3, unknown=("Ohio",))
    pieces = replace(strong.asked, spans=np.array([(0, 6), (10, 12), (12, 14)], dtype=np.int32))
    for near, named in ((0.45, ("Ohio",)), (0.55, ())):
        hit = matched(make_hit(FOUND), "permit in Ohio", near={"costs": near})
        assert hit.match is not None
        rows = hit.match.similarities[[0, 2, 2]]
        hit = replace(hit, match=replace(hit.match, similarities=rows))
        assert not_mentioned(replace(strong, asked=pieces), [hit]) == named


@pytest.mark.parametrize("code", ["GC-999", "ps3"])
def test_a_code_is_named_whatever_is_near_it(code: str) -> None:
    assert absent(f"fee {code}", code, score=9.0, near={"costs": 0.9}) == (code,)


def test_without_matches_nothing_is_said() -> None:
    assert not_mentioned(make_evidence("Ohio", unknown=("Ohio",)), [make_hit("Ohio")]) == ()


def test_of_documents_in_another_language_only_codes_are_named() -> None:
    question = "Wie viele permit GC-999"
    evidence = replace(make_evidence(question, unknown=("viele", "GC-999")), language="German")
    assert not_mentioned(evidence, [matched(make_hit(FOUND), question)]) == ("GC-999",)
