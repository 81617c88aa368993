"""Whether right answers look right: doubles for a language model, whose answers are known to be right or not.

``research.doubles`` says what they answer, ``research.oracle`` counts how sure the service is of it.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import real_model
from evaluation.rates import public_data, report, report_score
from faults.drawing import by_night
from research.doubles import Doubles, Problem, public_problems, sample_problems
from research.oracle import TRUE, WRITTEN, ask_altered, figures

from knowledge.read.documents import read
from rag.wiring import build_application
from ragctl.options import read_settings

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

QUESTIONS = by_night(20, 200)
SAMPLES: Mapping[str, Mapping[str, float]] = {
    "waypoint": {"right": 0.8, "right High": 0.45, "right returned": 0.85, "no last": 0.9, "AUROC": 0.72},
    "gacounts": {"right": 0.77, "right High": 0.5, "right returned": 0.84, "no last": 0.9, "AUROC": 0.77},
    "clockify": {"right": 0.8, "right High": 0.35, "right returned": 0.86, "no last": 0.9, "AUROC": 0.75},
}
PUBLIC: Mapping[str, Mapping[str, float]] = {
    "squad_v11_dev": {"right": 0.85, "no last": 0.9, "no second": 0.6, "AUROC": 0.84},
    "clapnq_dev": {"right": 0.9, "no last": 0.9, "no second": 0.8, "AUROC": 0.85},
}
"""Floors of ``research.oracle``'s figures; those of an error are of its rest to 1, and begin with "no"."""
ALTERED_QUESTIONS = by_night(25, 200)
HIGH = {TRUE: 0.7, WRITTEN: 0.2}
NOT_HIGH, EACH, WORST = 0.95, 0.85, {"a condition left out": 0.6}
"""Of the answers with one thing changed so many are not High, of all together and of each kind."""


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What this machine sets is not meant; what ``read_settings`` sets is taken back."""
    for name in [name for name in os.environ if name.startswith(("LLM_", "RAG_", "STORE_", "INDEX_", "RETRIEVER"))]:
        monkeypatch.delenv(name)
    yield
    for name in ("RAG_PROFILE", "INDEX_URI"):
        os.environ.pop(name, None)


@pytest.mark.parametrize("name", SAMPLES)
def test_of_a_sample(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    index = real_model.sample_index(name, tmp_path_factory)
    hold(name, index, name, sample_problems(real_model.SAMPLES / name), SAMPLES[name])


@pytest.mark.parametrize("name", by_night(("clapnq_dev",), PUBLIC))
def test_of_a_public_set(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = public_data(name)
    there = {passage.doc_id for passage in read([data / "corpus.jsonl"]).documents[: real_model.PASSAGES]}
    problems = public_problems(data, QUESTIONS, there.__contains__)
    hold(name, real_model.public_index(data, tmp_path_factory), "waypoint", problems, PUBLIC[name])


def test_of_false_statements_that_are_cited_rightly(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = public_data("clapnq_dev")
    there = {passage.doc_id for passage in read([data / "corpus.jsonl"]).documents[: real_model.PASSAGES]}
    problems = public_problems(data, ALTERED_QUESTIONS, there.__contains__)
    index = real_model.public_index(data, tmp_path_factory)
    service = build_application(read_settings(index=str(index), profile="waypoint"))
    levels: dict[str, list[str]] = defaultdict(list)
    for told in ask_altered(service, problems):
        levels[told.double].append(told.answer.confidence.level)
    service.index.handle.close()
    for kind, floor in HIGH.items():
        own = levels.pop(kind)
        report(f"High: {kind}", own.count("High"), len(own), floor)
    for kind, own in levels.items():
        report(f"not High: {kind}", len(own) - own.count("High"), len(own), WORST.get(kind, EACH))
    every = [level for own in levels.values() for level in own]
    report("not High: all that is altered", len(every) - every.count("High"), len(every), NOT_HIGH)


def hold(name: str, index: Path, profile: str, problems: Iterator[Problem], floors: Mapping[str, float]) -> None:
    """Ask, print the figures, and hold those that have a floor to it."""
    service = build_application(read_settings(index=str(index), profile=profile))
    doubles = Doubles(service.pipeline)
    found = figures(told for problem in problems for told in doubles.answers(problem))
    found |= {f"no {figure}": 1 - value for figure, value in found.items()}
    service.index.handle.close()
    for figure, floor in floors.items():
        report_score(f"{name}: {figure}", found[figure], floor)
