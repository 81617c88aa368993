"""Bars, confidences and statistics with their intervals, against values worked out by hand or published."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from evaluate import calibration
from evaluate.calibration import (
    MIN_QUESTIONS,
    SHIPPED,
    ConformalBound,
    ErrorRates,
    LabelledScores,
    error_rates,
    fit_bar,
    fit_odds,
    held_out_chances,
    held_out_errors,
    measure_chances,
    scale_chances,
)
from evaluate.fitting import LabelledCase, fit_calibration, fit_confidence
from evaluate.intervals import auroc, bootstrap, ece, paired_bootstrap, quantile, ratio, reliability, wilson
from evaluate.metrics import Goal
from knowledge.search.signals import Calibration


def scores(answerable: list[float], unanswerable: list[float], background: list[float] | None = None) -> LabelledScores:
    return LabelledScores(np.array(answerable), np.array(unanswerable), np.array(background or [0.0]))


@pytest.mark.parametrize(("count", "place"), [(19, 1), (38, 1), (39, 2), (200, 10)])
def test_the_place_is_the_last_that_keeps_five_per_cent(count: int, place: int) -> None:
    found = ConformalBound.from_count(count)
    assert found == ConformalBound(place, count)
    assert found.mean <= 0.05 < (place + 1) / (count + 1)
    assert MIN_QUESTIONS == 19


def test_the_sure_bound_is_clopper_and_pearsons() -> None:
    # one of 19: the share x at which nineteen questions are all above it with a chance of 5 %
    assert ConformalBound.from_count(19).surely == pytest.approx(1 - 0.05 ** (1 / 19))
    shares = [ConformalBound.from_count(count).surely for count in (49, 100, 1000)]
    assert binom.sf([1, 4, 49], [49, 100, 1000], shares).tolist() == pytest.approx([0.95] * 3)


def test_the_bar_promises_what_it_says() -> None:
    generator = np.random.default_rng(0)
    shares = []
    for _ in range(2000):
        at = fit_bar(Goal.FALSE_REFUSALS, scores(generator.normal(size=49).tolist(), []))
        shares.append(np.mean(generator.normal(size=500) < at))
    assert np.mean(shares) == pytest.approx(2 / 50, abs=0.003)
    assert np.mean(np.array(shares) <= ConformalBound.from_count(49).surely) == pytest.approx(0.95, abs=0.02)


def test_each_goal_has_its_bar() -> None:
    known, strange = [*range(20, 59)], [*range(39)]
    both = scores([float(one) for one in known], [float(one) for one in strange], [1.0, 2.0])
    assert error_rates(fit_bar(Goal.FALSE_REFUSALS, both), both).refused == 1 / 39  # the second lowest itself passes
    assert error_rates(fit_bar(Goal.FALSE_ANSWERS, both), both).passed == 1 / 39
    apart = scores([3.0, 4.0, 5.0], [0.0, 1.0, 2.0])
    assert error_rates(fit_bar(Goal.BOTH, apart), apart) == ErrorRates(0, 0, 0)


def test_held_out_each_is_judged_by_the_others() -> None:
    found = held_out_errors(Goal.FALSE_REFUSALS, scores([float(one) for one in range(19)], [-1.0, 7.0], [-2.0, 3.0]))
    # without the lowest the bar is the second, and refuses it; with it the bar is 0
    assert found == ErrorRates(refused=1 / 19, passed=0.5, background=0.5)
    assert held_out_errors(Goal.FALSE_REFUSALS, scores([1.0, 2.0], [])).passed is None
    nothing_known = error_rates(1.0, scores([], [0.0, 1.0]))
    assert (nothing_known, nothing_known.loss) == (ErrorRates(None, 0.5, 0.0), 0.25)


def test_good_is_what_keeps_most_of_the_others_out() -> None:
    assert ErrorRates(0.5, None, 0.2).is_good
    assert not ErrorRates(0, 0.51, 0.0).is_good
    assert not ErrorRates(0, 0.1, 0.21).is_good
    assert (ErrorRates(0.1, 0.4, 0.2).loss, ErrorRates(0.1, None, 0.2).loss) == (pytest.approx(0.4), pytest.approx(0.3))  # type: ignore[comparison-overlap]


# A confidence from labels


KNOWN = Calibration(means={}, stds={}, bar=1.0, doubt=1.0)


def answers(count: int, slope: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Log odds, and whether each answer is right when the truth is ``slope`` and ``shift``."""
    generator = np.random.default_rng(1)
    log_odds = generator.normal(1, 2, count)
    return log_odds, (generator.random(count) < scale_chances(log_odds, (slope, shift))).astype(float)


def test_many_labels_find_the_odds_few_change_little_and_none_turn_them_upside_down() -> None:
    assert fit_odds(*answers(20_000, 0.5, -1.0)) == pytest.approx((0.5, -1.0), abs=0.06)
    assert fit_odds(np.array([]), np.array([])) == SHIPPED
    slope, shift = fit_odds(np.array([1.0]), np.array([0.0]))
    assert 0.8 < slope < 1
    assert -0.6 < shift < 0
    log_odds = np.linspace(-3, 3, 400)
    assert fit_odds(log_odds, (log_odds < 0).astype(float))[0] == 0, "flat, and never upside down"


