"""What an answer's form says of it: does it begin with the decline sentence, does it say anything?

The prompts fix the sentence. What a model says beside that, in whatever English, is not read.
"""

from __future__ import annotations

import re
from unicodedata import normalize

_BESIDE = re.compile(r"[\s*_>#\"\u201c\u201d]+")
_APOSTROPHE = re.compile("[\u2018\u2019\u02bc\u2032`]")


def first_sentence(decline: str) -> str:
    """Return the sentence of ``decline`` that a model is told to write, with its full stop."""
    return decline.partition(". ")[0].rstrip(".") + "."


def begins_with_decline(text: str, decline: str) -> bool:
    """Whether ``text`` begins with the first sentence of ``decline``: case, quotes, emphasis and blanks aside."""
    sentence = _normalised(first_sentence(decline)).rstrip(".")
    said = _normalised(text)
    return said.startswith(sentence) and not said[len(sentence) : len(sentence) + 1].isalnum()


def may_decline(text: str, decline: str) -> bool:
    """Whether ``text``, an answer's beginning, begins with ``decline``'s first sentence or may go on to do so."""
    sentence = _normalised(first_sentence(decline)).rstrip(".")
    return sentence.startswith(_normalised(text)) or begins_with_decline(text, decline)


def says_nothing(text: str) -> bool:
    """Whether nothing but punctuation is in ``text``, an answer's words without its marks."""
    return not any(character.isalnum() for character in text)


def _normalised(text: str) -> str:
    plain = _APOSTROPHE.sub("'", normalize("NFKC", text)).casefold()
    return _BESIDE.sub(" ", plain).strip(" -")
