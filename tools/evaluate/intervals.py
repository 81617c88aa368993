"""Statistics of questions and their 95 % intervals. Rows are float arrays of shape (n, 2), one row a question.

numpy is imported late: ``ragctl --help`` names the metrics and needs none of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

type Rows = NDArray[np.float64]
type Statistic = Callable[[Rows], float]
"""NaN where the rows allow none."""

Z = 1.959963984540054
"""The normal quantile of .975."""
RESAMPLES = 1000
BINS = 10
_LOW_HIGH = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers whose chance lies in ``low``..``high``: ``n`` of them, their mean ``chance``, how many are right."""

    low: float
    high: float
    n: int
    chance: float
    right: int


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, ``hits`` of ``n`` > 0; Wilson, 1927."""
    share, z2 = hits / n, Z * Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap(rows: Rows, statistic: Statistic, *, seed: int) -> tuple[float, float] | None:
    """The percentile bootstrap's 95 % interval: questions are drawn again. None below two rows."""
    return _interval(statistic(rows[picked]) for picked in _picks(len(rows), seed))


def paired(new: Rows, old: Rows, statistic: Statistic, *, seed: int) -> tuple[float, float] | None:
    """The interval of ``statistic(new) - statistic(old)``: row by row the same questions, drawn together."""
    return _interval(statistic(new[picked]) - statistic(old[picked]) for picked in _picks(len(new), seed))


def ratio(rows: Rows) -> float:
    """The sum of the first column by that of the second: a mean where that is all ones."""
    total = float(rows[:, 1].sum())
    return float(rows[:, 0].sum()) / total if total else math.nan


def quantile(share: float) -> Statistic:
    """The quantile of the first column, between neighbours in proportion."""

    def statistic(rows: Rows) -> float:
        import numpy as np

        return float(np.quantile(rows[:, 0], share)) if len(rows) else math.nan

    return statistic


def auroc(rows: Rows) -> float:
    """How often a right answer (second column 1) has a higher score (first) than a wrong one; see ``above``."""
    return above(rows[rows[:, 1] == 1, 0], rows[rows[:, 1] == 0, 0])


def above(right: NDArray[np.float64], wrong: NDArray[np.float64]) -> float:
    """How often a value of ``right`` is above one of ``wrong``, 0..1, equals count half; NaN where one is empty."""
    import numpy as np

    if not len(right) or not len(wrong):
        return math.nan
    ordered = np.sort(wrong)
    below = np.searchsorted(ordered, right, "left") + np.searchsorted(ordered, right, "right")
    return float(below.sum()) / (2 * len(right) * len(wrong))


def ece(rows: Rows) -> float:
    """Expected calibration error (0..1): the mean gap of chance and share right over ten equal bins, by their size.

    The first column is a chance, 0..1, the second 1 for right. Guo et al., 2017.
    """
    import numpy as np

    if not len(rows):
        return math.nan
    gaps = np.bincount(_places(rows), weights=rows[:, 0] - rows[:, 1], minlength=BINS)
    return float(np.abs(gaps).sum()) / len(rows)


def reliability(rows: Rows) -> list[Bin]:
    """The ten bins of ``ece`` that hold something."""
    places = _places(rows)
    bins = [(place, rows[places == place]) for place in range(BINS)]
    return [
        Bin(place / BINS, (place + 1) / BINS, len(own), float(own[:, 0].mean()), int(own[:, 1].sum()))
        for place, own in bins
        if len(own)
    ]


def _places(rows: Rows) -> NDArray[np.int64]:
    import numpy as np

    return np.minimum((rows[:, 0] * BINS).astype(np.int64), BINS - 1)


def _picks(n: int, seed: int) -> Iterator[NDArray[np.int64]]:
    import numpy as np

    random = np.random.default_rng(seed)
    for _ in range(RESAMPLES if n > 1 else 0):
        yield random.integers(0, n, n)


def _interval(values: Iterator[float]) -> tuple[float, float] | None:
    import numpy as np

    drawn = np.fromiter(values, dtype=np.float64)
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return None
    low, high = np.quantile(drawn, _LOW_HIGH)
    return float(low), float(high)
