"""The splitting pattern in `re`'s words, against Qwen's own pattern in an engine that knows its classes."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from knowledge.pieces import split_pieces

QWEN = Split(
    Regex(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "isolated",
)


def expected(text: str) -> list[str]:
    return [piece for piece, _ in QWEN.pre_tokenize_str(text)]


# Characters that this Python does not know yet are no letters for it: they count as symbols.
known = st.characters(exclude_categories=["Cs", "Cn"])
tricky = st.sampled_from(
    [*"aZs'\u017f1_ \t\r\n.-", "\u00a0", "\u0085", "\x1c", "\u0301", "\u00bd", "\u2167", "\u4e2d", "'LL"]
)


@given(st.lists(tricky | known, max_size=30).map("".join))
@example("  \n  x'\u017fe  9_ \u2028\u3000a\r\n\r\n ")
@example("it'S\x1cme\u00b2\u0661 \u00e9 _snake_case  \t")
def test_the_pieces_are_those_of_qwens_pattern(text: str) -> None:
    assert split_pieces(text) == expected(text)


def test_each_number_that_is_no_digit_is_a_piece_of_its_own() -> None:
    numbers = [chr(code) for code in range(0x20000) if unicodedata.category(chr(code)) in {"Nl", "No"}]
    assert len(numbers) > 1000
    assert split_pieces("".join(numbers)) == numbers


def test_no_text_has_no_pieces() -> None:
    assert split_pieces("") == []
