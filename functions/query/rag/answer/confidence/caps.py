"""Cap a confidence by an answer's citations, and by how much of it was checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag.answer.check_limit import left_note
from rag.answer.finish import UNCHECKED
from rag.values.answer import CheckedClaim, Confidence, Level

UNCITED_SCORE = 35.0
"""Highest confidence (0..100) of an answer without a valid citation: below every profile's bar for routing it back."""
UNVERIFIED_SCORE = 74.0
"""Highest confidence of an answer that was not checked as a whole: below what is High."""
BROKEN_OFF = "the answer broke off"
OUTDATED = "a newer edition differs"
UNCITED = "no statement cites a source that was found"
UNSUPPORTED = "the sources cited support no statement"
MOST_MARKED = 1 / 2
"""From this share of statements without support on an answer is Low. Of MTRAG's rated answers 20 are so: 15 are
unfaithful, 2 faithful."""

_LEVELS: Sequence[Level] = ("Low", "Medium", "High")


def cap_confidence(
    confidence: Confidence,
    *,
    cited: int,
    removed: int,
    statements: Sequence[CheckedClaim] = (),
    unchecked: int | None = 0,
    partial: bool = False,
    outdated: bool = False,
) -> Confidence:
    """Return ``confidence`` with the caps that the citations and the check of an answer set.

    Args:
        confidence: the confidence by the profile's formula.
        cited: citations in the answer of what was found.
        removed: citations of what was not, which were taken out.
        statements: the answer's, checked.
        unchecked: how many statements the check had no room for; None where it failed.
        partial: whether the answer broke off.
        outdated: whether a statement was taken from a passage whose newer edition differs.

    Returns:
        Low, at most ``UNCITED_SCORE``, without a valid citation, with as many removed as left, or where ``MOST_MARKED``
        of the statements have no support. Medium, at most ``UNVERIFIED_SCORE``, with a removed citation, an outdated
        statement, or if the answer broke off or was not checked as a whole.
    """
    unsupported = sum(one.support == "unsupported" for one in statements)
    flaws = {
        f"{removed} of {cited + removed} citations named nothing that was found": cited and removed,
        UNCITED: not cited,
        UNSUPPORTED: cited and nothing_supported(statements),
        f"{unsupported} of {len(statements)} statements not found in the sources": cited
        and 0 < unsupported < len(statements),
        UNCHECKED: unchecked is None,
        BROKEN_OFF: partial,
        OUTDATED: outdated,
    }
    reasons = [confidence.reason, *(reason for reason, is_so in flaws.items() if is_so), *left_note(unchecked or 0)]
    level, score = confidence.level, confidence.score
    if not cited or removed >= max(1, cited) or unsupported >= MOST_MARKED * max(1, len(statements)):
        level, score = "Low", min(score, UNCITED_SCORE)
    elif removed or partial or outdated or unchecked != 0:
        level, score = min(level, "Medium", key=_LEVELS.index), min(score, UNVERIFIED_SCORE)
    return replace(confidence, level=level, score=score, reason=", ".join(reasons))


def nothing_supported(statements: Sequence[CheckedClaim]) -> bool:
    """Whether there are ``statements``, and not one of them has any support."""
    return statements != () and all(statement.support == "unsupported" for statement in statements)
