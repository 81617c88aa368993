"""What pages and headers say to robots."""

from __future__ import annotations

import pytest

from documents.crawl.robots import directives


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["noindex, NoFollow"], {"noindex", "nofollow"}),
        (["none"], {"none", "noindex", "nofollow"}),
        (["googlebot: noindex"], set()),
        (["googlebot: noindex, ragctl: nofollow"], {"nofollow"}),
        (["*: noindex"], {"noindex"}),
        (["max-snippet:20, noindex"], {"max-snippet", "noindex"}),
        ([""], {""}),
    ],
)
def test_words_for_this_robot(values: list[str], words: set[str]) -> None:
    assert directives(values) == words
