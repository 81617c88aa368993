"""rag.answer.confidence: the chance of quotes and of a model's answer, the seeds' formulas, caps, and the next step."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes import make_answer, make_hit
from fakes_evidence import make_evidence, matched

from knowledge.model.values import Hit
from rag.answer import confidence as c
from rag.answer.finish import FinishedAnswer
from rag.values.answer import CheckedClaim, Citation, Confidence, Proceed, Reference, Support
from rag.values.chat import Completion

OWN = Confidence("High", 61.0, "3 relevant sources")
CONFIDENCE = c.CalibratedConfidence(lambda said, found: OWN)
QUESTION = "permit days"
ANSWERS = "A permit takes five working days for everybody."
TEA = "Tea is served in the hall at four o'clock."


def hit(text: str, score: float, number: int = 1, *, question: str = QUESTION) -> Hit:
    return matched(make_hit(text, number=number, cosine=score), question)


GOOD, OTHER = hit(ANSWERS, 0.6), hit(TEA, 0.5, 2)


def quoted(*cited: Hit) -> FinishedAnswer:
    citations = tuple(Citation(raw="[x]", title="x", section="", position=0, hit=hit) for hit in cited)
    return FinishedAnswer(text="", citations=citations, is_quoted=True)


def written(*, chance: float = 0.9, chunks: tuple[int, ...] = (1,), count: int = 1) -> FinishedAnswer:
    """A model's answer with claims of one ``chance``."""
    claim = CheckedClaim(text=ANSWERS, citations=("[x]",), support="supported", chance=chance, chunks=chunks)
    return replace(quoted(GOOD), claims=(claim,) * count, is_quoted=False)


def proceed(*found: Hit) -> Proceed:
    return Proceed(found, len(found), make_evidence(QUESTION))


FOUND = proceed(GOOD, OTHER)


def odds(confidence: Confidence) -> float:
    return confidence.score / (100 - confidence.score)


def test_the_signals_of_quotes_are_read_off_the_cited_run_and_the_hits() -> None:
    good, other = hit(ANSWERS, 0.55), hit(TEA, 0.45, 2)
    values = c.answer_signals(quoted(good), proceed(other, good))
    assert values == pytest.approx({"coverage": 0.9, "lead": 0.1, "cosine": 0.55})
    wrong = c.answer_signals(quoted(other), proceed(other, good))
    assert wrong == pytest.approx({"coverage": 0.2, "lead": 0.1, "cosine": 0.55})
    far = [hit(ANSWERS, 0.9), other]
    capped = c.answer_signals(quoted(*far), proceed(*far))
    assert capped == pytest.approx({"coverage": 0.9, "lead": c.LEAD_CAP, "cosine": c.COSINE_CAP})
    assert c.answer_signals(quoted(good), proceed(good)) == pytest.approx({"coverage": 0.9, "lead": 0, "cosine": 0.55})


def test_what_is_cited_decides_of_quotes_and_of_what_nobody_checked() -> None:
    right, wrong = (CONFIDENCE(quoted(one), FOUND) for one in (GOOD, OTHER))
    assert (right.level, wrong.level) == ("High", "Low")
    assert right.score > 75 > 50 > wrong.score
    assert (right.raw, right.reason) == (61.0, "best match 60%, 1 source cited")
    assert CONFIDENCE(written(count=0), FOUND) == right


def test_the_support_of_its_claims_decides_of_what_a_model_wrote() -> None:
    likely, unlikely = (CONFIDENCE(written(chance=chance, count=4), proceed(GOOD)) for chance in (0.8, 0.1))
    assert (likely.level, unlikely.level) == ("High", "Low")
    expected = c.CLAIM_WEIGHT * (4 * 0.8 + c.PRIOR * c.TYPICAL) / (4 + c.PRIOR) + c.CLAIM_INTERCEPT
    assert likely.score == pytest.approx(100 / (1 + math.exp(-expected)), abs=0.06)


