"""What an answer's form says of it: does it begin with the decline sentence, does it cite what was found?

The prompts fix both. What a model says beside that, in whatever English, is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from unicodedata import normalize

from rag.stages.cite.marks import CLOSE, OPEN
from rag.stages.score.calibrated import level_of
from rag.values.answer import Confidence, Level, Statement

UNCITED_SCORE = 35.0
"""Highest confidence (0..100) of an answer without a valid citation: below every profile's bar for routing it back."""
UNCHECKED_SCORE = 74.0
"""Highest confidence of an answer whose statements were to be checked and were not: below what is High."""
UNCHECKED = "the statements were not checked"
UNCITED = "no statement cites a source that was found"
UNSUPPORTED = "the sources cited support no statement"

_LEVELS: Sequence[Level] = ("Low", "Medium", "High")
_BESIDE = re.compile(r"[\s*_>#\"\u201c\u201d]+")
_APOSTROPHE = re.compile("[\u2018\u2019\u02bc\u2032`]")
_MARK = re.compile(rf"{OPEN}[^\[\]\u3010\u3011\uff3b\uff3d\n]*{CLOSE}|\(Source:[^()\n]*\)", re.IGNORECASE)


def begins_with_decline(text: str, decline: str) -> bool:
    """Whether ``text`` begins with the first sentence of ``decline``: case, quotes, emphasis and blanks aside."""
    sentence = _normalised(decline.partition(". ")[0]).rstrip(".")
    said = _normalised(text)
    return said.startswith(sentence) and not said[len(sentence) : len(sentence) + 1].isalnum()


def may_decline(text: str, decline: str) -> bool:
    """Whether ``text``, an answer's beginning, begins with ``decline``'s first sentence or may go on to do so."""
    sentence = _normalised(decline.partition(". ")[0]).rstrip(".")
    return sentence.startswith(_normalised(text)) or begins_with_decline(text, decline)


def says_nothing(text: str) -> bool:
    """Whether nothing but citation marks and punctuation is left of ``text``."""
    return not any(character.isalnum() for character in _MARK.sub("", text))


def held_to_sources(
    confidence: Confidence,
    *,
    cited: int,
    removed: int,
    statements: Sequence[Statement] = (),
    doubt: float | None = 0.0,
) -> Confidence:
    """``confidence`` as far as the answer's citations, and what they say, bear it out.

    Args:
        confidence: what the profile's formula says.
        cited: citations in the answer of what was found.
        removed: citations of what was not, which were taken out.
        statements: those of the answer, checked.
        doubt: the share of them (0..1) that is not borne out; None where nobody could look.

    Returns:
        Without a valid citation, or where nothing supports any statement, Low, at most ``UNCITED_SCORE``. Else the
        score times the smaller one of two shares, that of the citations that are valid and that of the statements that
        are borne out; at most ``UNCHECKED_SCORE`` where nobody could look. No more than Medium then, or where one
        citation was removed or one statement has no support; Low where that is so of half or more; and never above the
        level of that score, where it is a chance.
    """
    unsupported, in_part = (sum(one.support == what for one in statements) for what in ("unsupported", "partial"))
    reasons = [confidence.reason]
    if not cited or nothing_supported(statements):
        reasons.append(UNSUPPORTED if cited else UNCITED)
        score = min(confidence.score, UNCITED_SCORE)
        return replace(confidence, level="Low", score=score, reason=", ".join(reasons))
    total = cited + removed
    if removed:
        reasons.append(f"{removed} of {total} citations named nothing that was found")
    if unsupported:
        reasons.append(f"{unsupported} of {len(statements)} statements not found in the sources")
    if in_part:
        reasons.append(f"{in_part} of {len(statements)} supported in part")
    score = round(confidence.score * min(cited / total, 1 - (doubt or 0.0)), 1)
    if doubt is None:
        reasons.append(UNCHECKED)
        score = min(score, UNCHECKED_SCORE)
    levels = [confidence.level if confidence.raw is None else level_of(score)]
    levels += ["Medium"] if doubt is None else []
    if removed or unsupported:
        half = 2 * removed >= total or (unsupported and 2 * unsupported >= len(statements))
        levels.append("Low" if half else "Medium")
    level = min(levels, key=_LEVELS.index)
    return replace(confidence, level=level, score=score, reason=", ".join(reasons))


def nothing_supported(statements: Sequence[Statement]) -> bool:
    """Whether there are ``statements``, and not one of them is supported, not even in part."""
    return statements != () and all(statement.support == "unsupported" for statement in statements)


def _normalised(text: str) -> str:
    plain = _APOSTROPHE.sub("'", normalize("NFKC", text)).casefold()
    return _BESIDE.sub(" ", plain).strip(" -")
