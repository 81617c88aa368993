"""What an answer's form says of it: does it begin with the decline sentence, does it cite what was found?

The prompts fix both. What a model says beside that, in whatever English, is not read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from unicodedata import normalize

from rag.stages.cite.marks import CLOSE, OPEN
from rag.values.answer import Confidence, Level

UNCITED_SCORE = 35.0
"""Highest confidence (0..100) of an answer without a valid citation: below every profile's bar for routing it back."""
UNCITED = "no statement cites a source that was found"

_BESIDE = re.compile(r"[\s*_>#\"\u201c\u201d]+")
_APOSTROPHE = re.compile("[\u2018\u2019\u02bc\u2032`]")
_MARK = re.compile(rf"{OPEN}[^\[\]\u3010\u3011\uff3b\uff3d\n]*{CLOSE}|\(Source:[^()\n]*\)", re.IGNORECASE)


def begins_with_decline(text: str, decline: str) -> bool:
    """Whether ``text`` begins with the first sentence of ``decline``: case, quotes, emphasis and blanks aside."""
    sentence = _normalised(decline.partition(". ")[0]).rstrip(".")
    said = _normalised(text)
    return said.startswith(sentence) and not said[len(sentence) : len(sentence) + 1].isalnum()


def says_nothing(text: str) -> bool:
    """Whether nothing but citation marks and punctuation is left of ``text``."""
    return not any(character.isalnum() for character in _MARK.sub("", text))


def held_to_citations(confidence: Confidence, *, cited: int, removed: int) -> Confidence:
    """``confidence`` as far as the answer's citations bear it out.

    Args:
        confidence: what the profile's formula says.
        cited: citations in the answer of what was found.
        removed: citations of what was not, which were taken out.

    Returns:
        Without a valid citation Low, at most ``UNCITED_SCORE``. Else the score times the valid share of the citations;
        no more than Medium where one was removed, Low where half or more were.
    """
    if not cited:
        score = min(confidence.score, UNCITED_SCORE)
        return replace(confidence, level="Low", score=score, reason=f"{confidence.reason}, {UNCITED}")
    if not removed:
        return confidence
    total = cited + removed
    level: Level = "Low" if confidence.level == "Low" or 2 * removed >= total else "Medium"
    reason = f"{confidence.reason}, {removed} of {total} citations named nothing that was found"
    return replace(confidence, level=level, score=round(confidence.score * cited / total, 1), reason=reason)


def _normalised(text: str) -> str:
    plain = _APOSTROPHE.sub("'", normalize("NFKC", text)).casefold()
    return _BESIDE.sub(" ", plain).strip(" -")
