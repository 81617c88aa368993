"""Statistics of questions and their 95 % intervals.

Rows are float arrays of shape (n, 2), one row a question; each statistic says which two values it takes. numpy is
imported late: ``ragctl --help`` names the metrics and needs none of it.
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
"""Returns NaN if the rows allow no value."""

Z = 1.959963984540054
"""The normal quantile of .975."""
RESAMPLES = 1000
BINS = 10
_LOW_HIGH = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Bin:
    """The ``n`` answers with a chance in ``low``..``high``: their mean ``chance`` and the number that is right."""

    low: float
    high: float
    n: int
    chance: float
    right: int


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, ``hits`` of ``n`` > 0; Wilson, 1927."""
    share, z2 = hits / n, Z * Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap(rows: Rows, statistic: Statistic, *, seed: int) -> tuple[float, float] | None:
    """Return the percentile bootstrap's 95 % interval over resampled questions; None below two rows."""
    return _interval(statistic(rows[sample]) for sample in _resample(len(rows), seed))


def paired_bootstrap(new: Rows, old: Rows, statistic: Statistic, *, seed: int) -> tuple[float, float] | None:
    """Return the interval of ``statistic(new) - statistic(old)``; row by row the same questions, drawn together."""
    return _interval(statistic(new[sample]) - statistic(old[sample]) for sample in _resample(len(new), seed))


def ratio(rows: Rows) -> float:
    """Return the sum of the first column over that of the second: a mean if that is all ones."""
    total = float(rows[:, 1].sum())
    return float(rows[:, 0].sum()) / total if total else math.nan


def quantile(share: float) -> Statistic:
    """Return the statistic of this quantile of the first column, interpolated linearly."""

    def statistic(rows: Rows) -> float:
        import numpy as np

        return float(np.quantile(rows[:, 0], share)) if len(rows) else math.nan

    return statistic


def auroc(rows: Rows) -> float:
    """Return the AUROC of scores (first column) for right answers (second column 1); see ``auroc_of_samples``."""
    return auroc_of_samples(rows[rows[:, 1] == 1, 0], rows[rows[:, 1] == 0, 0])


def auroc_of_samples(right: NDArray[np.float64], wrong: NDArray[np.float64]) -> float:
    """Return the share (0..1) of pairs with ``right`` above ``wrong``; ties count half; NaN if a sample is empty."""
    import numpy as np

    if not len(right) or not len(wrong):
        return math.nan
    ordered = np.sort(wrong)
    below = np.searchsorted(ordered, right, "left") + np.searchsorted(ordered, right, "right")
    return float(below.sum()) / (2 * len(right) * len(wrong))


def ece(rows: Rows) -> float:
    """Return the expected calibration error (0..1): |chance - share right| over ten equal bins, weighted by size.

    The first column is a chance, 0..1, the second 1 for right. Guo et al., 2017.
    """
    import numpy as np

    if not len(rows):
        return math.nan
    gaps = np.bincount(_bin_places(rows), weights=rows[:, 0] - rows[:, 1], minlength=BINS)
    return float(np.abs(gaps).sum()) / len(rows)


def reliability(rows: Rows) -> list[Bin]:
    """Return the bins of ``ece`` that are not empty."""
    places = _bin_places(rows)
    bins = [(place, rows[places == place]) for place in range(BINS)]
    return [
        Bin(place / BINS, (place + 1) / BINS, len(own), float(own[:, 0].mean()), int(own[:, 1].sum()))
        for place, own in bins
        if len(own)
    ]


def _bin_places(rows: Rows) -> NDArray[np.int64]:
    import numpy as np

    return np.minimum((rows[:, 0] * BINS).astype(np.int64), BINS - 1)


def _resample(n: int, seed: int) -> Iterator[NDArray[np.int64]]:
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
