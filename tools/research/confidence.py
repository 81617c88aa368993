"""Fits the weights of ``rag.stages.score.calibrated`` and tells how well its chance holds on a corpus it did not see.

``python -m research.confidence DATA`` reads ``DATA/{clapnq_dev,squad_v11_dev,covid_faq}`` and
``DATA/out_of_scope/queries.txt``. Each corpus is indexed; its questions are answered by the extractive engine's quotes,

- as they are: right when the quotes hold the gold answer (SQuAD), or are of a passage that answers (the others),
- with the passages that answer taken out of what was found (and ClapNQ's 300 unanswerable ones): never right,
- and questions about something else altogether: never right.

A corpus counts as much as another; the three kinds have the shares ``MIX``. An entry of COVID FAQ also answers when its
question is nearly one that does (``SAME``), and is no wrong one when it is similar (``SIMILAR``): sources repeat each
other. The table leaves each corpus out in turn; the weights are of all three. Some ten minutes.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.open.index import Index, open_index
from knowledge.types import Document, Found, View
from rag.answer.title_form import TitleForm
from rag.stages.pack.by_title import TitledPacker
from rag.stages.score.calibrated import signals
from rag.stages.score.support import not_mentioned
from rag.stages.write.quoting import excerpts
from ragctl.beir import read_qrels, read_queries
from ragctl.measure.intervals import above
from research.logistic import Floats, calibration_error, probability

SETS = ("clapnq_dev", "squad_v11_dev", "covid_faq")
QUESTIONS, FAR = 400, 120
MIX = {"asked": 0.68, "near": 0.2, "far": 0.12}
SAME, SIMILAR = 0.8, 0.7
TOP_K, CONTEXT_CHARS = 10, 8000
NAMES = ("coverage", "lead", "cosine")
COLUMNS = ("AUROC", "but far", "ECE", "right>50", "right>75", "near>50", "far>50", "right n.m.", "near n.m.")
"""Right against all others, far ones aside; shares of a chance of 50 or 75 %; of "do not mention" in the answer."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question of a ``kind`` of ``MIX``, whether what was quoted is ``right``, and its signals.

    ``absent`` says whether a heavy word of it is nowhere in what was found.
    """

    kind: str
    right: bool
    values: tuple[float, ...]
    absent: bool


@dataclass(frozen=True, slots=True)
class Quoted:
    """What was quoted: its ``text``, the documents it is of, the signals of its chance; ``absent`` as in ``Case``."""

    text: str
    documents: tuple[str, ...]
    values: tuple[float, ...]
    absent: bool


def main(data: Path) -> None:
    embedder = MiniLM()
    cases = {}
    for name in SETS:
        with tempfile.TemporaryDirectory() as folder:
            ingest(_documents(data / name), target=Path(folder), embedder=embedder)
            with closing(open_index(folder, embedder=embedder)) as index:
                cases[name] = list(_cases(data, name, index, embedder))
    print(f"{'left out':16}" + "  ".join(f"{name:>9}" for name in COLUMNS))
    for name in SETS:
        weights = _fit([cases[other] for other in SETS if other != name])
        print(f"{name:16}" + _row(cases[name], weights))
    print(dict(zip((*NAMES, "intercept"), _fit(list(cases.values())).round(2).tolist(), strict=True)))


def _documents(folder: Path) -> list[Document]:
    found = []
    for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        digest = hashlib.sha256(line.encode()).hexdigest()
        if entry["text"].strip():
            fields = {"doc_id": entry["_id"], "title": entry.get("title", ""), "text": entry["text"]}
            found.append(Document(**fields, digest=digest, path=f"{entry['_id']}.txt"))
    return found


def _cases(data: Path, name: str, index: Index, embedder: MiniLM) -> Iterator[Case]:
    folder = data / name
    questions = sorted(read_queries(folder / "queries.jsonl"))
    qrels = read_qrels(folder / "qrels.tsv")
    gold = _answers(folder) if name.startswith("squad") else {}
    alike = _alike(folder, embedder) if name.startswith("covid") else {}
    for number, text in _some(questions, QUESTIONS):
        relevant = {doc_id for doc_id, score in qrels.get(number, {}).items() if score > 0}
        found = index.look([View(text)], k=2 * TOP_K)
        if quoted := _quote(found):
            near = max((alike[a] @ alike[b] for a in quoted.documents[:1] for b in relevant if alike), default=0)
            right = bool(relevant & set(quoted.documents)) or near > SAME
            if gold:
                right = any(answer in quoted.text for answer in gold[number])
            yield Case("asked", right, quoted.values, quoted.absent)
        if quoted := _quote(found, without=relevant):
            near = max((alike[a] @ alike[b] for a in quoted.documents[:1] for b in relevant if alike), default=0)
            said = any(answer.casefold() in quoted.text.casefold() for answer in gold.get(number, ()))
            if not said and near <= SIMILAR:
                yield Case("near", False, quoted.values, quoted.absent)
    far = (data / "out_of_scope" / "queries.txt").read_text(encoding="utf-8").split("\n")
    unanswerable = folder / "unanswerable.jsonl"
    near_misses = [text for _, text in read_queries(unanswerable)] if unanswerable.exists() else []
    for kind, texts in (("near", near_misses), ("far", _some([line for line in far if line], FAR))):
        for text in texts:
            if quoted := _quote(index.look([View(text)], k=TOP_K)):
                yield Case(kind, False, quoted.values, quoted.absent)


def _some[T](items: list[T], count: int) -> list[T]:
    chosen = np.random.default_rng(0).permutation(len(items))[:count]
    return [items[place] for place in chosen]


def _answers(folder: Path) -> dict[str, list[str]]:
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return {entry["_id"]: entry["answers"] for entry in map(json.loads, lines)}


def _alike(folder: Path, embedder: MiniLM) -> dict[str, Any]:
    """The vector of each entry's question."""
    documents = _documents(folder)
    vectors = embedder.embed([document.title for document in documents])
    return {document.doc_id: vector for document, vector in zip(documents, vectors, strict=True)}


