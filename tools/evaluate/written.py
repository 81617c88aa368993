"""The shift of the confidence in what a model wrote, fitted to completions that somebody labelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag.answer.confidence import chance_faithful
from rag.ledger import Ledger
from rag.values.chat import Completion, Deadline
from rag.values.question import Question

if TYPE_CHECKING:
    from evaluate.labelled import LabelledQuestion
    from rag.pipeline import Pipeline

LEAST = 19
"""So many labelled completions are needed."""
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class FittedShift:
    """The ``shift`` of the log odds that ``answers`` labelled completions give; None where they are too few."""

    answers: int
    shift: float | None

    def __str__(self) -> str:
        if self.shift is None:
            return f"{LEAST - self.answers} more labelled completions are needed to fit the confidence in a model"
        found = f"{self.shift:+.2f} from {self.answers} answers; set CONFIDENCE_SHIFT={self.shift:.2f}"
        return f"Confidence in what a model wrote: shift {found}"


def fit_shift(pipeline: Pipeline, labelled: Sequence[LabelledQuestion]) -> FittedShift | None:
    """Put the labelled completions through ``pipeline`` and fit the shift to them; None where there are none.

    The prior of the shift is 0, give or take 1.
    """
    from scipy.optimize import brentq

    cases = list(_cases(pipeline, labelled))
    if len(cases) < LEAST:
        return FittedShift(len(cases), None) if cases else None
    chances, labels = (np.array(column) for column in zip(*cases, strict=True))
    odds = np.log(chances / (1 - chances))

    def slope(shift: float) -> float:
        return float(np.sum(labels - 1 / (1 + np.exp(-odds - shift))) - shift)

    return FittedShift(len(cases), float(brentq(slope, -len(cases), len(cases))))


def _cases(pipeline: Pipeline, labelled: Sequence[LabelledQuestion]) -> Iterator[tuple[float, float]]:
    for one in labelled:
        if one.completion and one.faithful is not None:
            ledger = Ledger(pipeline.clock, Deadline.after(PATIENCE_S, pipeline.clock))
            draft = pipeline.prepare(Question(text=one.question), ledger)
            if draft.context is not None:
                completion = Completion(text=one.completion, model="labelled", finish_reason="stop")
                if statements := pipeline.finish(draft, completion, ledger).statements:
                    yield chance_faithful(statements), one.faithful
