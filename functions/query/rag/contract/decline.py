"""Declines by an answer's form: the decline sentence at its beginning, or an empty text.

The prompts fix the sentence; no other wording is read as a decline.
"""

from __future__ import annotations

import re
from unicodedata import normalize

_DECORATION = re.compile(r"[\s*_>#\"\u201c\u201d]+")
_APOSTROPHE = re.compile("[\u2018\u2019\u02bc\u2032`]")


def first_sentence(decline: str) -> str:
    """Return the sentence of ``decline`` that the prompts ask for, with its full stop."""
    return decline.partition(". ")[0].rstrip(".") + "."


def begins_with_decline(text: str, decline: str) -> bool:
    """Return whether ``text`` begins with ``decline``'s first sentence, ignoring case, quotes, emphasis and blanks."""
    sentence = _normalise(first_sentence(decline)).rstrip(".")
    words = _normalise(text)
    return words.startswith(sentence) and not words[len(sentence) : len(sentence) + 1].isalnum()


def may_decline(text: str, decline: str) -> bool:
    """Return whether ``text``, an answer's beginning, is or may become ``decline``'s first sentence."""
    sentence = _normalise(first_sentence(decline)).rstrip(".")
    return sentence.startswith(_normalise(text)) or begins_with_decline(text, decline)


def is_empty(text: str) -> bool:
    """Return whether ``text``, an answer without its marks, holds only punctuation."""
    return not any(character.isalnum() for character in text)


def _normalise(text: str) -> str:
    plain = _APOSTROPHE.sub("'", normalize("NFKC", text)).casefold()
    return _DECORATION.sub(" ", plain).strip(" -")
