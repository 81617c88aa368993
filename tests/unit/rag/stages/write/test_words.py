"""rag.stages.write.words: words in scripts with spaces and without."""

from __future__ import annotations

import pytest

from rag.stages.write.words import count_words


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("  ", 0), ("one", 1), ("two words", 2), ("滞期费按天计算", 3), ("Fee 滞期费", 2), ("是", 0)],
)
def test_count_words(text: str, count: int) -> None:
    assert count_words(text) == count
