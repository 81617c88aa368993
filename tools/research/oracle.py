"""What the shipped confidence says of answers whose worth is known: see ``research.doubles``.

``python -m research.oracle DATA CACHE [SET...]`` asks the samples' ``asked.jsonl`` and two public sets through the real
pipeline, its gate and its check of statements included. Some three minutes.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from rag.stages.after.route import ConfidenceRouter
from ragctl.measure.intervals import above, ece
from research.doubles import QUOTES, SAMPLES, Doubles, Told, far_problems, public_problems, sample_problems, service_of

SETS = ("waypoint", "gacounts", "clockify", "squad_v11_dev", "clapnq_dev")
QUESTIONS, FAR = 200, 351


def figures(told: Iterable[Told]) -> dict[str, float]:
    """Shares (0..1) and AUROCs by name; NaN where there is nothing to count.

    - right, last, second, first, best: of that double's answers those that are Medium or High; "right High" and so on
      those that are High, "right returned" those that no person has to see
    - AUROC: right answers against the double's others; "AUROC near" against answers to near misses
    - quotes: the same of the extractive engine's, "ECE" their calibration error, "wrong quotes High" a share
    - far: of the double's answers to questions about something else that pass the gate; "far quotes": of the engine's
    """
    by: dict[str, list[Told]] = defaultdict(list)
    for one in told:
        by[_kind(one)].append(one)
    found: dict[str, float] = {"answers": float(len(by["right"]))}
    for kind in ("right", "last", "second", "first", "best"):
        found[kind] = _share(by[kind], ("Medium", "High"))
        found[f"{kind} High"] = _share(by[kind], ("High",))
    found["right returned"] = _mean([_returned(one) for one in by["right"]])
    others = [*by["last"], *by["second"], *by["first"]]
    found["AUROC"] = _auroc(by["right"], others)
    found["AUROC near"] = _auroc(by["right"], by["best"])
    good, bad = by["good quotes"], [*by["bad quotes"], *by["near quotes"]]
    found["quotes AUROC"] = _auroc(good, bad)
    rows = [(one.answer.confidence.score / 100, float(one.right)) for one in (*good, *bad)]
    found["quotes ECE"] = ece(np.array(rows)) if rows else float("nan")
    found["right quotes"] = _share(good, ("Medium", "High"))
    found["wrong quotes High"] = _share(by["bad quotes"], ("High",))
    found["near quotes"] = _share(by["near quotes"], ("Medium", "High"))
    found["far"], found["far quotes"] = (_share(by[kind], ("Medium", "High")) for kind in ("far", "far quotes"))
    return found


def _kind(one: Told) -> str:
    if one.double == QUOTES:
        asked = "good quotes" if one.right else "bad quotes"
        return asked if one.problem.kind == "asked" else f"{one.problem.kind} quotes"
    return "far" if one.problem.kind == "far" else one.double


def _returned(one: Told) -> bool:
    routing = one.answer.routing or ConfidenceRouter()(one.answer)
    return routing.action == "return"


def _share(told: Sequence[Told], levels: Sequence[str]) -> float:
    return _mean([one.answer.confidence.level in levels for one in told])


def _mean(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _auroc(right: Sequence[Told], others: Sequence[Told]) -> float:
    scores = [np.array([one.answer.confidence.score for one in some]) for some in (right, others)]
    return above(*scores) if right and others else float("nan")


def ask(name: str, data: Path, cache: Path) -> list[Told]:
    """All answers of the doubles and of the engine over a set."""
    doubles = Doubles(service_of(name, data, cache).pipeline)
    sample = SAMPLES / name
    own = sample_problems(sample) if sample.exists() else public_problems(data / name, QUESTIONS)
    return [told for problem in (*own, *far_problems(data, FAR)) for told in doubles.answers(problem)]


def main(data: Path, cache: Path, *names: str) -> None:
    columns: Mapping[str, dict[str, float]] = {name: figures(ask(name, data, cache)) for name in names or SETS}
    print(" " * 18 + "".join(f"{name[:9]:>11}" for name in columns))
    for figure in next(iter(columns.values())):
        print(f"{figure:18}" + "".join(f"{column[figure]:11.3f}" for column in columns.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
