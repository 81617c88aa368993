"""Fit the weights of ``knowledge.search.signals``, by-products of a search that tell that an index cannot answer.

``python -m research.refusal SET...``: each ``SET`` is a folder in BEIR's layout: ``corpus.jsonl``, ``queries.jsonl``,
``qrels.tsv``. It becomes an index, made and searched by the product itself. ``.index/refusal`` keeps the index and what
was found.

Answerable is a question with a relevant passage among the first eight. The regression tells these, and the same
questions cut down to their three rarest words, from the background questions. Each set counts as much as the others.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evaluate.question_files import read_qrels, read_queries
from knowledge.build.calibrate import background
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import View
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.read.documents import read
from knowledge.search.lexical import Lexical
from knowledge.search.signals import BEST_COSINE, FARTHEST, FIRST_SCORE, LEAST_STD, LEXICAL_SHARE
from research.logistic import Floats, logistic

QUESTIONS, TOP = 500, 8
CLASSES = (("asked", 1.0, 0.75), ("short", 1.0, 0.25), ("background", 0.0, 1.0))
"""What the regression tells apart: kind, label, and share of the weight of a set's questions with that label."""

SIGNALS = (BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE)

type Signals = Mapping[str, float]
type Observed = Mapping[str, Sequence[Signals]]
"""Signals of a set's questions by kind: answerable ones as asked, and cut down; background questions."""


def observe(folder: Path, model: MiniLM, cache: Path) -> Observed:
    """Make an index of the set in ``folder`` and ask it everything; once, then the ``cache`` has it."""
    kept = cache / f"{folder.name}.json"
    if kept.exists():
        found: Observed = json.loads(kept.read_text(encoding="utf-8"))
        return found
    ingest(read([folder / "corpus.jsonl"]).documents, target=cache / folder.name, embedder=model)
    index = open_index(cache / folder.name, embedder=model)
    try:
        observed = _ask(index, folder)
    finally:
        index.close()
    kept.write_text(json.dumps(observed), encoding="utf-8")
    return observed


def _ask(index: EmbeddedIndex, folder: Path) -> dict[str, list[Signals]]:
    qrels = read_qrels(folder / "qrels.tsv")
    asked = [(number, text) for number, text in read_queries(folder / "queries.jsonl") if number in qrels]
    observed: dict[str, list[Signals]] = {"asked": [], "short": []}
    for number, text in random.Random(0).sample(asked, min(QUESTIONS, len(asked))):  # noqa: S311 - no secret
        relevant = {document for document, gain in qrels[number].items() if gain}
        for kind, question in (("asked", text), ("short", _short(text, index.lexical))):
            signals, documents = _look(index, question)
            if relevant & documents:
                observed[kind].append(signals)
    observed["background"] = [_look(index, text)[0] for text in background()]
    return observed


def _short(text: str, lexical: Lexical) -> str:
    """Return the three words of ``text`` that fewest passages hold, of those that some hold, in their order."""
    words = re.findall(r"[\w'-]+", text.lower())
    worth = {word: lexical.max_score(word) if lexical.scores(word).max() > 0 else 0.0 for word in words}
    chosen = sorted(worth, key=lambda word: -worth[word])[:3]
    return " ".join(word for word in words if word in chosen)


def _look(index: EmbeddedIndex, text: str) -> tuple[Signals, set[str]]:
    """Return the product's signals and the documents found first."""
    found = index.search([View(text)], k=20)
    assert found.evidence is not None  # noqa: S101 - a fresh index has it
    return found.evidence.signals, {hit.chunk.doc_id for hit in found.hits[:TOP]}


def matrix(observed: Observed, kind: str) -> Floats:
    """Return ``SIGNALS`` of the questions of a ``kind`` in the background's deviations, a row a question."""
    usual = np.array([[signals[name] for name in SIGNALS] for signals in observed["background"]])
    values = np.array([[signals[name] for name in SIGNALS] for signals in observed[kind]]).reshape(-1, len(SIGNALS))
    return np.clip((values - usual.mean(axis=0)) / np.maximum(usual.std(axis=0), LEAST_STD), -FARTHEST, FARTHEST)


def regression(sets: Sequence[Observed]) -> Floats:
    """Return the weights of ``SIGNALS`` and the intercept, fitted on ``sets``: half the weight for each class."""
    parts = []
    for observed in sets:
        for kind, label, share in CLASSES:
            rows = matrix(observed, kind)
            parts.append((rows, np.full(len(rows), label), np.full(len(rows), 500 * share / len(rows))))
    rows, labels, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return logistic(rows, labels, weights)


def main() -> int:
    """Print the weights fitted on all sets."""
    cache = Path(".index/refusal")
    cache.mkdir(parents=True, exist_ok=True)
    model = MiniLM(threads=2)
    fitted = regression([observe(folder, model, cache) for folder in map(Path, sys.argv[1:])])
    print("weights", dict(zip([*SIGNALS, "intercept"], fitted.round(2).tolist(), strict=True)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
