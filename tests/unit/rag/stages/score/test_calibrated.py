"""rag.stages.score.calibrated: the chance that what is cited answers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fakes import make_hit
from fakes_evidence import make_asked, make_evidence, matched

from rag.stages.score.calibrated import MOST_COSINE, MOST_LEAD, CalibratedConfidence, chance, log_odds, signals
from rag.values.answer import Citation, Confidence, Hit, Proceed

OWN = Confidence("High", 61.0, "3 relevant sources")
CONFIDENCE = CalibratedConfidence(lambda answer, evidence, citations: OWN)
QUESTION = "How many days does a permit take?"
ANSWERS = "A permit takes five working days for everybody."
TEA = "Tea is served in the hall at four o'clock."


def hit(text: str, question: str, score: float, number: int = 1) -> Hit:
    return replace(matched(make_hit(text, number=number), question), score=score, parts={"dense": score})


def judged(question: str, *found: Hit, cited: tuple[Hit, ...]) -> Confidence:
    citations = tuple(Citation(raw="[x]", title="x", section="", position=0, hit=hit) for hit in cited)
    return CONFIDENCE("", Proceed(found, len(found), make_evidence(question)), citations)


def test_the_signals_are_read_off_the_cited_run_and_the_hits() -> None:
    question = "permit days"
    good, other = hit(ANSWERS, question, 0.55), hit(TEA, question, 0.45, 2)
    values = signals(make_asked(question), [good], [other, good])
    assert values == pytest.approx({"coverage": 0.9, "lead": 0.1, "cosine": 0.55})
    assert signals(make_asked(question), [other], [other, good])["coverage"] < 0.5
    far = [hit(ANSWERS, question, 0.9), other]
    assert signals(make_asked(question), far, far) == pytest.approx(
        {"coverage": 0.9, "lead": MOST_LEAD, "cosine": MOST_COSINE}
    )
    assert signals(make_asked(question), [good], [good])["lead"] == 0


def test_what_is_cited_decides() -> None:
    question = "permit days"
    good, other = hit(ANSWERS, question, 0.6), hit(TEA, question, 0.5, 2)
    right, wrong = (judged(question, good, other, cited=(one,)) for one in (good, other))
    assert (right.level, wrong.level) == ("High", "Low")
    assert right.score == pytest.approx(100 * chance(make_asked(question), [good], [good, other]), abs=0.06)
    assert right.score > 75 > 50 > wrong.score
    assert (right.raw, right.reason) == (61.0, "3 relevant sources")


def test_the_owner_s_labels_stretch_and_shift_the_log_odds() -> None:
    good, other = hit(ANSWERS, "permit days", 0.6), hit(TEA, "permit days", 0.5, 2)
    citations = (Citation(raw="[x]", title="x", section="", position=0, hit=good),)
    evidence = make_evidence("permit days")
    by_labels = replace(evidence, odds=(0.5, -1.0))

    shipped = log_odds(evidence.asked, [good], [good, other])
    found = CONFIDENCE("", Proceed((good, other), 2, by_labels), citations)

    assert found.score == pytest.approx(100 / (1 + math.exp(1 - 0.5 * shipped)), abs=0.06)


def test_a_low_one_names_what_is_not_mentioned() -> None:
    question = "permit for llamas in Ohio"
    weak = hit(TEA, question, 0.2)
    found = judged(question, weak, cited=(weak,))
    assert found.level == "Low"
    assert found.reason.startswith("best match 20%, 1 source cited, no mention of ")


def test_without_tokens_the_profile_s_own() -> None:
    bare = make_hit(ANSWERS)
    assert judged(QUESTION, bare, cited=(bare,)) == OWN
    assert CONFIDENCE("", Proceed((bare,), 1), ()) == OWN
