"""Whether right answers look right: the confidence in simulated answers, which are known to be right or not.

``research.simulated_answers`` says what they are and counts how sure the service is of them.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import real_model
from evaluation.rates import indexed_ids, public_data, report, report_score
from fakes import Unconnected
from faults.drawing import by_night
from research.confidence import FAITHFUL, cross_validate, read_rated_answers, summarise_faithfulness
from research.simulated_answers import (
    TRUE,
    WRITTEN,
    EvaluationQuestion,
    WriterSimulation,
    answer_altered,
    read_public_questions,
    read_sample_questions,
    summarise_confidence,
)

from evaluate.intervals import auroc_of_samples
from knowledge.build.ingest import ingest
from knowledge.read.documents import read
from rag.answer.check import Judge
from rag.values.chat import Completion, Message
from rag.wiring.application import build_application
from ragctl.options import read_settings

pytestmark = [pytest.mark.slow, pytest.mark.sampled, pytest.mark.usefixtures("no_settings")]

QUESTIONS = by_night(20, 200)
EVERY = by_night(3, 1)
"""One in so many of the questions of a sample."""
CONVERSATIONS = by_night(2, 1)
"""One in so many of those that people rated answers in."""
SAMPLES = ("waypoint", "gacounts", "clockify")
OF_SAMPLES = {"right": 0.97, "right High": 0.6, "right returned": 0.95}
PUBLIC = ("squad_v11_dev", "clapnq_dev")
OF_PUBLIC = {"right": 0.95, "right High": 0.8}
"""Floors of ``summarise_confidence``'s figures. Whether a true sentence answers the question is not told: ADR 37."""
ALTERED_QUESTIONS = by_night(25, 200)
HIGH = {TRUE: 0.85, WRITTEN: 0.6}
LOW = {"a number changed": 0.8}
"""Of the answers with a number that no passage has so many are Low."""
RATED = {"faithful High": 0.6, "AUROC": 0.87, "unfaithful Low": 0.48}
AT_MOST = {"faithful Low": 0.12, "faithful marked": 0.15, "unfaithful High": 0.1}
"""Floors and ceilings of ``summarise_faithfulness``'s figures, for answers of real models that people rated."""
LEVELS = ("Low", "Medium", "High")


@pytest.mark.parametrize("name", SAMPLES)
def test_of_a_sample(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    index = real_model.sample_index(name, tmp_path_factory)
    questions = islice(read_sample_questions(real_model.SAMPLES / name), 0, None, EVERY)
    hold(name, index, name, questions, OF_SAMPLES)


@pytest.mark.parametrize("name", by_night(PUBLIC[1:], PUBLIC))
def test_of_a_public_set(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = public_data(name)
    questions = read_public_questions(data, QUESTIONS, indexed_ids(data).__contains__)
    hold(name, real_model.public_index(data, tmp_path_factory), "waypoint", questions, OF_PUBLIC)


def test_of_statements_with_one_thing_changed(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = public_data("clapnq_dev")
    questions = read_public_questions(data, ALTERED_QUESTIONS, indexed_ids(data).__contains__)
    index = real_model.public_index(data, tmp_path_factory)
    service = build_application(read_settings(index=str(index), profile="house"))
    levels: dict[str, list[str]] = defaultdict(list)
    for simulated in answer_altered(service, questions):
        levels[simulated.strategy].append(simulated.answer.confidence.level)
    service.index.handle.close()
    for level, floors in (("High", HIGH), ("Low", LOW)):
        for kind, floor in floors.items():
            report(f"{level}: {kind}", levels[kind].count(level), len(levels[kind]), floor)


def test_of_answers_of_real_models(tmp_path: Path) -> None:
    data = public_data("mtrag_rated")
    ingest(read([data / "corpus.jsonl"]).documents, target=tmp_path / "index", embedder=real_model.model())
    service = build_application(read_settings(index=str(tmp_path / "index"), profile="house"))
    (tmp_path / "rated.jsonl").write_text("\n".join(_some_conversations(data / "rated.jsonl")), encoding="utf-8")
    rated = list(read_rated_answers(tmp_path, service.pipeline))
    service.index.handle.close()
    found = summarise_faithfulness(rated, cross_validate(rated))
    for figure, floor in RATED.items():
        report_score(f"rated answers: {figure}", found[figure], floor)
    for figure, most in AT_MOST.items():
        report_score(f"rated answers, the others of: {figure}", 1 - found[figure], 1 - most)


def _some_conversations(rated: Path) -> Iterator[str]:
    """The lines of one in ``CONVERSATIONS``."""
    lines = rated.read_text(encoding="utf-8").splitlines()
    names = [str(json.loads(line)["task"]).partition("<")[0] for line in lines]
    some = set(sorted(set(names))[::CONVERSATIONS])
    return (line for line, name in zip(lines, names, strict=True) if name in some)


@pytest.mark.parametrize(("judge", "lowest_true", "highest_false"), [(None, 1, 2), ("honest", 1, 0), ("lying", 1, 2)])
def test_of_true_and_false_statements_in_own_words(
    judge: str | None, lowest_true: int, highest_false: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = public_data("own_words")
    index = real_model.sample_index("house", tmp_path_factory)
    service = build_application(read_settings(index=str(index), profile="house"))
    pipeline = service.pipeline
    chat = TruthfulJudge(is_lying=judge == "lying")
    if judge:
        asked = Judge(chat=chat, template="{passages} {statements}", budget_s=60.0, selective=True)
        pipeline = replace(pipeline, answering=replace(pipeline.answering, judge=asked))
    rated = list(read_rated_answers(data, pipeline, chat.rating_of))
    service.index.handle.close()
    true = [one.answer.confidence for one in rated if one.rating == FAITHFUL]
    false = [one.answer.confidence for one in rated if one.rating != FAITHFUL]
    assert min(LEVELS.index(one.level) for one in true) >= lowest_true
    assert max(LEVELS.index(one.level) for one in false) <= highest_false
    auroc = auroc_of_samples(*(np.array([one.score for one in some]) for some in (true, false)))
    report_score(f"own words, AUROC with judge {judge}", auroc, 1.0 if judge == "honest" else 0.58)


class TruthfulJudge(Unconnected):
    """A judge that knows the truth of the answer that it is asked about, or calls everything supported."""

    model, last_error = "judge", None

    def __init__(self, *, is_lying: bool) -> None:
        self._is_lying, self._is_true = is_lying, True

    def rating_of(self, rating: float) -> None:
        """Learn how people rated the answer that comes next."""
        self._is_true = rating >= FAITHFUL

    def complete(self, messages: Sequence[Message], **_: object) -> Completion:
        """Call its one statement supported, or not."""
        word = "supported" if self._is_true or self._is_lying else "unsupported"
        return Completion(text=f"1: {word}", model=self.model)


def hold(
    name: str, index: Path, profile: str, questions: Iterator[EvaluationQuestion], floors: Mapping[str, float]
) -> None:
    """Ask, print the figures, and hold those that have a floor to it."""
    service = build_application(read_settings(index=str(index), profile=profile))
    simulation = WriterSimulation(service.pipeline)
    found = summarise_confidence(one for question in questions for one in simulation.answer_by_all(question))
    service.index.handle.close()
    for figure, floor in floors.items():
        report_score(f"{name}: {figure}", found[figure], floor)