def test_a_claim_that_cites_nothing_counts_half_and_a_shift_moves_the_odds() -> None:
    assert CONFIDENCE(written(chunks=()), FOUND).score == CONFIDENCE(written(chance=0.45), FOUND).score
    less = c.CalibratedConfidence(lambda said, found: OWN, shift=-2.0)(written(), FOUND)
    assert odds(less) * math.exp(2) == pytest.approx(odds(CONFIDENCE(written(), FOUND)), rel=0.05)


def test_doubtful_quotes_are_low_and_what_a_model_wrote_is_medium_at_most() -> None:
    found = Proceed((GOOD, OTHER), 2, make_evidence(QUESTION, score=6.0), doubt="doubtful: the closest was ...")
    quotes, model = CONFIDENCE(quoted(GOOD), found), CONFIDENCE(written(), found)
    assert (quotes.level, quotes.score) == ("Low", 100 * c.UNMENTIONED_CAP)
    assert (model.level, model.score) == ("Medium", 100 * c.DOUBTFUL_CAP)


def test_the_owner_s_labels_stretch_and_shift_the_log_odds() -> None:
    values = c.answer_signals(quoted(GOOD), FOUND)
    assert values is not None
    by_labels = Proceed((GOOD, OTHER), 2, replace(make_evidence(QUESTION), odds=(0.5, -1.0)))
    expected = 100 / (1 + math.exp(1 - 0.5 * c.log_odds(values)))
    assert CONFIDENCE(quoted(GOOD), by_labels).score == pytest.approx(expected, abs=0.06)


def test_the_lead_alone_decides_of_quotes_from_passages_in_another_language() -> None:
    german = replace(make_evidence(QUESTION), asked_in="German")
    good = hit("Der Antrag ist in vier Wochen zu stellen, und die Leitung entscheidet.", 0.6)
    close, clear = (hit("Es gibt Tee in der Halle, und zwar um vier.", score, 2) for score in (0.599, 0.4))
    levels = [CONFIDENCE(quoted(good), Proceed((good, other), 2, german)).level for other in (close, clear)]
    assert levels == ["Low", "High"]
    among_english = Proceed((good, OTHER, hit(ANSWERS, 0.4, 3)), 3, german)
    assert c.weights_for(among_english) is c.QUOTE_WEIGHTS
    assert c.log_odds({"lead": 0.1, "cosine": 0.6}, c.OTHER_WEIGHTS) == pytest.approx(1.614)


def test_function_words_of_another_language_have_no_weight_in_the_coverage() -> None:
    question = "bis wann permit days"
    good = hit(ANSWERS, 0.5, question=question)
    asked = [replace(make_evidence(question), asked_in=language) for language in ("English", "German")]
    values = [c.answer_signals(quoted(good), Proceed((good,), 1, one)) for one in asked]
    assert [one and one["coverage"] for one in values] == pytest.approx([0.55, 0.9])


def test_a_low_one_names_what_is_not_mentioned() -> None:
    question = "permit for llamas in Ohio"
    weak = hit(TEA, 0.2, question=question)
    found = CONFIDENCE(quoted(weak), Proceed((weak,), 1, make_evidence(question, unknown=("llamas", "Ohio"))))
    assert found.level == "Low"
    assert found.reason == "best match 20%, 1 source cited, no mention of llamas or Ohio"


def test_without_tokens_the_profile_s_own() -> None:
    bare = make_hit(ANSWERS)
    assert CONFIDENCE(quoted(bare), proceed(bare)) == OWN
    assert CONFIDENCE(FinishedAnswer(text=""), Proceed((bare,), 1)) == OWN


COUNT_AND_MEAN = c.CountAndMeanConfidence(high_count=3, high_mean=0.5, medium_count=2, medium_mean=0.3)


def counted(scores: Sequence[float], cited: int = 0, rule: c.CountAndMeanConfidence = COUNT_AND_MEAN) -> Confidence:
    """The confidence in hits on the L2 scale: cosine = (score + 1) / 2."""
    found = tuple(replace(make_hit(cosine=(value + 1) / 2), score=value) for value in scores)
    return rule(quoted(*[make_hit()] * cited), Proceed(found, len(found)))


