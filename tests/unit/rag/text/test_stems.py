"""rag.text.stems: the BM25 side's terms, without its stop words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowledge.search.terms import Terms
from rag.text.stems import content_stems, stems

TERMS = Terms(())


@given(st.text(max_size=80))
def test_they_are_those_of_the_index(text: str) -> None:
    assert stems(text) == TERMS(text)


def test_words_meet_their_inflections_and_codes_their_parts() -> None:
    assert stems("Exporting CHR-1042, class 3") == ["export", "chr", "1042", "class", "3"]


def test_content_is_what_grammar_leaves() -> None:
    assert content_stems("What does the export of reports do for you?") == {"export", "report"}
