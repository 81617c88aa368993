"""rag.profiles.gacounts: its slots together, without stores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import FakeChat, FakeIndex, deadline, make_hit, make_inputs

from rag.pipeline import Pipeline
from rag.profiles import gacounts, waypoint
from rag.stages.query.filter_rules import RuleFilter, parse_rules
from rag.stages.write.chat_writer import ChatWriter
from rag.values.answer import Question

RULES = parse_rules('[{"keywords": ["policy"], "where": {"category": "abo"}}]')
DETECTED = "filtered by the word 'policy': category = abo"
RETRIED = "the detected filter left nothing: searched again without it"


def asked(pipeline: Pipeline, index: FakeIndex, threshold: float | None) -> tuple[bool, tuple[str, ...]]:
    """Whether the travel policy was found, and the trail."""
    ruled = replace(pipeline, query_stages=(*pipeline.query_stages, RuleFilter(RULES, index.fields)))
    question = Question(text="The travel policy?", threshold=threshold)
    answer = ruled.run(question, deadline=deadline())
    return not answer.refused, answer.trail


def found(*cosines: float) -> FakeIndex:
    """The best chunk under the filter, and one outside it."""
    inside, outside = cosines
    hits = (make_hit(number=1, category="abo", cosine=inside), make_hit(number=2, category="docs", cosine=outside))
    return FakeIndex(hits, fields={"category": "str"})


@pytest.mark.parametrize(
    ("threshold", "inside", "answered", "searches"),
    [
        (None, 0.74, True, 2),  # the profile's own bar is .75
        (None, 0.76, True, 1),
        (0.5, 0.44, True, 2),
        (0.2, 0.2, True, 1),
        (0.95, 0.79, False, 2),
    ],
)
def test_the_bar_of_the_retry_is_that_of_the_answer(
    threshold: float | None, inside: float, answered: bool, searches: int
) -> None:
    index = found(inside, 0.9)
    this = gacounts.build(gacounts.Knobs(), make_inputs(index, ChatWriter(FakeChat("Yes, it is."), "{context}")))
    was_answered, trail = asked(this, index, threshold)
    assert (was_answered, len(index.searches)) == (answered, searches)
    assert trail[:2] == ((DETECTED, RETRIED) if searches == 2 else (DETECTED,))


@pytest.mark.parametrize(
    ("threshold", "inside", "searches"),
    [(None, 0.58, 1), (None, 0.57, 2), (0.3, 0.66, 1)],
)
def test_the_bar_of_the_retry_has_the_profiles_scale(threshold: float | None, inside: float, searches: int) -> None:
    """Waypoint's is 2 cos - 1, and its threshold .15."""
    index = found(inside, 0.9)
    this = waypoint.build(waypoint.Knobs(), make_inputs(index, ChatWriter(FakeChat("Yes, it is."), "{context}")))
    assert asked(this, index, threshold)[0]
    assert len(index.searches) == searches


PERMITS = make_hit("Apply for import permits within five days.", number=1, cosine=0.9, url="https://a.example/permits")
