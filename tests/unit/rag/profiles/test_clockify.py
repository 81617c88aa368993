"""rag.profiles.clockify: what its numbers become."""

from __future__ import annotations

import pytest
from fakes import FakeChat, FakeIndex, make_hit, make_inputs, make_writer

from rag.config.settings import load
from rag.pipeline import Pipeline
from rag.profiles.clockify import Knobs, build
from rag.values.answer import Answer, Citation, Proceed
from rag.values.draft import ConfidenceInput
from rag.values.question import Question


def test_ollamas_address_with_and_without_v1() -> None:
    for address in ("http://ollama:11434", "http://ollama:11434/", "http://ollama:11434/v1/"):
        knobs = load(Knobs, {"RAG_OLLAMA_URL": address})
        assert (knobs.llm_base_url, knobs.llm_chosen) == ("http://ollama:11434/v1", True)
    assert (Knobs().llm_base_url, Knobs().llm_chosen) == ("http://127.0.0.1:11434/v1", False)


def test_the_gate_asks_for_no_more_chunks_than_there_can_be() -> None:
    counts = {"": 2, "DEFAULT_PACK_TOP=1": 1, "DEFAULT_TOP_K=1": 1, "MIN_COVERING_CHUNKS=9": 8}
    for said, count in counts.items():
        assert load(Knobs, dict([said.split("=")] if said else [])).gate_count == count


def desk(environ: dict[str, str]) -> Pipeline:
    inputs = make_inputs(FakeIndex(), make_writer(FakeChat(), "{context}"))
    return build(load(Knobs, {"SEED_RULES": "on", **environ}), inputs)


@pytest.mark.parametrize(
    ("environ", "cosine", "level", "action"),
    [
        ({}, 0.74, "High", "return"),
        ({"ESCALATE_BELOW": "90"}, 0.6, "Low", "escalate"),
        ({"ESCALATE_BELOW": "0"}, 0.4, "Medium", "return"),
        ({"CONFIDENCE_HIGH": "99"}, 0.74, "Medium", "return"),
    ],
)
def test_levels_follow_the_routing(environ: dict[str, str], cosine: float, level: str, action: str) -> None:
    line = desk(environ)
    hits = tuple(make_hit(number=number, cosine=cosine) for number in range(4))
    cited = tuple(Citation(raw="", title="", section="", position=0, hit=hit) for hit in hits)
    confidence = line.score(ConfidenceInput("word " * 30, cited), Proceed(hits, 4))
    answer = Answer(
        text="x",
        question=Question(text="q"),
        profile="clockify",
        response_id="r",
        confidence=confidence,
        refused=False,
        citations=cited,
    )
    assert line.route is not None
    assert (confidence.level, line.route(answer).action) == (level, action)
