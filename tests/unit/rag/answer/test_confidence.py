"""rag.answer.confidence: the chance of quotes and of a model's answer, and the seeds' formulas."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fakes import make_hit
from fakes_evidence import make_evidence, matched
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.answer.confidence import (
    CLAIM_INTERCEPT,
    CLAIM_WEIGHT,
    COSINE_CAP,
    DOUBTFUL_CAP,
    LEAD_CAP,
    PRIOR,
    TYPICAL,
    UNMENTIONED_CAP,
    CalibratedConfidence,
    CountAndMeanConfidence,
    WeightedConfidence,
    answer_signals,
    log_odds,
)
from rag.answer.finish import FinishedAnswer
from rag.values.answer import CheckedClaim, Citation, Confidence, Proceed

OWN = Confidence("High", 61.0, "3 relevant sources")
CONFIDENCE = CalibratedConfidence(lambda said, found: OWN)
QUESTION = "How many days does a permit take?"
ANSWERS = "A permit takes five working days for everybody."
TEA = "Tea is served in the hall at four o'clock."


def hit(text: str, question: str, score: float, number: int = 1) -> Hit:
    return replace(matched(make_hit(text, number=number), question), score=score, parts={"dense": score})


def quoted(*cited: Hit) -> FinishedAnswer:
    citations = tuple(Citation(raw="[x]", title="x", section="", position=0, hit=hit) for hit in cited)
    return FinishedAnswer(text="", citations=citations, is_quoted=True)


def written(text: str, *context: Hit) -> FinishedAnswer:
    """A model's answer that says ``text`` of the first hit of ``context``."""
    statement = CheckedClaim(
        text=text, citations=("[x]",), support="supported", chance=0.9, chunks=(context[0].chunk.number,)
    )
    return replace(quoted(context[0]), claims=(statement,), is_quoted=False)


def proceed(question: str, *found: Hit, unknown: tuple[str, ...] = ()) -> Proceed:
    return Proceed(found, len(found), make_evidence(question, unknown=unknown))


def judged(question: str, *found: Hit, cited: tuple[Hit, ...], unknown: tuple[str, ...] = ()) -> Confidence:
    return CONFIDENCE(quoted(*cited), proceed(question, *found, unknown=unknown))


def test_the_signals_of_quotes_are_read_off_the_cited_run_and_the_hits() -> None:
    question = "permit days"
    good, other = hit(ANSWERS, question, 0.55), hit(TEA, question, 0.45, 2)
    values = answer_signals(quoted(good), proceed(question, other, good))
    assert values == pytest.approx({"coverage": 0.9, "lead": 0.1, "cosine": 0.55})
    wrong = answer_signals(quoted(other), proceed(question, other, good))
    assert wrong is not None
    assert wrong["coverage"] < 0.5
    far = [hit(ANSWERS, question, 0.9), other]
    capped = answer_signals(quoted(*far), proceed(question, *far))
    assert capped == pytest.approx({"coverage": 0.9, "lead": LEAD_CAP, "cosine": COSINE_CAP})
    alone = answer_signals(quoted(good), proceed(question, good))
    assert alone is not None
    assert alone["lead"] == 0


def test_what_is_cited_decides_of_quotes() -> None:
    question = "permit days"
    good, other = hit(ANSWERS, question, 0.6), hit(TEA, question, 0.5, 2)
    right, wrong = (judged(question, good, other, cited=(one,)) for one in (good, other))
    assert (right.level, wrong.level) == ("High", "Low")
    assert right.score > 75 > 50 > wrong.score
    assert (right.raw, right.reason) == (61.0, "best match 60%, 1 source cited")


