"""Statistics and their intervals, against values worked out by hand or published."""

import math

import numpy as np
import pytest

from evaluate.intervals import auroc, bootstrap, ece, paired_bootstrap, quantile, ratio, reliability, wilson


def rows(*pairs: tuple[float, float]) -> np.ndarray:
    return np.asarray(pairs, dtype=np.float64)


def test_wilsons_interval_is_the_published_one() -> None:
    # Newcombe, 1998, table I, method 3
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson(29, 29) == pytest.approx((0.8830, 1), abs=5e-5)


def test_a_ratio_adds_before_it_divides() -> None:
    assert ratio(rows((1, 1), (0, 3))) == 0.25
    assert math.isnan(ratio(rows((0, 0))))


def test_quantiles_lie_between_neighbours_in_proportion() -> None:
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


def test_the_bootstrap_is_near_the_normal_interval_and_seeded() -> None:
    found = np.column_stack([np.arange(400) % 2, np.ones(400)]).astype(np.float64)
    low, high = bootstrap(found, ratio, seed=0) or (0, 0)
    assert (low, high) == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.01)
    assert bootstrap(found, ratio, seed=0) == (low, high)
    assert bootstrap(found, ratio, seed=1) != (low, high)
    assert bootstrap(found[:1], ratio, seed=0) is None


def test_a_paired_difference_is_surer_than_two_means() -> None:
    old = np.column_stack([np.arange(100) % 10, np.ones(100)]).astype(np.float64)
    new = old + np.asarray([0.5, 0])
    assert paired_bootstrap(new, old, ratio, seed=0) == pytest.approx((0.5, 0.5))
