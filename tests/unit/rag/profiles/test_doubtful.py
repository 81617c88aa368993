"""DOUBTFUL: who answers a question that the index may not know, and that the trail says so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import FakeChat, FakeIndex, deadline, make_evidence, make_hit, make_inputs, make_writer

from knowledge.model.values import SearchResult
from rag.config.settings import load
from rag.pipeline import Pipeline
from rag.profiles import PROFILES
from rag.values.question import Question, SearchQuery

HIT = make_hit("A permit takes five working days.", title="Permits", section="Time")
DOUBTED = replace(make_evidence(0.5, bar=1.0), doubt=0.2)


def line(profile: str, **environ: str) -> Pipeline:
    shape = PROFILES[profile]
    inputs = make_inputs(FakeIndex((HIT,)), make_writer(FakeChat(*["Five days."] * 9), "{context}"))
    made = shape.build(load(shape.knobs, environ), inputs)
    return replace(made, retrieve=found, refine=())


def found(query: SearchQuery) -> SearchResult:
    return SearchResult((HIT,), DOUBTED)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("environ", "writes"),
    [
        ({"DOUBTFUL": "ask"}, "model"),
        ({"DOUBTFUL": "quote"}, "extractive"),
        ({"DOUBTFUL": "decline"}, None),
        ({"RELEVANCE_THRESHOLD": "0.99"}, None),
    ],
)
def test_who_answers_where_there_is_doubt(profile: str, environ: dict[str, str], writes: str | None) -> None:
    answer = line(profile, **environ).run(Question(text="How long does a permit take?"), deadline=deadline())

    made = answer.completion
    assert (made and ("extractive" if made.model == "extractive" else "model")) == writes
    assert answer.refused is (writes is None)
    if writes:
        assert answer.trail[0].startswith("doubtful: the closest was 'Permits > Time'")
