"""Dice coefficient of two strings over character bigrams."""

from __future__ import annotations

from collections import Counter


def dice(a: str, b: str) -> float:
    """Similarity of ``a`` and ``b``, 0..1, case-insensitive: 2 |A n B| / (|A| + |B|) over bigram multisets.

    Equal strings give 1, an empty string gives 0 (Dice, 1945; the matching rule of Waypoint's seed).
    """
    a, b = a.casefold().strip(), b.casefold().strip()
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0
    left, right = _bigrams(a), _bigrams(b)
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def _bigrams(text: str) -> Counter[str]:
    return Counter(text[i : i + 2] for i in range(len(text) - 1))
