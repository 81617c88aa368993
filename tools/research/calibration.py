"""What labels do for an index: ``ragctl calibrate`` on questions that its authors did not write.

``python -m research.calibration DATA CACHE`` reads ``DATA/{clapnq_dev,squad_v11_dev,covid_faq,out_of_scope}`` and the
samples' ``asked.jsonl``; indexes and what they said are kept in the folder ``CACHE``. Half of the questions are for
labels, 49 to 200 of them answerable, the other half for measuring; fifty times. Where a set has no near misses of its
own the unanswerable questions are far ones. Five minutes the first time.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from evaluate.beir import read_qrels, read_queries
from evaluate.fitting import fitted
from evaluate.goals import Goal
from evaluate.judged import Asker, Case
from evaluate.labelled import LabelledQuestion, read_questions
from evaluate.platt import SHIPPED, chances, quality
from evaluate.thresholds import Scores, errors
from knowledge.build.calibrate import background
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import View
from knowledge.read.documents import read
from knowledge.search.signals import QUANTILE, Calibration
from rag.wiring import build_application
from ragctl.options import read_settings
from research.logistic import Floats

PUBLIC = ("clapnq_dev", "squad_v11_dev", "covid_faq")
SAMPLES = ("waypoint", "gacounts", "clockify")
QUESTIONS = 500
COUNTS, SEEDS = (49, 100, 200), range(50)
COLUMNS = (
    *("refused: shipped", "refused: calibrated", "refused: for false refusals"),
    *("answered: shipped", "answered: calibrated", "answered: for false refusals"),
    *("bars taken", "confidences taken", "ECE: shipped", "ECE: calibrated"),
    *("log loss: shipped", "log loss: calibrated", "AUROC"),
)
"""Shares (%) of answerable questions that are refused, of others that are not, and of the seeds in which what labels
gave was taken unasked; how well the chance of answers past the calibrated bar holds. All on questions without labels.
"""


def observe(name: str, data: Path, cache: Path) -> tuple[list[Case], list[float]]:
    """The cases of the set ``name`` and the scores of the background questions in its index; ``cache`` keeps both."""
    kept = cache / f"{name}.json"
    if not kept.exists():
        public = name in PUBLIC
        source, profile = (data / name / "corpus.jsonl", "waypoint") if public else (Path("samples", name), name)
        ingest(read([source]).documents, target=cache / name, embedder=MiniLM())
        service = build_application(read_settings(index=str(cache / name), profile=profile))
        questions = _public(data, name) if public else read_questions(source / "asked.jsonl")
        cases = [asdict(case) for case in Asker(service.pipeline).cases(questions) if case]
        with service.index.lease() as index:
            looks = [index.search([View(text)], k=1).evidence for text in background()]
        kept.write_text(json.dumps([cases, [look.score for look in looks if look]]), encoding="utf-8")
    cases, scores = json.loads(kept.read_text(encoding="utf-8"))
    return [Case(**case) for case in cases], scores


def _public(data: Path, name: str) -> Iterator[LabelledQuestion]:
    folder = data / name
    qrels, shuffled = read_qrels(folder / "qrels.tsv"), random.Random(0)  # noqa: S311 - no secret
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines() if name.startswith("squad") else []
    answers = {entry["_id"]: min(entry["answers"], key=len) for entry in map(json.loads, lines)}
    asked = [query for query in read_queries(folder / "queries.jsonl") if query[0] in qrels]
    for number, text in shuffled.sample(asked, min(QUESTIONS, len(asked))):
        expected = tuple(document for document, gain in qrels[number].items() if gain)
        yield LabelledQuestion(question=text, expected=expected, answer=answers.get(number, ""), answerable=True)
    near = folder / "unanswerable.jsonl"
    far = (data / "out_of_scope" / "queries.txt").read_text(encoding="utf-8").splitlines()
    for text in [text for _, text in read_queries(near)] if near.exists() else filter(None, far):
        yield LabelledQuestion(question=text, answerable=False)


def halves(cases: Sequence[Case], answerable: int, seed: int) -> tuple[list[Case], list[Case]]:
    """Of half of the ``cases`` so many ``answerable``, and in proportion as many that are not; and the other half."""
    shuffled, kinds = random.Random(seed), (True, False)  # noqa: S311 - no secret
    labelled: list[Case] = []
    unseen: list[Case] = []
    share = 0.0
    for kind in kinds:
        some = [case for case in cases if case.answerable is kind]
        shuffled.shuffle(some)
        half = some[: len(some) // 2]
        share = share or min(1.0, answerable / len(half))
        labelled += half[: round(share * len(half))]
        unseen += some[len(half) :]
    return labelled, unseen


def measured(labelled: Sequence[Case], unseen: Sequence[Case], far: Sequence[float]) -> Floats:
    """A row of the table: see ``COLUMNS``."""
    bar = float(np.quantile(far, QUANTILE))
    known = Calibration(means={}, stds={}, bar=bar, doubt=bar)
    by_itself, asked_for = (fitted(labelled, far, known, {}, goal) for goal in (None, Goal.FALSE_REFUSALS))
    bars = [known.bar, by_itself.threshold.bar or known.bar, asked_for.threshold.bar or known.bar]
    scores = Scores(_scores(unseen, answerable=True), _scores(unseen, answerable=False), np.array(far))
    found = [errors(bar, scores) for bar in bars]
    passed = [case for case in unseen if case.score >= bars[1] and case.log_odds is not None]
    right = np.array([float(bool(case.right)) for case in passed])
    log_odds = np.array([case.log_odds or 0.0 for case in passed])
    told = [quality(chances(log_odds, odds), right) for odds in (SHIPPED, by_itself.confidence.odds)]
    taken = [float(by_itself.threshold.taken), float(by_itself.confidence.odds != SHIPPED)]
    shares = [100 * (value or 0.0) for value in (*(one.refused for one in found), *(one.passed for one in found))]
    return np.array(
        [*shares, taken[0], taken[1], *(one.ece for one in told), *(one.log_loss for one in told), told[0].auroc]
    )


def _scores(cases: Sequence[Case], *, answerable: bool) -> Floats:
    return np.array([case.score for case in cases if case.answerable is answerable])


def main(arguments: Sequence[str]) -> None:
    """Print the tables: means over the seeds."""
    data, cache = map(Path, arguments)
    cache.mkdir(parents=True, exist_ok=True)
    print("| set | labelled | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 2) + "|")
    for name in (*PUBLIC, *SAMPLES):
        cases, far = observe(name, data, cache)
        most = sum(case.answerable for case in cases) // 2
        for count in sorted({min(count, most) for count in COUNTS}):
            rows = [measured(*halves(cases, count, seed), far) for seed in SEEDS]
            mean = np.mean(rows, axis=0)
            cells = [f"{value:.1f}" for value in mean[:6]] + [f"{100 * value:.0f}" for value in mean[6:8]]
            cells += [f"{value:.3f}" for value in mean[8:]]
            print(f"| {name} | {count} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
