"""Which by-products of a search tell that an index cannot answer: the regression behind ``knowledge.search.signals``.

``python -m research.refusal FAR SET...``: ``FAR`` is a file of questions, one a line, that none of the sets answers
(clinc's out-of-scope questions). Each ``SET`` is a folder in BEIR's layout: ``corpus.jsonl``, ``queries.jsonl``,
``qrels.tsv``, and, where there is one, ``unanswerable.jsonl`` with near misses. It becomes an index, made and searched
by the product itself; ``.index/refusal`` keeps it and what it said.

Answerable is a question with a relevant passage among the first eight. The regression tells these, and the same
questions cut down to their three rarest words, from the background questions. Each set counts as much as the others.
The figures of a set come from weights fitted on the other sets; far questions and near misses are never fitted on.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluate.beir import read_qrels, read_queries
from knowledge.build.calibrate import background
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import View
from knowledge.open.index import Index, open_index
from knowledge.read.documents import read
from knowledge.search.lexical import Lexical
from knowledge.search.signals import (
    BEST_COSINE,
    BEST_WINDOW,
    FARTHEST,
    FIRST_SCORE,
    LATE,
    LEAST_STD,
    LEXICAL_SHARE,
    QUANTILE,
)
from research.logistic import Floats, calibration_error, logistic, probability

QUESTIONS, TOP, RESAMPLES, LABELLED = 500, 8, 1000, 0.6
CLASSES = (("asked", 1.0, 0.75), ("short", 1.0, 0.25), ("background", 0.0, 1.0))
"""What the regression tells apart: kind, label, and share of the weight of a set's questions with that label."""

SHIPPED = "cosine, first score, share"
FORMULAS: Mapping[str, tuple[str, ...]] = {
    "best cosine": (BEST_COSINE,),
    "best window": (BEST_WINDOW,),
    "score of the first": (FIRST_SCORE,),
    "cosine, window": (BEST_COSINE, BEST_WINDOW),
    "cosine, share": (BEST_COSINE, LEXICAL_SHARE),
    "cosine, first score": (BEST_COSINE, FIRST_SCORE),
    "cosine, late, share": (BEST_COSINE, LATE, LEXICAL_SHARE),
    SHIPPED: (BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE),
    "and best window": (BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE, BEST_WINDOW),
    "and late interaction": (BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE, LATE),
    "and the weakest pieces": (BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE, "weakest"),
    "and the gap to the fifth": (BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE, "gap"),
}

COLUMNS = ("far refused", "asked refused", "cut to three words", "near misses", "asked, at 95 % of far")
KINDS = ("asked", "short", "missed", "far", "near", "background")

type Signals = Mapping[str, float]
type Observed = Mapping[str, Sequence[Signals]]
"""Signals of a set's questions by kind: answerable ones as asked, and cut down; those the search missed; others."""


def observe(folder: Path, far: Sequence[str], model: MiniLM, cache: Path) -> Observed:
    """Make an index of the set in ``folder`` and ask it everything; once, then the ``cache`` has it."""
    kept = cache / f"{folder.name}.json"
    if kept.exists():
        found: Observed = json.loads(kept.read_text(encoding="utf-8"))
        return found
    ingest(read([folder / "corpus.jsonl"]).documents, target=cache / folder.name, embedder=model)
    index = open_index(cache / folder.name, embedder=model)
    try:
        observed = _ask(index, folder, far)
    finally:
        index.close()
    kept.write_text(json.dumps(observed), encoding="utf-8")
    return observed


