"""Counting by merges, against the definition of byte-pair encoding carried out step by step."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.bpe import Vocabulary
from knowledge.errors import ModelMissing
from modelbuilder.vocabulary import pack

TOKENS = (b"a", b"b", b"c", b"ab", b"aa", b"bc", b"abab", b"cab", b"aab", b"bcbc", b"ca")
RANKS = {token: rank for rank, token in enumerate(TOKENS)}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    path = tmp_path_factory.mktemp("vocabulary") / "tiny.bpe"
    path.write_bytes(pack(TOKENS))
    return Vocabulary(path)


def merged(piece: bytes) -> list[bytes]:
    """What byte-pair encoding is: as long as two neighbours are a token, merge those of lowest rank, leftmost first."""
    parts = [bytes([byte]) for byte in piece]
    while pairs := [
        (RANKS[left + right], at) for at, (left, right) in enumerate(pairwise(parts)) if left + right in RANKS
    ]:
        _, at = min(pairs)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


@pytest.mark.parametrize(
    ("piece", "tokens"),
    [
        (b"", 0),
        (b"a", 1),
        (b"abab", 1),  # ab + ab
        (b"aba", 2),  # ab + a
        (b"cab", 1),
        (b"bcab", 2),  # ab goes first and leaves b and c, then c + ab
        (b"aaa", 2),  # the left aa, then a: nothing joins them
        (b"zab", 2),  # a byte that is no token counts as one
    ],
)
def test_pairs_are_merged_in_the_order_of_their_ranks(vocabulary: Vocabulary, piece: bytes, tokens: int) -> None:
    assert vocabulary.count(piece) == tokens


@given(st.lists(st.sampled_from([b"a", b"b", b"c", b"ab", b"z"]), max_size=40).map(b"".join))
def test_it_counts_what_the_definition_gives(vocabulary: Vocabulary, piece: bytes) -> None:
    # A piece that is itself a token is one, however its merges would end: tiktoken and Qwen say so.
    assert vocabulary.count(piece) == (1 if piece in RANKS else len(merged(piece)))


def test_a_run_as_long_as_a_text_is_counted(vocabulary: Vocabulary) -> None:
    assert vocabulary.count(b"ab" * 20_000) == 10_000


def test_an_absent_file_is_named_with_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"qwen\.bpe: No such file or directory\. Run: make model"):
        Vocabulary(tmp_path / "qwen.bpe")


@pytest.mark.parametrize("content", [b"", b"bpe", b"x" * 500])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "qwen.bpe"
    path.write_bytes(content)
    with pytest.raises(ModelMissing, match=r"not a token vocabulary\. Run: make model"):
        Vocabulary(path)


@pytest.mark.parametrize("kept", [-1, -5, 40, 17])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "qwen.bpe"
    path.write_bytes(pack(TOKENS)[:kept])
    with pytest.raises(ModelMissing, match=r"vocabulary\. Run: make model"):
        Vocabulary(path)
