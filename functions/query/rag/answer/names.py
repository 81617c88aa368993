"""Words that are nothing but the names of sources, as escaped labels and labels in code are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from unicodedata import normalize


def names_only(names: Iterable[str]) -> Callable[[str], bool]:
    """Tells of words whether they are ``names`` of sources and nothing else, however they are set apart."""
    keys = sorted({key for key in map(_key, names) if key}, key=len, reverse=True)

    def is_name(words: str) -> bool:
        whole = left = _key(words)
        for key in keys:
            left = left.replace(key, "")
        return whole != left == ""

    return is_name


def _key(words: str) -> str:
    """The letters and figures of ``words``, without case."""
    return "".join(filter(str.isalnum, normalize("NFKC", words).casefold()))
