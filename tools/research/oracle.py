"""What the shipped confidence says of answers whose worth is known: see ``research.doubles``.

``python -m research.oracle DATA CACHE [SET...]`` asks the samples' ``asked.jsonl`` and two public sets through the real
pipeline, its gate and its check of statements included. Some three minutes.

``--altered`` tells, by kind of falsehood, how sure the service is where a double gives, of each question, the unit that
holds the answer with one thing changed (``research.alterations``), cited as if it were true.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from evaluate.intervals import above, ece
from knowledge.open.index import Index
from rag.answer.route import ConfidenceRouter
from rag.wiring import Application
from research.alterations import ALTERATIONS
from research.doubles import (
    QUOTES,
    SAMPLES,
    Doubles,
    Problem,
    Told,
    far_problems,
    pieces_of,
    public_problems,
    sample_problems,
    service_of,
)
from research.statements import Corpus

SETS = ("waypoint", "gacounts", "clockify", "squad_v11_dev", "clapnq_dev")
ALTERED = ("squad_v11_dev", "clapnq_dev", "covid_faq", "waypoint", "gacounts", "clockify")
QUESTIONS, FAR, MANY = 200, 351, 600
TRUE, WRITTEN, EVERY = "true, word for word", "true, written by people who read the passage", "all that is altered"
LEVELS = ("High", "Medium", "Low")


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
    problems = (*problems_of(name, data, QUESTIONS), *far_problems(data, FAR))
    return [told for problem in problems for told in doubles.answers(problem)]


def ask_altered(service: Application, problems: Iterable[Problem]) -> Iterator[Told]:
    """Of each problem the unit that answers it, true and altered in each way, as the words of a model.

    ``double`` is the kind of alteration, ``TRUE`` or ``WRITTEN``. None where the unit was not packed.
    """
    doubles = Doubles(service.pipeline)
    with service.index.lease() as index:
        assert isinstance(index, Index)  # noqa: S101 - in a folder
        corpus = Corpus.of(index)
    for problem in problems:
        draft = doubles.draft(problem)
        right = next(filter(problem.is_right, pieces_of(draft.context) if draft.context else ()), None)
        if right is None:
            continue
        texts = {TRUE: right.text} | ({WRITTEN: problem.written} if problem.written else {})
        texts |= dict(corpus.altered(right.text.strip(), [right.passage.hit.chunk]))
        for kind, text in texts.items():
            yield Told(problem, kind, kind in {TRUE, WRITTEN}, doubles.answer(draft, text, right.passage))


def altered_table(told: Mapping[str, Sequence[Told]]) -> None:
    """Print, by kind: answers of all sets and how many per cent are of each level, then each set's that are High."""
    print("| statement | answers | High | Medium | Low | " + " | ".join(f"{name}: High" for name in told) + " |")
    print("|---" * (5 + len(told)) + "|")
    for kind in (TRUE, WRITTEN, *ALTERATIONS, EVERY):
        sets = [
            [one for one in some if one.double == kind or (kind == EVERY and not one.right)] for some in told.values()
        ]
        own = [one for some in sets for one in some]
        shares = [f"{100 * _share(own, (level,)):.1f}" for level in LEVELS]
        high = [f"{sum(one.answer.confidence.level == 'High' for one in some)} of {len(some)}" for some in sets]
        print(f"| {kind} | {len(own)} | {' | '.join((*shares, *high))} |")


def problems_of(name: str, data: Path, count: int) -> Iterator[Problem]:
    """A sample's own questions, or ``count`` of a public set with its near misses."""
    sample = SAMPLES / name
    return sample_problems(sample) if sample.exists() else public_problems(data / name, count)


def main(data: Path, cache: Path, *names: str) -> None:
    """Print how right, and how wrong, what the service is sure of is."""
    columns: Mapping[str, dict[str, float]] = {name: figures(ask(name, data, cache)) for name in names or SETS}
    print(" " * 18 + "".join(f"{name[:9]:>11}" for name in columns))
    for figure in next(iter(columns.values())):
        print(f"{figure:18}" + "".join(f"{column[figure]:11.3f}" for column in columns.values()))


def main_altered(data: Path, cache: Path, *names: str) -> None:
    """Print how sure the service is of what is false."""
    asked = {name: (service_of(name, data, cache), problems_of(name, data, MANY)) for name in names or ALTERED}
    altered_table({name: list(ask_altered(*both)) for name, both in asked.items()})


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if one != "--altered"]
    (main_altered if "--altered" in sys.argv else main)(Path(given[0]), Path(given[1]), *given[2:])
