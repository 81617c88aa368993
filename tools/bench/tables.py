"""Percentiles and Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile of ``values`` (not empty) for ``share`` in 0..1."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; floats have one decimal."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
