"""What the shipped confidence says of answers whose worth is known: see ``research.doubles``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from evaluate.intervals import auroc_of_samples
from knowledge.open.index import EmbeddedIndex
from rag.answer.routing import ConfidenceRouter
from rag.wiring import Application
from research.doubles import Doubles, Outcome, Problem, pieces_of
from research.statements import Corpus

TRUE, WRITTEN = "true, word for word", "true, written by people who read the passage"


def figures(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Return shares (0..1) and an AUROC by name; NaN where there is nothing to count.

    - right, last, second: of that double's answers those that are Medium or High; "right High" those that are High,
      "right returned" those that no person has to see
    - AUROC: right answers against the double's others
    """
    by: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by[outcome.double].append(outcome)
    found = {kind: _share(by[kind], ("Medium", "High")) for kind in ("right", "last", "second")}
    found["right High"] = _share(by["right"], ("High",))
    returned = [outcome.answer.routing or ConfidenceRouter()(outcome.answer) for outcome in by["right"]]
    found["right returned"] = _mean([routing.action == "return" for routing in returned])
    right, others = by["right"], [*by["last"], *by["second"], *by["first"]]
    scores = [np.array([outcome.answer.confidence.score for outcome in some]) for some in (right, others)]
    found["AUROC"] = auroc_of_samples(*scores) if right and others else float("nan")
    return found


def _share(outcomes: Sequence[Outcome], levels: Sequence[str]) -> float:
    return _mean([outcome.answer.confidence.level in levels for outcome in outcomes])


def _mean(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")


def ask_altered(service: Application, problems: Iterable[Problem]) -> Iterator[Outcome]:
    """Answer each problem with the unit that answers it, true and altered in each way, as the words of a model.

    ``double`` is the kind of alteration, ``TRUE`` or ``WRITTEN``. None where the unit was not packed.
    """
    doubles = Doubles(service.pipeline)
    with service.index.lease() as index:
        assert isinstance(index, EmbeddedIndex)  # noqa: S101 - in a folder
        corpus = Corpus.of(index)
    for problem in problems:
        draft = doubles.draft(problem)
        right = next(filter(problem.is_right, pieces_of(draft.context) if draft.context else ()), None)
        if right is None:
            continue
        texts = {TRUE: right.text} | ({WRITTEN: problem.written} if problem.written else {})
        texts |= dict(corpus.altered(right.text.strip(), [right.passage.hit.chunk]))
        for kind, text in texts.items():
            yield Outcome(problem, kind, kind in {TRUE, WRITTEN}, doubles.answer(draft, text, right.passage))
