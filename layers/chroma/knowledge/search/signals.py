"""Weights and calibration of the three signals of a search that show whether the index can answer the question.

The search measures them. Each is standardised by its mean and standard deviation over background questions, which no
business's documents answer, to the same index (``knowledge.build.calibrate``). A logistic regression joins them: the
score is the log odds that the index answers the question.
``tools/research/refusal.py`` fitted the weights; docs/evidence/retrieval.md says how the signals were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from knowledge.model.errors import IndexDamaged

BEST_COSINE = "best_cosine"
"""Cosine of the question with the nearest chunk."""
FIRST_SCORE = "first_score"
"""Score of the chunk that came first (``knowledge.search.late_interaction``): cosine, window, BM25 and late
interaction in one."""
LEXICAL_SHARE = "lexical_share"
"""BM25 score of the chunk that came first, as a share of the most that the question's words could give a chunk."""

WEIGHTS: Mapping[str, float] = {BEST_COSINE: 0.95, FIRST_SCORE: 0.86, LEXICAL_SHARE: 0.54}
INTERCEPT = -3.83

FARTHEST = 8.0
"""Cap of a standardised signal: few background questions share a word with an index of one chunk, which makes the
deviation tiny."""

LEAST_STD = 0.03
"""Least standard deviation of a signal: below it, the index is too small to measure the deviation."""

OTHERS = "languages"
BAR_QUANTILE, DOUBT_QUANTILE = 0.95, 0.8
"""The bar is above the scores of 95 % of the background questions, the limit of doubt above those of 80 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Mean and standard deviation of each signal over the background questions of an index, and the limits.

    ``bar`` is the ``BAR_QUANTILE`` of their scores, or the limit fitted to the owner's labelled questions. ``doubt`` is
    the ``DOUBT_QUANTILE``: between the two the answer is uncertain. It equals ``bar`` if the bar was fitted.
    ``odds`` are the slope (>= 0) and the shift that labelled questions gave the log odds of the confidence. ``others``
    are the calibrations for questions in the languages of a few documents, by the language's name.
    """

    means: Mapping[str, float]
    stds: Mapping[str, float]
    bar: float
    doubt: float
    odds: tuple[float, float] = (1.0, 0.0)
    others: Mapping[str, Calibration] = field(default_factory=dict)

    @classmethod
    def of(cls, observed: Sequence[Mapping[str, float]]) -> Self:
        """Compute the calibration from the signals of each background question, at least one."""
        columns = {name: np.array([signals[name] for signals in observed]) for name in WEIGHTS}
        means = {name: float(values.mean()) for name, values in columns.items()}
        stds = {name: max(float(values.std()), LEAST_STD) for name, values in columns.items()}
        unlimited = cls(means=means, stds=stds, bar=math.inf, doubt=math.inf)
        doubt, bar = np.quantile(list(map(unlimited.score, observed)), [DOUBT_QUANTILE, BAR_QUANTILE]).tolist()
        return replace(unlimited, bar=bar, doubt=doubt)

    @classmethod
    def load(cls, record: Mapping[str, object] | None) -> Self | None:
        """Parse the ``record`` of a manifest; None if there is none. IndexDamaged: it is incomplete."""
        if record is None:
            return None
        try:
            signals: Mapping[str, Mapping[str, float]] = record["signals"]  # type: ignore[assignment]
            labels: Mapping[str, float] = record.get("labels") or {}  # type: ignore[assignment]
            loaded = [(name, cls.load(one)) for name, one in dict(record.get(OTHERS) or {}).items()]  # type: ignore[call-overload]
            bar = float(labels.get("bar", record["bar"]))  # type: ignore[arg-type]
            found = cls(
                means={name: float(signals[name]["mean"]) for name in WEIGHTS},
                stds={name: max(float(signals[name]["std"]), LEAST_STD) for name in WEIGHTS},
                bar=bar,
                doubt=bar if "bar" in labels else min(bar, float(record["doubt"])),  # type: ignore[arg-type]
                odds=(float(labels.get("slope", 1)), float(labels.get("shift", 0))),
                others={name: one for name, one in loaded if one},
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as exc:
            raise IndexDamaged(f"The index's calibration is not whole ({exc!r}). Run: ragctl ingest PATH") from exc
        if not all(map(math.isfinite, (found.bar, found.doubt, *found.odds))) or found.odds[0] < 0:
            values = f"bar {found.bar:g}, slope {found.odds[0]:g}, shift {found.odds[1]:g}"
            raise IndexDamaged(f"The index's calibration is not whole ({values}). Run: ragctl ingest PATH")
        return found

    def record(self, questions: int) -> Mapping[str, object]:
        """Return the record for ``load``; ``questions`` is the number of background questions."""
        signals = {name: {"mean": self.means[name], "std": self.stds[name]} for name in WEIGHTS}
        return {"questions": questions, "signals": signals, "bar": self.bar, "doubt": self.doubt}

    def of_question(self, languages: Container[str]) -> Calibration:
        """Return the calibration for a question in one of ``languages``."""
        return next((one for name, one in self.others.items() if name in languages), self)

    def score(self, signals: Mapping[str, float]) -> float:
        """Return the log odds that the index answers a question with these ``signals``."""
        total = INTERCEPT
        for name, weight in WEIGHTS.items():
            deviations = (signals[name] - self.means[name]) / self.stds[name]
            total += weight * min(FARTHEST, max(-FARTHEST, deviations))
        return total