@pytest.mark.parametrize(
    ("scores", "cited", "level", "reason"),
    [
        ([0.6] * 7, 3, "High", "7 relevant sources with 3 citations"),
        ([0.6] * 3, 1, "High", "3 relevant sources with 1 citation"),
        ([0.42] * 4, 2, "Medium", "4 sources found, average relevance 42%"),
        ([0.9, 0.9], 2, "Medium", "2 sources found, average relevance 90%"),
        ([0.9], 1, "Low", "Only 1 source found"),
        ([-0.004, -0.002], 0, "Low", "Low relevance scores (avg 0%)"),
        # the bars themselves count
        ([0.75, 0.5, 0.25], 0, "High", "3 relevant sources"),
        ([0.3, 0.3], 0, "Medium", "2 sources found, average relevance 30%"),
        ([0.3, 0.29], 0, "Low", "Low relevance scores (avg 30%)"),
    ],
)
def test_levels_and_words(scores: Sequence[float], cited: int, level: str, reason: str) -> None:
    confidence = counted(scores, cited)
    assert (confidence.level, confidence.reason) == (level, reason)


def test_the_score_is_100_times_the_mean_cosine_and_too_few_sources_are_no_low_scores() -> None:
    assert counted([0.6, 0.2]).score == 70.0  # the cosines .8 and .6
    assert counted([0.9, 0.9], rule=replace(COUNT_AND_MEAN, medium_count=3)).reason == "Only 2 sources found"


WEIGHTED = c.WeightedConfidence(floor=0.4, ceiling=0.75, high=70, medium=40)
LONG = "word " * 30


@pytest.mark.parametrize(
    ("answer", "best", "passed", "cited", "expected"),
    [
        (LONG, 0.75, 4, 3, Confidence("High", 100.0, "3 citations, 4 relevant chunks, best match 75%")),
        (LONG, 0.9, 9, 9, Confidence("High", 100.0, "9 citations, 9 relevant chunks, best match 90%")),
        (LONG, 0.4, 4, 3, Confidence("Medium", 60.0, "3 citations, 4 relevant chunks, best match 40%")),
        (LONG, 0.75, 4, 0, Confidence("High", 75.0, "0 citations, 4 relevant chunks, best match 75%")),
        ("Yes.", 0.4, 2, 1, Confidence("Low", 18.8, "1 citation, 2 relevant chunks, best match 40%")),
        ("Yes.", -1.0, 0, 0, Confidence("Low", 0.5, "0 citations, 0 relevant chunks, best match -100%")),
    ],
)
def test_the_formula(answer: str, best: float, passed: int, cited: int, expected: Confidence) -> None:
    found = Proceed((make_hit(cosine=best), make_hit(number=2, cosine=-1.0)), passed)
    assert WEIGHTED(replace(quoted(*[GOOD] * cited), text=answer), found) == expected


WRITTEN = Completion(text="x", model="m")


@pytest.mark.parametrize(
    ("confidence", "is_cited", "completion", "action"),
    [
        (c.NO_SOURCES, False, None, "augment_kb"),
        (c.NOT_ANSWERED, False, WRITTEN, "escalate"),
        (Confidence("Low", 39.9, ""), True, WRITTEN, "escalate"),
        (Confidence("Medium", 40, ""), True, WRITTEN, "return"),
        (Confidence("High", 90, ""), True, WRITTEN, "return"),
        (Confidence("High", 90, ""), False, WRITTEN, "escalate"),
    ],
)
def test_routing(confidence: Confidence, is_cited: bool, completion: Completion | None, action: str) -> None:
    refused = confidence in (c.NO_SOURCES, c.NOT_ANSWERED)
    citations = quoted(*[GOOD] * is_cited).citations
    answer = make_answer(confidence=confidence, refused=refused, citations=citations, completion=completion)
    routing = c.add_routing(answer, c.ConfidenceRouter(40)).routing
    assert (routing and routing.action) == action


