"""Word stems, the same as the BM25 side's: "exports" meets "exporting", "CHR-1042" is "chr" and "1042"."""

from __future__ import annotations

from functools import cache

from knowledge.search.terms import Terms

_COMMON = """
a about an and any are as at be been between but by can could did do does for from get had has have how i if in into
is it its many may me much must my no not of on or our out shall should so than that the their them then there these
they this those to up us was we were what when where which who whom whose why will with would you your
"""
COMMON_WORDS = frozenset(_COMMON.split())
"""They build sentences and say nothing of what is asked about."""

_TERMS = Terms(stop_words=())


def stems(text: str) -> list[str]:
    """The stems of ``text`` in their order, stop words too: words, single digits and single letters."""
    return _TERMS(text)


def content_stems(text: str) -> set[str]:
    """The different stems of ``text`` without those of words that only build sentences."""
    return set(stems(text)) - _common_stems()


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(stems(" ".join(COMMON_WORDS)))