def _quote(found: Found, without: Set[str] = frozenset()) -> Quoted | None:
    hits = tuple(hit for hit in found.hits if hit.chunk.doc_id not in without)[:TOP_K]
    if not hits or found.evidence is None:
        return None
    asked = found.evidence.asked
    used = TitledPacker(CONTEXT_CHARS, TitleForm(0.5, 3))(hits).used
    quoted = excerpts(used, asked.weights)
    if not quoted:
        return None
    cited = [used[excerpt.passage].hit for excerpt in quoted]
    hits_used = [passage.hit for passage in used]
    values = signals(asked, cited, hits_used)
    text = "\n".join(excerpt.text for excerpt in quoted)
    return Quoted(
        text,
        tuple(hit.chunk.doc_id for hit in cited),
        tuple(values[name] for name in NAMES),
        bool(not_mentioned(asked, hits_used)),
    )


def _table(cases: list[Case]) -> tuple[Floats, Floats, Floats]:
    """Signals and a column of ones, whether each is right, and what each counts: all of a corpus together 1."""
    rows = np.array([(*case.values, 1.0) for case in cases])
    right = np.array([float(case.right) for case in cases])
    sizes: Mapping[str, int] = {kind: sum(case.kind == kind for case in cases) for kind in MIX}
    counts = np.array([MIX[case.kind] / sizes[case.kind] for case in cases])
    return rows, right, counts / counts.sum()


def _fit(sets: list[list[Case]]) -> Floats:
    """The weights of the signals and the intercept: Newton's method, a little ridge for the weights."""
    rows, right, counts = (np.concatenate(column) for column in zip(*map(_table, sets), strict=True))
    scale = np.append(rows[:, :-1].std(axis=0), 1.0)
    rows = rows / scale
    ridge = 1e-3 * counts.sum() * np.diag([*[1.0] * len(NAMES), 0.0])
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (counts * (right - chance)) - ridge @ weights
        curve = (rows.T * (counts * chance * (1 - chance))) @ rows + ridge
        weights += np.linalg.solve(curve, slope)
    return np.asarray(weights / scale)


def _row(cases: list[Case], weights: Floats) -> str:
    rows, right, counts = _table(cases)
    chance = probability(rows @ weights)
    kinds = np.array([case.kind for case in cases])
    absent = np.array([case.absent for case in cases])
    good = right > 0
    figures = (
        above(chance[good], chance[~good]),
        above(chance[good], chance[~good & (kinds != "far")]),
        calibration_error(chance, right, counts),
        np.mean(chance[good] >= 0.5),
        np.mean(chance[good] >= 0.75),
        np.mean(chance[kinds == "near"] >= 0.5),
        np.mean(chance[kinds == "far"] >= 0.5),
        np.mean(absent[good]),
        np.mean(absent[kinds == "near"]),
    )
    return "  ".join(f"{figure:9.3f}" for figure in figures)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