def test_the_support_of_its_claims_decides_of_what_a_model_wrote() -> None:
    found = proceed("permit days", hit(ANSWERS, "permit days", 0.6))
    likely, unlikely = (
        CONFIDENCE(replace(answer, claims=(replace(answer.claims[0], chance=chance),) * 4), found)
        for answer, chance in ((written(ANSWERS, found.hits[0]), 0.8), (written(TEA, found.hits[0]), 0.1))
    )
    assert (likely.level, unlikely.level) == ("High", "Low")
    expected = CLAIM_WEIGHT * (4 * 0.8 + PRIOR * TYPICAL) / (4 + PRIOR) + CLAIM_INTERCEPT
    assert likely.score == pytest.approx(100 / (1 + math.exp(-expected)), abs=0.06)


def test_a_claim_that_cites_nothing_counts_half_and_a_shift_moves_the_odds() -> None:
    found = proceed("permit days", hit(ANSWERS, "permit days", 0.6))
    answer = written(ANSWERS, found.hits[0])
    uncited = replace(answer, claims=(replace(answer.claims[0], chunks=()),))
    half = replace(answer, claims=(replace(answer.claims[0], chance=0.45),))
    assert CONFIDENCE(uncited, found).score == CONFIDENCE(half, found).score
    less = CalibratedConfidence(lambda said, found: OWN, shift=-2.0)(answer, found).score
    assert (less / (100 - less)) * math.exp(2) == pytest.approx(
        CONFIDENCE(answer, found).score / (100 - CONFIDENCE(answer, found).score), rel=0.05
    )


def test_what_nobody_checked_is_judged_as_quotes_are() -> None:
    question = "permit days"
    good = hit(ANSWERS, question, 0.6)
    unchecked = replace(written(ANSWERS, good), claims=())
    assert CONFIDENCE(unchecked, proceed(question, good)) == judged(question, good, cited=(good,))


def test_doubtful_quotes_are_low_and_what_a_model_wrote_is_medium_at_most() -> None:
    question = "permit days"
    good, other = hit(ANSWERS, question, 0.6), hit(TEA, question, 0.5, 2)
    found = Proceed((good, other), 2, make_evidence(question, score=6.0), doubt="doubtful: the closest was ...")
    quotes, model = CONFIDENCE(quoted(good), found), CONFIDENCE(written(ANSWERS, good, other), found)
    assert (quotes.level, quotes.score) == ("Low", 100 * UNMENTIONED_CAP)
    assert (model.level, model.score) == ("Medium", 100 * DOUBTFUL_CAP)


def test_the_owner_s_labels_stretch_and_shift_the_log_odds() -> None:
    good, other = hit(ANSWERS, "permit days", 0.6), hit(TEA, "permit days", 0.5, 2)
    by_labels = replace(make_evidence("permit days"), odds=(0.5, -1.0))
    values = answer_signals(quoted(good), proceed("permit days", good, other))
    assert values is not None

    found = CONFIDENCE(quoted(good), Proceed((good, other), 2, by_labels))

    assert found.score == pytest.approx(100 / (1 + math.exp(1 - 0.5 * log_odds(values))), abs=0.06)


def test_a_low_one_names_what_is_not_mentioned() -> None:
    question = "permit for llamas in Ohio"
    weak = hit(TEA, question, 0.2)
    found = judged(question, weak, cited=(weak,), unknown=("llamas", "Ohio"))
    assert found.level == "Low"
    assert found.reason == "best match 20%, 1 source cited, no mention of llamas or Ohio"


def test_without_tokens_the_profile_s_own() -> None:
    bare = make_hit(ANSWERS)
    assert judged(QUESTION, bare, cited=(bare,)) == OWN
    assert CONFIDENCE(FinishedAnswer(text=""), Proceed((bare,), 1)) == OWN


# --- the seeds' formulas

rule = CountAndMeanConfidence(high_count=3, high_mean=0.5, medium_count=2, medium_mean=0.3)


def score(found: tuple[Hit, ...], cited: tuple[Citation, ...]) -> Confidence:
    return rule(FinishedAnswer(text="An answer.", citations=cited), Proceed(found, len(found)))


