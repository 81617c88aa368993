"""Confidence as far as an answer's citations, and what they say, bear it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rag.answer.check_limit import left_note
from rag.answer.confidence.calibrated import level_of
from rag.answer.finish import UNCHECKED
from rag.values.answer import Confidence, Level, Statement

UNCITED_SCORE = 35.0
"""Highest confidence (0..100) of an answer without a valid citation: below every profile's bar for routing it back."""
UNVERIFIED_SCORE = 74.0
"""Highest confidence of an answer that was not verified word for word, as a whole: below what is High."""
BROKEN_OFF = "the answer broke off"
OUTDATED = "a newer edition differs"
UNCITED = "no statement cites a source that was found"
UNSUPPORTED = "the sources cited support no statement"

_LEVELS: Sequence[Level] = ("Low", "Medium", "High")


def held_to_sources(
    confidence: Confidence,
    *,
    cited: int,
    removed: int,
    statements: Sequence[Statement] = (),
    doubt: float | None = 0.0,
    unchecked: int = 0,
    partial: bool = False,
    outdated: bool = False,
) -> Confidence:
    """``confidence`` as far as the answer's citations, and what they say, bear it out.

    Args:
        confidence: what the profile's formula says.
        cited: citations in the answer of what was found.
        removed: citations of what was not, which were taken out.
        statements: those of the answer, checked.
        doubt: the share of them (0..1) that is not borne out; None where nobody could look.
        unchecked: how many more there are, which the check had no room for.
        partial: whether the answer broke off.
        outdated: whether a statement was taken from a passage whose newer edition differs.

    Returns:
        Without a valid citation, or where nothing supports any statement, Low, at most ``UNCITED_SCORE``. Else the
        score times the smaller one of two shares, that of the citations that are valid and that of the statements that
        are borne out; at most ``UNVERIFIED_SCORE`` where nobody could look, or not at all of it, it broke off, or a
        statement is outdated or in other words than its sources. No more than Medium then, or where one citation was
        removed or one statement has no support; Low where that is so of half or more; and never above the level of that
        score, where it is a chance.
    """
    support = Counter(one.support for one in statements)
    unsupported, in_part = support["unsupported"], support["partial"]
    reasons = [confidence.reason]
    if not cited or nothing_supported(statements):
        reasons.append(UNSUPPORTED if cited else UNCITED)
        score = min(confidence.score, UNCITED_SCORE)
        return replace(confidence, level="Low", score=score, reason=", ".join(reasons))
    total = cited + removed
    flaws = {
        f"{removed} of {total} citations named nothing that was found": removed,
        f"{unsupported} of {len(statements)} statements not found in the sources": unsupported,
        f"{in_part} of {len(statements)} statements in other words than the sources": in_part,
    }
    reasons += [said for said, count in flaws.items() if count]
    score = round(confidence.score * min(cited / total, 1 - (doubt or 0.0)), 1)
    unverified = any((doubt is None, partial, in_part, unchecked, outdated))
    if unverified:
        reasons += [UNCHECKED] if doubt is None else left_note(unchecked)
        reasons += [BROKEN_OFF] if partial else []
        reasons += [OUTDATED] if outdated else []
        score = min(score, UNVERIFIED_SCORE)
    limits: list[Level] = [confidence.level if confidence.raw is None else level_of(score)]
    limits += ["Medium"] if unverified else []
    limits += [_limit(removed, total), _limit(unsupported, len(statements))]
    level = min(limits, key=_LEVELS.index)
    return replace(confidence, level=level, score=score, reason=", ".join(reasons))


def _limit(bad: int, total: int) -> Level:
    """The highest level of an answer with so many ``bad`` citations or statements of ``total``."""
    if not bad:
        return "High"
    return "Low" if 2 * bad >= total else "Medium"


def nothing_supported(statements: Sequence[Statement]) -> bool:
    """Whether there are ``statements``, and not one of them is supported, not even in part."""
    return statements != () and all(statement.support == "unsupported" for statement in statements)
