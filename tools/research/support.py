"""Fit the weights of ``knowledge.search.support``, which tell supported statements from others.

``python -m research.support DATA [LABELLED.jsonl ...]``: ``DATA`` is the folder ``../shared/data``.
``.index/support`` keeps the indexes.

The statements come from a folder in BEIR's layout, or of Markdown pages: true ones with their passage, the same with a
similar passage, and altered ones (``research.alterations``). A labelled set is a file of JSON lines {statement,
passages, supported, reply?}: people's verdicts on replies of language models; ``reply`` is the reply's id.

The fit uses half of the questions of clapnq_dev, and the labelled sets with equal weights.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluate.question_files import read_qrels, read_queries
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import Chunk, Claim, View
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.read.documents import read
from research.alterations import MAX_LENGTH, MIN_LENGTH, StatementAlterer, split_sentences
from research.regression import Floats, fit_scaled_logistic

INDEXES = Path(".index/support")
TAKEN, WRITTEN, REPLY = "taken from the passage", "written by people", "reply of a language model"
AS_IT_IS, ELSEWHERE = "as it is", "another, similar passage"
SAMPLE = 300
"""Statements drawn from a source without answers by people, or with more than ten times as many."""
FITTED = "clapnq_dev"
LABELLED_WEIGHT, ALTERED_SHARE = 200, 0.35
"""The weight of a labelled set, and the share of altered statements in the weight of its false ones."""
SIGNALS = ("together", "weakest", "names", "differences")

type Mask = NDArray[np.bool_]
type ChunksById = Mapping[str, Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class LabelledStatement:
    """A statement, the chunks that it is compared with, and whether they support it.

    ``origin`` is ``TAKEN``, ``WRITTEN`` or ``REPLY``; ``kind`` is ``AS_IT_IS``, ``ELSEWHERE`` or the alteration's;
    ``group`` is the id of its question or reply.
    """

    text: str
    chunks: Sequence[Chunk]
    origin: str
    question: str
    group: str
    kind: str = AS_IT_IS
    supported: bool = True

    def alterations(self, alterer: StatementAlterer) -> Iterator[LabelledStatement]:
        """Yield the statement with each applicable alteration."""
        for kind, text in alterer.alter(self.text, self.chunks):
            yield replace(self, text=text or self.text, kind=kind, supported=False)


def open_cached_index(source: Path, model: MiniLM) -> EmbeddedIndex:
    """Open the index of ``source`` in ``INDEXES``; the first call builds it."""
    target = INDEXES / source.stem
    if not target.exists():
        corpus = _write_corpus(source) if source.is_file() else source / "corpus.jsonl"
        ingest(read([corpus if corpus.exists() else source / "pages"]).documents, target=target, embedder=model)
    return open_index(target, embedder=model)


def _write_corpus(labelled: Path) -> Path:
    corpus = INDEXES / f"{labelled.stem}.jsonl"
    corpus.parent.mkdir(parents=True, exist_ok=True)
    texts = dict.fromkeys(text for line in labelled.open(encoding="utf-8") for text in json.loads(line)["passages"])
    rows = (json.dumps({"_id": _passage_id(text), "title": "", "text": text}) + "\n" for text in texts)
    corpus.write_text("".join(rows), encoding="utf-8")
    return corpus


def _passage_id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_statements(source: Path, index: EmbeddedIndex, *, every: int = 1) -> Iterator[LabelledStatement]:
    """Yield the statements of a labelled file, or of one in ``every`` questions of a folder."""
    chunks: dict[str, list[Chunk]] = {}
    for chunk in index.iter_chunks():
        chunks.setdefault(chunk.doc_id, []).append(chunk)
    alterer = StatementAlterer.from_index(index)
    if source.is_file():
        yield from _read_labelled_file(source, chunks, alterer)
        return
    has_answers = (source / "answers.jsonl").exists()
    true = list(_read_answers(source, chunks) if has_answers else _draw_sentences(chunks, alterer.generator))
    if len(true) > 10 * SAMPLE:
        true = alterer.generator.sample(true, SAMPLE)
    groups = set(sorted({statement.group for statement in true})[::every])
    for statement in (statement for statement in true if statement.group in groups):
        yield statement
        if (document := _find_similar_document(statement, index, chunks)) is not None:
            yield replace(statement, chunks=chunks[document], kind=ELSEWHERE, supported=False)
        yield from statement.alterations(alterer)


def _read_labelled_file(source: Path, chunks: ChunksById, alterer: StatementAlterer) -> Iterator[LabelledStatement]:
    for number, line in enumerate(source.open(encoding="utf-8")):
        row = json.loads(line)
        own = [chunk for text in row["passages"] for chunk in chunks[_passage_id(text)]]
        group, supported = str(row.get("reply", number)), bool(row["supported"])
        statement = LabelledStatement(row["statement"], own, REPLY, "", group, supported=supported)
        yield statement
        if supported:
            yield from statement.alterations(alterer)


def _read_answers(source: Path, chunks: ChunksById) -> Iterator[LabelledStatement]:
    """Yield sentences that people selected, and those with an answer's span or else those that people wrote."""
    questions = dict(read_queries(source / "queries.jsonl"))
    qrels = read_qrels(source / "qrels.tsv")
    for line in (source / "answers.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        own = chunks[next(iter(qrels[row["_id"]]))]
        selected = dict.fromkeys(text for texts in row.get("selected_sentences", ()) for text in texts)
        origins = [(sentence, TAKEN) for sentence in selected]
        if "answer_starts" in row:
            text, start = own[0].text, row["answer_starts"][0]
            spans = ((sentence, text.find(sentence)) for sentence in split_sentences(text))
            origins += [(found, TAKEN) for found, begin in spans if begin <= start < begin + len(found)]
        else:
            written = dict.fromkeys(sentence for answer in row["answers"] for sentence in split_sentences(answer))
            origins += [(sentence, WRITTEN) for sentence in written]
        for sentence, origin in origins:
            yield LabelledStatement(sentence, own, origin, questions[row["_id"]], row["_id"])


def _draw_sentences(chunks: ChunksById, generator: random.Random) -> Iterator[LabelledStatement]:
    """Yield a random sentence of each of ``SAMPLE`` random documents."""
    for document in generator.sample(sorted(chunks), min(SAMPLE, len(chunks))):
        chunk = generator.choice(chunks[document])
        if sentences := [text for text in split_sentences(chunk.text) if MIN_LENGTH <= len(text) <= MAX_LENGTH]:
            text = generator.choice(sentences)
            yield LabelledStatement(text, [chunk], TAKEN, f"{chunk.title} {text}", document)


def _find_similar_document(statement: LabelledStatement, index: EmbeddedIndex, chunks: ChunksById) -> str | None:
    """Return the best other document for the statement's question that does not contain the statement."""
    own = {chunk.doc_id for chunk in statement.chunks}
    text = " ".join(statement.text.split())
    for hit in index.search([View(statement.question)], k=20).hits:
        document = hit.chunk.doc_id
        if document not in own and not any(text in " ".join(chunk.text.split()) for chunk in chunks[document]):
            return document
    return None


@dataclass(frozen=True, slots=True, eq=False)
class StatementSignals:
    """The signals of the statements of a set: ``rows`` has shape (statements, signals)."""

    rows: Floats
    supported: Mask
    origin: NDArray[np.str_]
    kind: NDArray[np.str_]
    first_half: Mask

    def select_false(self, origin: str, kind: str) -> Mask:
        """Select the false statements of that origin and kind."""
        return np.asarray(~self.supported & (self.origin == origin) & (self.kind == kind))


def compute_signals(source: Path, model: MiniLM) -> StatementSignals:
    """Return the signals of every statement of ``source``."""
    rows = []
    with closing(open_cached_index(source, model)) as index:
        search = index._late_search
        assert search is not None  # noqa: S101 - a fresh index has it
        statements = [one for one in read_statements(source, index) if one.chunks]
        for one in statements:
            # The signals behind ``Index.support``, which returns chances made of them.
            signals = search.comparison([Claim(one.text)], one.chunks).signals(0, range(len(one.chunks)))
            rows.append([signals[name] for name in SIGNALS])
    return StatementSignals(
        rows=np.array(rows),
        supported=np.array([one.supported for one in statements]),
        origin=np.array([one.origin for one in statements]),
        kind=np.array([one.kind for one in statements]),
        first_half=np.array([hashlib.sha256(one.group.encode()).digest()[0] % 2 == 0 for one in statements]),
    )


def weigh_statements(
    fitted: StatementSignals, labelled: Iterable[StatementSignals]
) -> list[tuple[StatementSignals, Floats]]:
    """Return each set with a weight per statement; 0 leaves a statement out of the fit."""
    half = fitted.first_half
    weights = _distribute([(half & fitted.supported, 500.0)])
    wrong = [half & fitted.select_false(origin, kind) for origin in (TAKEN, WRITTEN) for kind in set(fitted.kind)]
    wrong = [mask for mask in wrong if mask.any()]
    result = [(fitted, weights + _distribute([(mask, 500 / len(wrong)) for mask in wrong]))]
    for one in labelled:
        unaltered = one.select_false(REPLY, AS_IT_IS)
        altered = ~one.supported & ~unaltered
        masks = [(one.supported, 1.0), (unaltered, 1 - ALTERED_SHARE), (altered, ALTERED_SHARE)]
        result.append((one, _distribute([(mask, LABELLED_WEIGHT * share) for mask, share in masks])))
    return result


def _distribute(masks: Sequence[tuple[Mask, float]]) -> Floats:
    """Distribute each mask's weight equally over its statements."""
    weights = np.zeros(len(masks[0][0]))
    for mask, weight in masks:
        weights[mask] = weight / max(1, int(mask.sum()))
    return weights


def fit(data: Path, *labelled: Path) -> None:
    """Fit and print the weights of ``SIGNALS`` and the intercept."""
    model = MiniLM(threads=2)
    fitted_set, *labelled_sets = [compute_signals(source, model) for source in (data / FITTED, *labelled)]
    sets = weigh_statements(fitted_set, labelled_sets)
    rows = np.concatenate([one.rows[weights > 0] for one, weights in sets])
    labels = np.concatenate([one.supported[weights > 0] for one, weights in sets]).astype(np.float64)
    fitted = fit_scaled_logistic(rows, labels, np.concatenate([weights[weights > 0] for _, weights in sets]))
    print("weights", dict(zip([*SIGNALS, "intercept"], fitted.round(2).tolist(), strict=True)))


if __name__ == "__main__":
    fit(*map(Path, sys.argv[1:]))
