"""Fit the two regressions of ``rag.answer.confidence``.

``python -m research.confidence quotes DATA CACHE`` fits ``QUOTE_WEIGHTS``, which tell whether the extractive writer's
quotes are right, among answers that pass the gate. It reads ``DATA/{clapnq_dev,squad_v11_dev,covid_faq,out_of_scope}``;
the folder ``CACHE`` keeps the indexes. Each set counts the same; the kinds in it have the shares of ``MIX``.

``python -m research.confidence languages DATA CACHE`` fits ``OTHER_WEIGHTS`` on the German, Polish, Italian and Swedish
entries of ``DATA/covid_faq/faq_all.jsonl``: the title of an entry is the question to the texts of all, which have none.

``python -m research.confidence rated FOLDER`` fits the confidence in a model's answer on answers that people rated, and
tests the fit on conversations that were left out. It takes half a minute. ``FOLDER`` has ``corpus.jsonl`` and
``rated.jsonl``: a line has the ``turns`` of a conversation, a model's ``answer`` to the last one and its
``faithfulness`` by several people, 1 to 4. Each sentence is cited to the packed passage that shares most of its words.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from evaluate.intervals import auroc
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.manifest import MANIFEST_NAME
from knowledge.read.documents import read
from rag.answer.confidence import FAITHFUL_HIGH, FAITHFUL_MEDIUM, answer_signals, mean_support
from rag.answer.finish import FinishedAnswer
from rag.find.gate import EvidenceGate
from rag.ledger import Ledger
from rag.pipeline import Pipeline
from rag.text.stems import content_stems
from rag.values.answer import Answer, Confidence, Passage, Proceed
from rag.values.chat import Completion, Deadline
from rag.values.question import Question, Turn
from rag.wiring.application import build_application
from ragctl.options import read_settings
from research.regression import Floats, fit_scaled_logistic
from research.simulated_answers import (
    ANSWERABLE,
    FAR_OFF,
    NEAR_MISS,
    QUOTES,
    EvaluationQuestion,
    WriterSimulation,
    is_indexed,
    read_public_questions,
)

SETS = ("squad_v11_dev", "clapnq_dev", "covid_faq")
LANGUAGES, LEAST_CHARS = ("de", "pl", "it", "sv"), 60
"""The languages of COVID FAQ beside English, and the least length of an entry: shorter ones are links."""
QUESTIONS, FAR_QUESTIONS = 150, 60
RIGHT, OTHER = "right", "other"
MIX: Mapping[str, float] = {RIGHT: 0.7, OTHER: 0.2, NEAR_MISS: 0.08, FAR_OFF: 0.02}
"""Of 199 quotes for people's questions to four samples .71 are right and .17 are not; .13 answer near misses, some of
them already Low because the documents do not mention a word of the question."""

MIN_SHARED = 0.25
"""Least share of a sentence's words in a passage for the sentence to cite it."""
FOLDS = 10
FAITHFUL, PARTLY = 4, 3
"""Least ratings of faithful and of partly faithful answers; the latter count half."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"(])")


class SignalRecorder:
    """Replacement for a profile's confidence that records the signals."""

    values: Mapping[str, float] | None = None

    def __call__(self, answer: FinishedAnswer, gate: Proceed) -> Confidence:
        """Record the signals; the confidence is not used."""
        self.values = answer_signals(answer, gate)
        return Confidence("Low", 0.0, "")