def test_quality_by_hand() -> None:
    found = measure_chances(np.array([0.9, 0.9, 0.3, 0.3]), np.array([1.0, 0.0, 0.0, 1.0]))
    assert found.ece == pytest.approx((2 * 0.4 + 2 * 0.2) / 4)
    assert found.auroc == 0.5
    assert found.log_loss == pytest.approx(-np.mean(np.log([0.9, 0.1, 0.7, 0.3])))


def test_held_out_no_answer_tells_of_itself() -> None:
    log_odds, right = answers(200, 1.0, 0.0)
    other = right.copy()
    other[3] = 1 - other[3]
    assert held_out_chances(log_odds, other)[3] == held_out_chances(log_odds, right)[3]


def cases(count: int, slope: float, shift: float) -> list[LabelledCase]:
    return [LabelledCase(True, 1.0, one, bool(right)) for one, right in zip(*answers(count, slope, shift), strict=True)]


def test_it_is_fitted_from_49_answers_past_the_bar_on() -> None:
    many = cases(300, 0.4, -2.0)

    assert fit_confidence(many, 2.0).verdict == "49 more answers labelled right or wrong are needed"
    assert fit_confidence(many[:48], 0.0).verdict.startswith("1 more answer")
    found = fit_confidence(many, 0.0)
    assert found.odds == pytest.approx((0.4, -2.0), abs=0.5)
    assert found.before
    assert found.after
    assert found.after.ece < found.before.ece / 2
    assert found.after.auroc == found.before.auroc


def test_one_that_is_no_better_is_left_out_and_so_are_answers_all_alike() -> None:
    found = fit_confidence(cases(100, 1.0, 0.0), 0.0)
    assert (found.odds, found.verdict) == (SHIPPED, "the shipped one stays: 100 labelled answers make none better")
    alike = [LabelledCase(True, 1.0, 2.0, right=True)] * calibration.MIN_QUESTIONS
    assert fit_confidence(alike, 0.0).odds == SHIPPED


def test_what_an_index_keeps_of_labels() -> None:
    few = [LabelledCase(True, 1.0, 0.5, right=True)]

    assert fit_calibration(few, [0.0], KNOWN, {}, None).labels is None
    assert fit_calibration(few, [0.0], KNOWN, {"bar": 1.0}, None).labels == {"bar": 1.0, "questions": 1, "older": False}
    kept = fit_calibration(few, [0.0], replace(KNOWN, odds=(0.5, -1.0)), {"slope": 0.5, "shift": -1.0}, None)
    assert kept.labels == {"slope": 0.5, "shift": -1.0, "questions": 1, "older": False}
    assert kept.confidence.verdict.endswith("the one in use stays")
    many = fit_calibration(cases(300, 0.4, -2.0), [0.0], KNOWN, {}, None).labels
    assert many is not None
    assert many.keys() == {"slope", "shift", "questions", "older"}


# Statistics and their intervals


def rows(*pairs: tuple[float, float]) -> np.ndarray:
    return np.asarray(pairs, dtype=np.float64)


def test_wilsons_interval_is_the_published_one() -> None:
    # Newcombe, 1998, table I, method 3
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson(29, 29) == pytest.approx((0.8830, 1), abs=5e-5)


def test_a_ratio_adds_before_it_divides_and_quantiles_lie_between_neighbours() -> None:
    assert ratio(rows((1, 1), (0, 3))) == 0.25
    assert math.isnan(ratio(rows((0, 0))))
    assert quantile(0.5)(rows((1, 1), (2, 1), (10, 1))) == 2
    assert quantile(0.95)(rows((0, 1), (100, 1))) == pytest.approx(95)


def test_auroc_counts_pairs_and_half_of_ties() -> None:
    # right .9 and .5, wrong .5 and .1: 4 pairs, 3 won, 1 tied
    assert auroc(rows((0.9, 1), (0.5, 1), (0.5, 0), (0.1, 0))) == pytest.approx(3.5 / 4)
    assert auroc(rows((0.1, 1), (0.9, 0))) == 0
    assert math.isnan(auroc(rows((0.9, 1))))


def test_ece_weighs_the_gap_of_each_bin_by_its_size() -> None:
    # bin .9-1: mean .95, half right: gap .45 for 2 of 3; bin .2-.3: .25 against 0 for 1 of 3
    found = rows((0.93, 1), (0.97, 0), (0.25, 0))
    assert ece(found) == pytest.approx((2 * 0.45 + 0.25) / 3)
    low, high = reliability(found)
    assert (low.low, low.n, low.right) == (0.2, 1, 0)
    assert (high.low, high.high, high.n, high.right) == (0.9, 1, 2, 1)
    assert high.chance == pytest.approx(0.95)
    assert ece(rows((1.0, 1))) == 0


def test_the_bootstrap_is_near_the_normal_interval_seeded_and_surer_of_a_paired_difference() -> None:
    found = np.column_stack([np.arange(400) % 2, np.ones(400)]).astype(np.float64)
    low, high = bootstrap(found, ratio, seed=0) or (0, 0)
    assert (low, high) == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.01)
    assert bootstrap(found, ratio, seed=0) == (low, high)
    assert bootstrap(found, ratio, seed=1) != (low, high)
    assert bootstrap(found[:1], ratio, seed=0) is None

    # A paired difference is surer than two means
    old = np.column_stack([np.arange(100) % 10, np.ones(100)]).astype(np.float64)
    new = old + np.asarray([0.5, 0])
    assert paired_bootstrap(new, old, ratio, seed=0) == pytest.approx((0.5, 0.5))
