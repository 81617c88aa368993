"""What each constant of ``knowledge.search.late_interaction`` does.

It is told as nDCG@10 on public question sets, with bootstrap intervals.
``python -m research.ablation DATA`` reads ``DATA/<set>/{corpus,queries}.jsonl`` and ``qrels.tsv`` and prints the table
of docs/retrieval.md. It runs the formula on plain arrays (all cosines exact, no Chroma), a passage in its chunks as
ingest cuts them, with one constant changed at a time. The first run reads every chunk with the model: some minutes.
"""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluate.beir import read_qrels, read_queries
from knowledge.build.plan import Previous, plan
from knowledge.build.reading import FIT_CHUNKS, Text, texts_of
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS
from knowledge.cut.embedding_text import embed_text
from knowledge.embedding import MiniLM
from knowledge.model.values import Reading
from knowledge.read.documents import read
from knowledge.search.codes import Projection, inverse_frequencies
from knowledge.search.lexical import Lexical, write_lexical
from knowledge.search.windows import window_vectors

SETS = ("squad_v11_dev", "clapnq_dev", "covid_faq")
QUESTIONS = 1000
CUTOFF = 10
RESAMPLES = 2000

type Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The formula's constants.

    ``axes`` is the number of bits of a code; without ``bits`` the projected vectors themselves are compared. Windows
    have ``window_steps`` steps on either side of 0, and are projected on ``window_axes``, 0 for not at all.
    """

    pool: int = 50
    depth: int = 20
    bm25: float = 0.05
    late: float = 3.0
    window: float = 1.0
    window_tokens: int = 40
    window_axes: int = 0
    window_steps: int = 7
    titles: bool = True
    axes: int = 96
    bits: bool = True
    idf: bool = True


VARIANTS: Mapping[str, Constants] = {
    "as it is": Constants(),
    "dense alone": Constants(window=0, bm25=0, late=0),
    "no late interaction": Constants(late=0),
    "no windows": Constants(window=0),
    "no BM25 in the score": Constants(bm25=0),
    "no title windows": Constants(titles=False),
    "late without idf": Constants(idf=False),
    "late x 2": Constants(late=2),
    "late x 4": Constants(late=4),
    "BM25 x .025": Constants(bm25=0.025),
    "BM25 x .1": Constants(bm25=0.1),
    "depth 10": Constants(depth=10),
    "depth 50": Constants(depth=50),
    "pool 20": Constants(pool=20),
    "pool 100": Constants(pool=100),
    "windows of 24": Constants(window_tokens=24),
    "windows of 48": Constants(window_tokens=48),
    "windows of 64": Constants(window_tokens=64),
    "windows in 8 bits": Constants(window_steps=127),
    "windows of 32": Constants(window_tokens=32),
    "windows in 3 bits": Constants(window_steps=3),
    "windows on 192 axes": Constants(window_axes=192),
    "windows on 128 axes": Constants(window_axes=128),
    "windows on 96 axes": Constants(window_axes=96),
    "64 bits": Constants(axes=64),
    "192 bits": Constants(axes=192),
    "96 axes, not only their signs": Constants(bits=False),
}


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """A question set as the model read it: chunks, their documents, and the questions with what is relevant."""

    documents: Sequence[str]
    texts: Sequence[Text]
    chunks: Sequence[Reading]
    titles: Sequence[Floats | None]
    questions: Sequence[Reading]
    bm25: Sequence[Floats]
    relevant: Sequence[Mapping[str, int]]


def load(folder: Path, cache: Path) -> Corpus:
    """The set in ``folder``, read by the model once and kept in ``cache`` (a pickle of our own making)."""
    kept = cache / f"{folder.name}.pickle"
    if kept.exists():
        loaded: Corpus = pickle.loads(kept.read_bytes())  # noqa: S301 - written below
        return loaded
    model = MiniLM(threads=2)
    chunks = plan(
        read([folder / "corpus.jsonl"]).documents, previous=Previous(), max_chars=MAX_CHARS, overlap=OVERLAP_CHARS
    ).chunks
    texts = texts_of(chunks)
    qrels = read_qrels(folder / "qrels.tsv")
    asked = [(number, text) for number, text in read_queries(folder / "queries.jsonl") if number in qrels]
    asked = random.Random(0).sample(asked, min(QUESTIONS, len(asked)))  # noqa: S311 - a seeded choice
    bodies = [embed_text(text.title, text.text) for text in texts]
    lexical_folder = cache / f"{folder.name}.lexical"
    lexical = Lexical(lexical_folder, write_lexical(lexical_folder, range(len(bodies)), bodies))
    corpus = Corpus(
        documents=[chunk.doc_id for chunk in chunks],
        texts=texts,
        chunks=[_half(model.read(body)) for body in bodies],
        titles=[model.embed([text.title])[0] if text.alone and text.title else None for text in texts],
        questions=[model.read(text) for _, text in asked],
        bm25=[lexical.scores(text) for _, text in asked],
        relevant=[qrels[number] for number, _ in asked],
    )
    kept.write_bytes(pickle.dumps(corpus))
    return corpus


def _half(reading: Reading) -> Reading:
    return replace(reading, tokens=reading.tokens.astype(np.float16))


class Prepared:
    """What of a corpus does not depend on the question, for some constants."""

    def __init__(self, corpus: Corpus, constants: Constants) -> None:
        self.corpus, self.constants = corpus, constants
        self.vectors = np.stack([chunk.vector for chunk in corpus.chunks])
        chosen = np.random.default_rng(0).permutation(len(corpus.chunks))[:FIT_CHUNKS]
        sample = np.concatenate([corpus.chunks[i].tokens for i in chosen]).astype(np.float32)
        self.project = Projection.fit(sample, constants.axes)
        self._windows()
        self._codes()

    def _windows(self) -> None:
        rows, owners = [], []
        for number, (chunk, title) in enumerate(zip(self.corpus.chunks, self.corpus.titles, strict=True)):
            tokens = chunk.tokens.astype(np.float32)
            found = window_vectors(tokens, self.constants.window_tokens) if len(tokens) else chunk.vector[np.newaxis]
            if title is not None and self.constants.titles:
                found = np.vstack([found, title])
            rows.append(found)
            owners.append(np.full(len(found), number))
        self.windows = np.concatenate(rows)
        self.window_starts = np.searchsorted(np.concatenate(owners), np.arange(len(self.corpus.chunks)))
        scales = np.abs(self.windows).max(axis=1, keepdims=True) / self.constants.window_steps
        self.windows = (np.rint(self.windows / scales) * scales).astype(np.float32)
        self.window_axes = None
        if self.constants.window_axes:
            _, axes = np.linalg.eigh((self.windows.T @ self.windows).astype(np.float64))
            self.window_axes = axes[:, -self.constants.window_axes :].astype(np.float32)
            self.windows = self.windows @ self.window_axes

    def _codes(self) -> None:
        self.codes: list[Floats] = []
        pieces = []
        for chunk in self.corpus.chunks:
            unique, order = np.unique(chunk.pieces, return_inverse=True)
            sums = np.zeros((len(unique), chunk.tokens.shape[1]), dtype=np.float32)
            np.add.at(sums, order, chunk.tokens.astype(np.float32))
            means = sums / np.maximum(1, np.bincount(order, minlength=len(unique)))[:, None]
            projected = self.project(means.astype(np.float32))
            codes = np.sign(projected) if self.constants.bits else projected
            self.codes.append(codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-9))
            pieces.append(unique)
        self.idf = inverse_frequencies(np.concatenate(pieces).astype(np.uint16), len(pieces), 1 << 16)

    def ranking(self, number: int) -> list[str]:
        """The documents for question ``number``, best first."""
        constants, question, bm25 = self.constants, self.corpus.questions[number], self.corpus.bm25[number]
        dense = self.vectors @ question.vector
        pool = np.union1d(np.argsort(-dense)[: constants.pool], np.argsort(-bm25)[: constants.pool])
        pool = pool[(bm25[pool] > 0) | (dense[pool] >= np.sort(dense)[-constants.pool :][0])]
        vector = question.vector if self.window_axes is None else question.vector @ self.window_axes
        windows = np.maximum.reduceat(self.windows @ vector, self.window_starts)
        z = (bm25[pool] - bm25.mean()) / max(float(bm25.std()), 1e-3)
        base = dense[pool] + constants.window * windows[pool] + constants.bm25 * z
        order = np.argsort(-base, kind="stable")
        top = order[: constants.depth]
        projected = self.project(question.tokens)
        projected /= np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-9)
        weights = self.idf[question.pieces] if constants.idf else np.ones(len(question.pieces), dtype=np.float32)
        weights = weights / max(float(weights.sum()), 1e-9)
        late = np.array([weights @ (self.codes[row] @ projected.T).max(axis=0, initial=-1) for row in pool[top]])
        best = top[np.argsort(-(base[top] + constants.late * late), kind="stable")]
        ranked = [self.corpus.documents[row] for row in pool[np.concatenate([best, order[constants.depth :]])]]
        return list(dict.fromkeys(ranked))[:CUTOFF]


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int]) -> float:
    """nDCG@10 of one ranking (Järvelin and Kekäläinen, 2002), gains as they are judged."""
    discounts = 1 / np.log2(np.arange(2, CUTOFF + 2))
    gains = np.array([relevant.get(document, 0) for document in ranking], dtype=float)
    ideal = np.sort(np.array(list(relevant.values()), dtype=float))[::-1][:CUTOFF]
    return float(gains @ discounts[: len(gains)]) / float(ideal @ discounts[: len(ideal)])


def main() -> int:
    """Print the table; further arguments choose variants by their names."""
    data, wanted = Path(sys.argv[1]), sys.argv[2:] or list(VARIANTS)
    cache = Path(".index/ablation")
    cache.mkdir(parents=True, exist_ok=True)
    corpora = [load(data / name, cache) for name in SETS]
    generator = np.random.default_rng(0)
    usual: list[NDArray[np.float64]] = []
    print("| | " + " | ".join(SETS) + " | mean | against as it is, 95 % |\n|---|" + "---|" * (len(SETS) + 2))
    for name in ["as it is", *(name for name in wanted if name != "as it is")]:
        scores = []
        for corpus in corpora:
            prepared = Prepared(corpus, VARIANTS[name])
            scores.append(np.array([ndcg(prepared.ranking(i), judged) for i, judged in enumerate(corpus.relevant)]))
        usual = usual or scores
        means = [float(values.mean()) for values in scores]
        change = np.zeros(RESAMPLES)
        for values, before in zip(scores, usual, strict=True):
            draws = generator.integers(0, len(values), (RESAMPLES, len(values)))
            change += (values - before)[draws].mean(axis=1) / len(scores)
        low, high = np.percentile(change, [2.5, 97.5])
        figures = " | ".join(f"{mean:.3f}" for mean in [*means, float(np.mean(means))])
        print(f"| {name} | {figures} | {low:+.3f} .. {high:+.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