def collect_quote_signals(data: Path, cache: Path, name: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the kind and the signals of each quote for a question of the public set ``name``."""
    recorder = SignalRecorder()
    if not (cache / name / MANIFEST_NAME).exists():
        documents = [one for one in read([data / name / "corpus.jsonl"]).documents if is_indexed(one.doc_id)]
        ingest(documents, target=cache / name, embedder=MiniLM())
    service = build_application(read_settings(index=str(cache / name), profile="waypoint"))
    simulation = WriterSimulation(replace(service.pipeline, score=recorder))
    lines = (data / "out_of_scope" / "queries.txt").read_text(encoding="utf-8").splitlines()
    far = [EvaluationQuestion(text, FAR_OFF) for text in [*filter(None, lines)][:FAR_QUESTIONS]]
    for question in [*read_public_questions(data / name, QUESTIONS), *far]:
        # COVID FAQ's entries repeat each other, so that its near misses may have answers.
        is_labelled = not (name.startswith("covid") and question.kind == NEAR_MISS)
        recorder.values = None
        for simulated in simulation.answer_by_all(question):
            kind = RIGHT if simulated.is_right else OTHER if question.kind == ANSWERABLE else question.kind
            if recorder.values is not None and simulated.strategy == QUOTES and is_labelled:
                yield kind, recorder.values
            recorder.values = None


def collect_other_signals(data: Path, cache: Path, language: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the kind and the signals of each quote for the title of an entry in ``language``; one in eight is left out.

    Quotes from another entry count as other than right, though some say the same; doubtful ones are left out.
    """
    lines = (data / "covid_faq" / "faq_all.jsonl").read_text(encoding="utf-8").splitlines()
    own = [row for row in map(json.loads, lines) if row["metadata"]["lang"] == language]
    long = [row for row in own if len(row["text"]) >= LEAST_CHARS]
    bare = [{"_id": row["_id"], "title": "", "text": row["text"]} for row in long if is_indexed(row["_id"])]
    (cache / f"{language}.jsonl").write_text("\n".join(map(json.dumps, bare)), encoding="utf-8")
    ingest(read([cache / f"{language}.jsonl"]).documents, target=cache / language, embedder=MiniLM())
    recorder = SignalRecorder()
    service = build_application(read_settings(index=str(cache / language), profile="house"))
    pipeline = replace(service.pipeline, score=recorder, gate=EvidenceGate(doubts=False))
    for row in long:
        recorder.values = None
        answer = pipeline.run(Question(text=row["title"]), deadline=Deadline.after(600.0, time.perf_counter))
        cited = {hit.chunk.doc_id for citation in answer.citations for hit in citation.hits}
        if recorder.values is not None:
            yield RIGHT if row["_id"] in cited else OTHER if is_indexed(row["_id"]) else NEAR_MISS, recorder.values
    service.index.handle.close()


def fit_quotes(sets: Iterable[Sequence[tuple[str, Mapping[str, float]]]], names: Sequence[str]) -> None:
    """Fit and print weights of the signals ``names`` and the intercept, by the quotes of each of ``sets``."""
    rows: list[list[float]] = []
    is_right: list[float] = []
    weights: list[float] = []
    for quotes in ([(kind, values) for kind, values in found if kind in MIX] for found in sets):
        sizes = Counter(kind for kind, _ in quotes)
        shares = np.array([MIX[kind] / sizes[kind] for kind, _ in quotes])
        rows += [[values[name] for name in names] for _, values in quotes]
        is_right += [float(kind == RIGHT) for kind, _ in quotes]
        weights += (shares / shares.sum()).tolist()
    scaled = np.array(weights) * len(rows) / sum(weights)
    theta = fit_scaled_logistic(np.array(rows), np.array(is_right), scaled)
    print(dict(zip([*names, "intercept"], theta.round(2).tolist(), strict=True)))


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """The service's answer made of a rated one, its median ``rating`` by people, and its ``conversation``."""

    conversation: str
    rating: float
    answer: Answer

    @property
    def label(self) -> float:
        """1 for a faithful answer, 0 for an unfaithful one."""
        return min(1.0, max(0.0, (self.rating - PARTLY + 1) / 2)) if self.rating >= PARTLY else 0.0


def read_rated_answers(
    folder: Path, pipeline: Pipeline, announce: Callable[[float], None] = lambda _: None
) -> Iterator[RatedAnswer]:
    """Put each rated answer through ``pipeline``, whose index is the folder's corpus; refusals are left out.

    Quotes never replace an answer, since the support of the rated answer is measured. ``announce`` is called with the
    rating before each answer.
    """
    pipeline = replace(pipeline, quote=None)
    for line in (folder / "rated.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rating = median(row["faithfulness"])
        announce(rating)
        ledger = Ledger(time.perf_counter, Deadline.after(600.0, time.perf_counter))
        texts = [turn["content"] for turn in row["turns"]]
        before = zip(texts[:-1:2], texts[1:-1:2], strict=True)
        turns = tuple(Turn(question=question, answer=answer, at=0.0) for question, answer in before)
        prepared = pipeline.prepare(Question(text=texts[-1], turns=turns), ledger)
        if prepared.context is not None:
            text = _cite_sentences(row["answer"], prepared.context.passages)
            answer = pipeline.finish(prepared, Completion(text=text, model="recorded", finish_reason="stop"), ledger)
            if not answer.refused:
                yield RatedAnswer(row["task"].partition("<")[0], rating, answer)


def _cite_sentences(text: str, passages: Sequence[Passage]) -> str:
    """Cite each sentence to the passage that shares most of its words."""
    stems = [(passage.citation, content_stems(passage.text)) for passage in passages]

    def cite(sentence: str) -> str:
        words = content_stems(sentence)
        citation, shared = max(((citation, len(words & own)) for citation, own in stems), key=lambda pair: pair[1])
        return f"{sentence} {citation}" if len(words) > 1 and shared >= MIN_SHARED * len(words) else sentence

    return "\n".join(" ".join(map(cite, _SENTENCE_END.split(line))) for line in text.split("\n"))


def _mean_supports(rated: Sequence[RatedAnswer]) -> Floats:
    return np.array([mean_support(one.answer.statements) for one in rated])


def _labels(rated: Sequence[RatedAnswer]) -> Floats:
    return np.array([one.label for one in rated])


def fit_faithfulness(support: Floats, labels: Floats) -> tuple[float, float]:
    """Return weight and intercept of a regression over the mean support."""
    weight, intercept = fit_scaled_logistic(support[:, np.newaxis], labels, np.ones(len(labels)))
    return float(weight), float(intercept)


def cross_validate(rated: Sequence[RatedAnswer]) -> Floats:
    """Return each answer's chance by a fit to the other conversations, in ten folds."""
    support, labels = _mean_supports(rated), _labels(rated)
    names = sorted({one.conversation for one in rated})
    order = np.random.default_rng(0).permutation(len(names)) % FOLDS
    folds = np.array([order[names.index(one.conversation)] for one in rated])
    chances = np.zeros(len(rated))
    for fold in range(FOLDS):
        is_tested = folds == fold
        weight, intercept = fit_faithfulness(support[~is_tested], labels[~is_tested])
        chances[is_tested] = 1 / (1 + np.exp(-weight * support[is_tested] - intercept))
    return chances


def summarise_faithfulness(rated: Sequence[RatedAnswer], chances: Floats) -> dict[str, float]:
    """Return shares of levels and of marked answers among faithful and unfaithful ones, and their AUROC."""
    ratings = np.array([one.rating for one in rated])
    marked = np.array([any(claim.support == "unsupported" for claim in one.answer.statements) for one in rated])
    groups = {"faithful": ratings >= FAITHFUL, "unfaithful": ratings < PARTLY}
    figures: dict[str, float] = {}
    for name, group in groups.items():
        figures[f"{name} High"] = float(np.mean(chances[group] >= FAITHFUL_HIGH))
        figures[f"{name} Low"] = float(np.mean(chances[group] < FAITHFUL_MEDIUM))
        figures[f"{name} marked"] = float(np.mean(marked[group]))
    compared = groups["faithful"] | groups["unfaithful"]
    figures["AUROC"] = auroc(np.column_stack([chances[compared], groups["faithful"][compared]]))
    labels = _labels(rated)
    figures["faithful of High"] = float(labels[chances >= FAITHFUL_HIGH].mean())
    figures["faithful of Low"] = float(labels[chances < FAITHFUL_MEDIUM].mean())
    return figures


def fit_rated(folder: Path) -> None:
    """Fit and print weight and intercept, and the figures of answers that the fit has not seen."""
    with tempfile.TemporaryDirectory() as place:
        index = Path(place) / "index"
        ingest(read([folder / "corpus.jsonl"]).documents, target=index, embedder=MiniLM())
        service = build_application(read_settings(index=str(index), profile="house"))
        rated = list(read_rated_answers(folder, service.pipeline))
        service.index.handle.close()
    weight, intercept = fit_faithfulness(_mean_supports(rated), _labels(rated))
    print(f"{len(rated)} answers: weight {weight:.2f}, intercept {intercept:.2f}")
    for name, value in summarise_faithfulness(rated, cross_validate(rated)).items():
        print(f"{name:20} {value:.3f}")


if __name__ == "__main__":
    command, *folders = sys.argv[1:]
    if command == "quotes":
        data, cache = map(Path, folders)
        fit_quotes((list(collect_quote_signals(data, cache, name)) for name in SETS), ["coverage", "lead", "cosine"])
    elif command == "languages":
        data, cache = map(Path, folders)
        fit_quotes((list(collect_other_signals(data, cache, name)) for name in LANGUAGES), ["lead"])
    else:
        fit_rated(*map(Path, folders))