def hits(*scores: float) -> tuple[Hit, ...]:
    """Hits on the L2 scale: cosine = (score + 1) / 2."""
    return tuple(replace(make_hit(cosine=(value + 1) / 2), score=value) for value in scores)


def make_citations(count: int) -> tuple[Citation, ...]:
    return tuple(
        Citation(raw=f"[T{n}]", title=f"T{n}", section="", position=n, hit=make_hit(number=n)) for n in range(count)
    )


@pytest.mark.parametrize(
    ("scores", "cited", "level", "reason"),
    [
        ([0.6] * 7, 3, "High", "7 relevant sources with 3 citations"),
        ([0.6] * 3, 1, "High", "3 relevant sources with 1 citation"),
        ([0.42] * 4, 2, "Medium", "4 sources found, average relevance 42%"),
        ([0.9, 0.9], 2, "Medium", "2 sources found, average relevance 90%"),
        ([0.9], 1, "Low", "Only 1 source found"),
        ([0.22] * 5, 1, "Low", "Low relevance scores (avg 22%)"),
        ([-0.004, -0.002], 0, "Low", "Low relevance scores (avg 0%)"),
        # the bars themselves count
        ([0.75, 0.5, 0.25], 0, "High", "3 relevant sources"),
        ([0.3, 0.3], 0, "Medium", "2 sources found, average relevance 30%"),
        ([0.3, 0.29], 0, "Low", "Low relevance scores (avg 30%)"),
    ],
)
def test_levels_and_words(scores: Sequence[float], cited: int, level: str, reason: str) -> None:
    confidence = score(hits(*scores), make_citations(cited))
    assert (confidence.level, confidence.reason) == (level, reason)


def test_the_score_is_100_times_the_mean_cosine() -> None:
    # Scores .6 and .2 are the cosines .8 and .6.
    assert score(hits(0.6, 0.2), ()).score == 70.0


def test_too_few_sources_for_a_higher_bar_are_not_called_low_scores() -> None:
    strict = replace(rule, medium_count=3)
    found = hits(0.9, 0.9)
    assert strict(FinishedAnswer(text="An answer."), Proceed(found, 2)).reason == "Only 2 sources found"


RULE = WeightedConfidence(floor=0.4, ceiling=0.75, high=70, medium=40)
LONG = "word " * 30


def evidence(best: float, passed: int) -> Proceed:
    return Proceed((make_hit(cosine=best), make_hit(number=2, cosine=0.3)), passed)


@pytest.mark.parametrize(
    ("answer", "best", "passed", "citations", "score", "level"),
    [
        (LONG, 0.75, 4, 3, 100.0, "High"),
        (LONG, 0.9, 9, 9, 100.0, "High"),
        (LONG, 0.4, 4, 3, 60.0, "Medium"),
        (LONG, 0.75, 4, 0, 75.0, "High"),
        ("Yes.", 0.4, 2, 1, 18.8, "Low"),
    ],
)
def test_the_formula(answer: str, best: float, passed: int, citations: int, score: float, level: str) -> None:
    confidence = RULE(FinishedAnswer(text=answer, citations=make_citations(citations)), evidence(best, passed))
    assert (confidence.score, confidence.level) == (score, level)


def test_the_reason() -> None:
    confidence = RULE(FinishedAnswer(text=LONG, citations=make_citations(1)), evidence(0.58, 3))
    assert confidence.reason == "1 citation, 3 relevant chunks, best match 58%"


@given(best=st.floats(-1, 1), passed=st.integers(0, 50), citations=st.integers(0, 20), answer=st.text(max_size=200))
def test_the_score_is_a_percentage(best: float, passed: int, citations: int, answer: str) -> None:
    assert (
        0 <= RULE(FinishedAnswer(text=answer, citations=make_citations(citations)), evidence(best, passed)).score <= 100
    )
