"""rag.text.words: words in scripts with spaces and without."""

from __future__ import annotations

import pytest

from rag.text.words import count_words, holds_beginning, holds_words


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("  ", 0), ("one", 1), ("two words", 2), ("滞期费按天计算", 3), ("Fee 滞期费", 2), ("是", 0)],
)
def test_count_words(text: str, count: int) -> None:
    assert count_words(text) == count


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("data center access", "enter", False),
        ("data center access", "center", True),
        ("data center access", "center access", True),
        ("press enter", "enter", True),
        ("the c++ guide", "c++", True),
        ("re-enter", "enter", True),
        ("fees", "fee", False),
        ("zoë", "zo", False),
        ("进口许可证指南", "许可证", True),
        ("import 许可证", "许可证", True),
        ("a (b) c", "(b)", True),
    ],
)
def test_holds_words(text: str, words: str, expected: bool) -> None:
    assert holds_words(text, words) is expected


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("import permits and fees", "import permit", True),
        ("import permits and fees", "import permits", True),
        ("a guide to warehouses", "warehouse", True),
        ("reefer cargo", "reef", True),
        ("data center access", "enter", False),
        ("data center access", "data cent", True),
        ("transport, ports", "port", True),
        ("transport", "port", False),
        ("circular 150", "circular 15", False),
        ("circular 15/2024", "circular 15", True),
        ("form 7a", "form 7", True),
        ("进口许可证指南", "许可", True),
        ("permit", "permits", False),
    ],
)
def test_holds_beginning(text: str, words: str, expected: bool) -> None:
    assert holds_beginning(text, words) is expected