def _ask(index: Index, folder: Path, far: Sequence[str]) -> dict[str, list[Signals]]:
    qrels = read_qrels(folder / "qrels.tsv")
    asked = [(number, text) for number, text in read_queries(folder / "queries.jsonl") if number in qrels]
    near = folder / "unanswerable.jsonl"
    observed: dict[str, list[Signals]] = {kind: [] for kind in KINDS}
    assert index.lexical is not None  # noqa: S101 - a fresh index has it
    for number, text in random.Random(0).sample(asked, min(QUESTIONS, len(asked))):  # noqa: S311 - no secret
        relevant = {document for document, gain in qrels[number].items() if gain}
        for kind, question in (("asked", text), ("short", _short(text, index.lexical))):
            signals, documents = _look(index, question)
            if relevant & documents:
                observed[kind].append(signals)
            elif kind == "asked":
                observed["missed"].append(signals)
    observed["far"] = [_look(index, text)[0] for text in far]
    observed["background"] = [_look(index, text)[0] for text in background()]
    if near.exists():
        observed["near"] = [_look(index, text)[0] for _, text in read_queries(near)]
    return observed


def _short(text: str, lexical: Lexical) -> str:
    """The three words of ``text`` that fewest passages hold, of those that some hold, in their order."""
    words = re.findall(r"[\w'-]+", text.lower())
    worth = {word: lexical.attainable(word) if lexical.scores(word).max() > 0 else 0.0 for word in words}
    chosen = sorted(worth, key=lambda word: -worth[word])[:3]
    return " ".join(word for word in words if word in chosen)


def _look(index: Index, text: str) -> tuple[Signals, set[str]]:
    """The product's signals and others that were tried, and the documents found first."""
    found = index.search([View(text)], k=20)
    evidence, first = found.evidence, found.hits[0]
    assert evidence is not None and first.match is not None  # noqa: S101, PT018 - a fresh index has both
    met = first.match.similarities.max(axis=1, initial=-1)
    weights = evidence.asked.weights
    heavy = np.sort(met[weights >= weights.mean() / 2]) if len(met) else np.zeros(1)
    signals = {
        **evidence.signals,
        "weakest": float(heavy[:2].mean()),
        "gap": first.score - found.hits[min(4, len(found.hits) - 1)].score,
    }
    return signals, {hit.chunk.doc_id for hit in found.hits[:TOP]}


def matrix(observed: Observed, kind: str, names: Sequence[str]) -> Floats:
    """Signals ``names`` of the questions of a ``kind`` in the background's deviations, a row a question."""
    usual = np.array([[signals[name] for name in names] for signals in observed["background"]])
    values = np.array([[signals[name] for name in names] for signals in observed[kind]]).reshape(-1, len(names))
    return np.clip((values - usual.mean(axis=0)) / np.maximum(usual.std(axis=0), LEAST_STD), -FARTHEST, FARTHEST)


def regression(sets: Sequence[Observed], names: Sequence[str]) -> Floats:
    """The weights of ``names`` and the intercept, fitted on ``sets``: half the weight for each class."""
    parts = []
    for observed in sets:
        for kind, label, share in CLASSES:
            rows = matrix(observed, kind, names)
            parts.append((rows, np.full(len(rows), label), np.full(len(rows), 500 * share / len(rows))))
    rows, labels, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return logistic(rows, labels, weights)


def left_out(sets: Sequence[Observed], names: Sequence[str]) -> list[Mapping[str, Floats]]:
    """The scores of each set, less its bar, by kind: from the regression of the others."""
    result: list[Mapping[str, Floats]] = []
    for observed in sets:
        theta = regression([other for other in sets if other is not observed], names)
        scores = {kind: matrix(observed, kind, names) @ theta[:-1] + theta[-1] for kind in KINDS}
        bar = np.quantile(scores["background"], QUANTILE)
        result.append({kind: values - bar for kind, values in scores.items()})
    return result


def figures(scores: Mapping[str, Floats]) -> Floats:
    """Refused at the bar, in per cent: far, asked, short, near (nan: none); then asked where 95 % of far ones are."""
    kinds = (scores[kind] for kind in ("far", "asked", "short", "near"))
    at_bar = [100 * float(np.mean(values < 0)) if len(values) else np.nan for values in kinds]
    return np.array([*at_bar, 100 * float(np.mean(_refused(scores, "asked")))])


