"""Fit the weights of ``knowledge.search.signals``, which tell that an index cannot answer a question.

``python -m research.refusal SET...``: each ``SET`` is a folder in BEIR's layout: ``corpus.jsonl``, ``queries.jsonl``,
``qrels.tsv``. The product itself indexes it in ``.index/refusal``, and searches it.

A question is answerable if one of the first eight passages is relevant. The regression separates these questions, and
the same questions cut down to their three rarest words, from the background questions. Each set counts the same.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
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
from research.regression import Floats, fit_logistic

INDEXES = Path(".index/refusal")
QUESTIONS, TOP = 500, 8
CLASSES = (("asked", 1.0, 0.75), ("short", 1.0, 0.25), ("background", 0.0, 1.0))
"""Classes of the regression: kind, label, and share in the weight of the set's questions with that label."""

SIGNALS = (BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE)

type Signals = Mapping[str, float]
type SignalsByKind = Mapping[str, Sequence[Signals]]
"""Signals of a set's questions by kind: answerable ones as asked, and cut down; background questions."""


def collect_signals(folder: Path, model: MiniLM) -> SignalsByKind:
    """Index the set in ``folder``, and return the signals of its questions and of the background's."""
    target = INDEXES / folder.name
    ingest(read([folder / "corpus.jsonl"]).documents, target=target, embedder=model)
    with closing(open_index(target, embedder=model)) as index:
        return _search_all(index, folder)


def _search_all(index: EmbeddedIndex, folder: Path) -> SignalsByKind:
    qrels = read_qrels(folder / "qrels.tsv")
    judged = [(number, text) for number, text in read_queries(folder / "queries.jsonl") if number in qrels]
    by_kind: dict[str, list[Signals]] = {"asked": [], "short": []}
    for number, text in random.Random(0).sample(judged, min(QUESTIONS, len(judged))):  # noqa: S311 - no secret
        relevant = {document for document, gain in qrels[number].items() if gain}
        for kind, question in (("asked", text), ("short", keep_rarest_words(text, index.lexical))):
            signals, documents = _search(index, question)
            if relevant & documents:
                by_kind[kind].append(signals)
    by_kind["background"] = [_search(index, text)[0] for text in background()]
    return by_kind


def keep_rarest_words(text: str, lexical: Lexical) -> str:
    """Return the three words of ``text`` that fewest passages contain, in their order; unknown words come last."""
    words = re.findall(r"[\w'-]+", text.lower())
    rarity = {word: lexical.max_score(word) if lexical.scores(word).max() > 0 else 0.0 for word in words}
    rarest = sorted(rarity, key=lambda word: -rarity[word])[:3]
    return " ".join(word for word in words if word in rarest)


def _search(index: EmbeddedIndex, text: str) -> tuple[Signals, set[str]]:
    """Return the product's signals and the first documents."""
    result = index.search([View(text)], k=20)
    assert result.evidence is not None  # noqa: S101 - a fresh index has it
    return result.evidence.signals, {hit.chunk.doc_id for hit in result.hits[:TOP]}


def standardise(by_kind: SignalsByKind, kind: str) -> Floats:
    """Return the signals of a kind in standard deviations of the background's, shape (questions, signals)."""
    usual = np.array([[signals[name] for name in SIGNALS] for signals in by_kind["background"]])
    values = np.array([[signals[name] for name in SIGNALS] for signals in by_kind[kind]]).reshape(-1, len(SIGNALS))
    return np.clip((values - usual.mean(axis=0)) / np.maximum(usual.std(axis=0), LEAST_STD), -FARTHEST, FARTHEST)


def fit(sets: Sequence[SignalsByKind]) -> Floats:
    """Return the weights of ``SIGNALS`` and the intercept; each label has half the weight of a set."""
    parts = []
    for by_kind in sets:
        for kind, label, share in CLASSES:
            rows = standardise(by_kind, kind)
            parts.append((rows, np.full(len(rows), label), np.full(len(rows), 500 * share / len(rows))))
    rows, labels, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return fit_logistic(rows, labels, weights)


if __name__ == "__main__":
    embedder = MiniLM(threads=2)
    fitted = fit([collect_signals(Path(folder), embedder) for folder in sys.argv[1:]])
    print("weights", dict(zip([*SIGNALS, "intercept"], fitted.round(2).tolist(), strict=True)))
