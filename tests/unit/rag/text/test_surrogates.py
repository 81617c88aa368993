"""rag.text.surrogates: text that every encoder takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag.text.surrogates import replace_surrogates

ALL_CODE_POINTS = st.text(st.characters(exclude_categories=()))


def test_only_lone_surrogates_are_replaced() -> None:
    assert replace_surrogates("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert replace_surrogates("\ud83d\ude00") == "\U0001f600"
    assert replace_surrogates("\ufeffabc") == "\ufeffabc"


@given(ALL_CODE_POINTS)
def test_everything_can_be_encoded_afterwards(text: str) -> None:
    assert replace_surrogates(text).encode("utf-8").decode("utf-8") == replace_surrogates(text)