@pytest.mark.parametrize(("score", "level"), [(79.9, "Low"), (80.0, "High")])
def test_what_goes_to_a_person_is_low_whatever_its_score(score: float, level: str) -> None:
    answer = make_answer(confidence=Confidence("High", score, ""), citations=quoted(GOOD).citations)
    found = c.add_routing(answer, c.ConfidenceRouter(80))
    assert found.confidence.level == level
    assert (found.routing and found.routing.action) == ("escalate" if level == "Low" else "return")
    claim = CheckedClaim(text="s", citations=(), support="unsupported", chance=0.5)
    for unfounded in (replace(answer, citations=()), replace(answer, statements=(claim,))):
        assert c.add_routing(unfounded, None).confidence.level == "Low"


HIGH, LOW = Confidence("High", 80.0, "3 relevant sources"), Confidence("Low", 20.0, "r")


def capped(confidence: Confidence = HIGH, *, is_partial: bool = False, **fields: Any) -> Confidence:
    return c.cap_confidence(confidence, FinishedAnswer(text="", **fields), is_partial=is_partial)


@pytest.mark.parametrize(
    ("cited", "removed", "expected"),
    [
        (2, 0, HIGH),
        (0, 0, Confidence("Low", 35.0, "3 relevant sources, no statement cites a source that was found")),
        (0, 4, Confidence("Low", 35.0, "3 relevant sources, no statement cites a source that was found")),
        (3, 1, Confidence("Medium", 74.0, "3 relevant sources, 1 of 4 citations named nothing that was found")),
        (2, 2, Confidence("Low", 35.0, "3 relevant sources, 2 of 4 citations named nothing that was found")),
        (1, 3, Confidence("Low", 35.0, "3 relevant sources, 3 of 4 citations named nothing that was found")),
    ],
)
def test_invented_and_missing_citations_lower_the_confidence(cited: int, removed: int, expected: Confidence) -> None:
    assert capped(cited=cited, removed=removed) == expected
    low = capped(LOW, cited=cited, removed=removed)
    assert (low.level, low.score) == ("Low", 20.0)


def test_a_cited_scan_is_told_and_lowers_nothing() -> None:
    scan = hit("Gas leak: 0800", 0.9)
    scan = replace(scan, chunk=replace(scan.chunk, source_type="text recognition"))
    assert capped(cited=1, references=(Reference(n=1, hit=hit("Text", 0.9)),)) == HIGH
    told = replace(HIGH, reason="3 relevant sources, read by text recognition")
    assert capped(cited=1, references=(Reference(n=1, hit=scan),)) == told


def test_nothing_supported_is_low_and_a_statement_without_support_is_told() -> None:
    def of(*supports: Support) -> Confidence:
        claims = [CheckedClaim(text="s", citations=(), support=one, chance=0.5) for one in supports]
        return capped(cited=4, claims=tuple(claims))

    assert of("supported", "partial") == HIGH
    one = of("supported", "supported", "unsupported", "supported")
    assert one == Confidence("High", 80.0, f"{HIGH.reason}, 1 of 4 statements not found in the sources")
    half = of("supported", "unsupported")
    assert half == Confidence("Low", 35.0, f"{HIGH.reason}, 1 of 2 statements not found in the sources")
    nothing = of("unsupported", "unsupported")
    assert nothing == Confidence("Low", 35.0, f"{HIGH.reason}, the sources cited support no statement")


def test_part_of_an_answer_and_one_that_was_not_checked_as_a_whole_are_never_high() -> None:
    assert capped(cited=2, is_partial=True) == Confidence("Medium", 74.0, f"{HIGH.reason}, the answer broke off")
    assert capped(LOW, cited=2, is_partial=True).level == "Low"
    unchecked = f"{HIGH.reason}, 3 statements not checked: the answer is too long"
    assert capped(cited=2, unchecked=3) == Confidence("Medium", 74.0, unchecked)