def table(sets: Mapping[str, Observed]) -> None:
    """Print a row for each formula: means over the sets, and two of them against the best cosine's, with intervals."""
    print("| signals | " + " | ".join(COLUMNS) + " | change of the last | change of those cut down |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    usual: list[Mapping[str, Floats]] = []
    for name, names in FORMULAS.items():
        scored = left_out(list(sets.values()), names)
        usual = usual or scored
        means = " | ".join(f"{value:.1f}" for value in np.nanmean([figures(scores) for scores in scored], axis=0))
        changes = [_change(scored, usual, kind) for kind in ("asked", "short")]
        print(f"| {name} | {means} | {' | '.join(changes)} |", flush=True)


def _change(scored: Sequence[Mapping[str, Floats]], usual: Sequence[Mapping[str, Floats]], kind: str) -> str:
    """How many per cent more are refused of a ``kind``, where 95 % of far ones are: 95 % of bootstrap means."""
    generator = np.random.default_rng(0)
    draws = np.zeros(RESAMPLES)
    for scores, before in zip(scored, usual, strict=True):
        more = _refused(scores, kind).astype(float) - _refused(before, kind)
        draws += 100 / len(scored) * more[generator.integers(0, len(more), (RESAMPLES, len(more)))].mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{low:+.1f} .. {high:+.1f}"


def _refused(scores: Mapping[str, Floats], kind: str) -> NDArray[np.bool_]:
    return np.asarray(scores[kind] < np.quantile(scores["far"], QUANTILE))


def by_set(sets: Mapping[str, Observed]) -> None:
    """Print the figures of each set for the shipped formula, and how well the others' chance is calibrated."""
    scored = left_out(list(sets.values()), FORMULAS[SHIPPED])
    print("\n| set | asked | " + " | ".join(COLUMNS) + " | ECE |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for (name, observed), scores in zip(sets.items(), scored, strict=True):
        slope, intercept = chance([other for other in scored if other is not scores])
        values, labels, weights = _mixed(scores)
        error = calibration_error(probability(slope * values + intercept), labels, weights)
        told = " | ".join("" if np.isnan(value) else f"{value:.1f}" for value in figures(scores))
        print(f"| {name} | {len(observed['asked'])} | {told} | {error:.3f} |")
    print("\nchance of an answer among the first eight: slope and intercept", chance(scored).round(2).tolist())


def _mixed(scores: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
    """Scores, whether a relevant passage was found, and weights: half answerable questions, half far ones."""
    parts = [("asked", 1.0), ("missed", 0.0), ("far", 0.0)]
    known = len(scores["asked"]) + len(scores["missed"])
    share = {"asked": 1 / known, "missed": 1 / known, "far": 1 / len(scores["far"])}
    values = np.clip(np.concatenate([scores[kind] for kind, _ in parts]), -FARTHEST, FARTHEST)
    labels = np.concatenate([np.full(len(scores[kind]), label) for kind, label in parts])
    weights = np.concatenate([np.full(len(scores[kind]), 250 * share[kind]) for kind, _ in parts])
    return values, labels, weights


def chance(scored: Sequence[Mapping[str, Floats]]) -> Floats:
    """Slope and intercept of the chance that a relevant passage is among the first, over the score less the bar.

    Where the search finds less than ``LABELLED`` of what is relevant, others answer as well and nobody labelled them.
    """
    labelled = [one for one in scored if len(one["asked"]) >= LABELLED * (len(one["asked"]) + len(one["missed"]))]
    values, labels, weights = (np.concatenate(column) for column in zip(*map(_mixed, labelled), strict=True))
    return logistic(values[:, None], labels, weights)


def main() -> int:
    """Print the tables, and the weights fitted on all sets."""
    far = [line for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines() if line.strip()]
    cache = Path(".index/refusal")
    cache.mkdir(parents=True, exist_ok=True)
    model = MiniLM(threads=2)
    sets = {folder.name: observe(folder, far, model, cache) for folder in map(Path, sys.argv[2:])}
    table(sets)
    by_set(sets)
    fitted = regression(list(sets.values()), FORMULAS[SHIPPED])
    print("weights", dict(zip([*FORMULAS[SHIPPED], "intercept"], fitted.round(2).tolist(), strict=True)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
