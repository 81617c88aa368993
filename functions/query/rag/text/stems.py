"""Word stems, the same as the BM25 side's: "exports" meets "exporting", "CHR-1042" is "chr" and "1042"."""

from __future__ import annotations

from functools import cache

from knowledge.search.language import COMMON_WORDS
from knowledge.search.terms import Terms

stems = Terms(stop_words=())
"""Returns the stems of a text in order, with stop words: words, single digits and single letters."""


def content_stems(text: str) -> set[str]:
    """Return the different stems of ``text`` without the stems of function words."""
    return set(stems(text)) - _common_stems()


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(stems(" ".join(COMMON_WORDS)))
