"""evaluate.thresholds: a bar from labels, its bound, and its errors."""

import numpy as np
import pytest
from scipy.stats import binom

from evaluate.goals import Goal
from evaluate.thresholds import LEAST, Bound, Errors, Scores, bar, bound, errors, held_out


def scores(answerable: list[float], unanswerable: list[float], background: list[float] | None = None) -> Scores:
    return Scores(np.array(answerable), np.array(unanswerable), np.array(background or [0.0]))


@pytest.mark.parametrize(("count", "place"), [(19, 1), (38, 1), (39, 2), (49, 2), (99, 5), (200, 10)])
def test_the_place_is_the_last_that_keeps_five_per_cent(count: int, place: int) -> None:
    found = bound(count)

    assert found == Bound(place, count)
    assert found.mean <= 0.05 < (place + 1) / (count + 1)
    assert LEAST == 19


def test_the_sure_bound_is_clopper_and_pearsons() -> None:
    # one of 19: the share x at which nineteen questions are all above it with a chance of 5 %
    assert bound(19).surely == pytest.approx(1 - 0.05 ** (1 / 19))
    shares = [bound(count).surely for count in (49, 100, 1000)]
    assert binom.sf([1, 4, 49], [49, 100, 1000], shares).tolist() == pytest.approx([0.95] * 3)


def test_the_bar_promises_what_it_says() -> None:
    generator = np.random.default_rng(0)
    shares = []
    for _ in range(2000):
        at = bar(Goal.FALSE_REFUSALS, scores(generator.normal(size=49).tolist(), []))
        shares.append(np.mean(generator.normal(size=500) < at))

    assert np.mean(shares) == pytest.approx(2 / 50, abs=0.003)
    assert np.mean(np.array(shares) <= bound(49).surely) == pytest.approx(0.95, abs=0.02)


def test_each_goal_has_its_bar() -> None:
    known, strange = [*range(20, 59)], [*range(39)]
    both = scores([float(one) for one in known], [float(one) for one in strange], [1.0, 2.0])

    assert errors(bar(Goal.FALSE_REFUSALS, both), both).refused == 1 / 39  # the second lowest itself passes
    assert errors(bar(Goal.FALSE_ANSWERS, both), both).passed == 1 / 39
    apart = scores([3.0, 4.0, 5.0], [0.0, 1.0, 2.0])
    assert errors(bar(Goal.BOTH, apart), apart) == Errors(0, 0, 0)


def test_held_out_each_is_judged_by_the_others() -> None:
    found = held_out(Goal.FALSE_REFUSALS, scores([float(one) for one in range(19)], [-1.0, 7.0], [-2.0, 3.0]))

    # without the lowest the bar is the second, and refuses it; with it the bar is 0
    assert found == Errors(refused=1 / 19, passed=0.5, background=0.5)
    assert held_out(Goal.FALSE_REFUSALS, scores([1.0, 2.0], [])).passed is None
    nothing_known = errors(1.0, scores([], [0.0, 1.0]))
    assert (nothing_known, nothing_known.loss) == (Errors(None, 0.5, 0.0), 0.25)


def test_good_is_what_keeps_most_of_the_others_out() -> None:
    assert Errors(0.5, None, 0.2).good
    assert not Errors(0, 0.51, 0.0).good
    assert not Errors(0, 0.1, 0.21).good
    assert (Errors(0.1, 0.4, 0.2).loss, Errors(0.1, None, 0.2).loss) == (pytest.approx(0.4), pytest.approx(0.3))  # type: ignore[comparison-overlap]
