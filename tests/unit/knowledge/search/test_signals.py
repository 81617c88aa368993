"""Signals of a question as a whole, in deviations of what questions about nothing have."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.build.calibrate import background
from knowledge.model.errors import IndexDamaged
from knowledge.model.values import EncodedQuestion, View
from knowledge.search.candidates import Signal, best_rows
from knowledge.search.ranking import TextScores, ViewWeights, rank
from knowledge.search.signals import (
    BEST_COSINE,
    FARTHEST,
    FIRST_SCORE,
    INTERCEPT,
    LEAST_STD,
    LEXICAL_SHARE,
    WEIGHTS,
    Calibration,
)
from knowledge.search.support import MET, PARTIAL, SUPPORTED, probability
from knowledge.search.support import WEIGHTS as SUPPORT_WEIGHTS
from knowledge.search.tokens import ProjectedQuestion

SCORES = {"dense": [0.3, 0.5], "window": [0.6, 0.4], "bm25": [2, 0], "base": [1.15, 0.9], "late": [0.7, 0.1]}


def signals(cosine: float, first: float = 0.4, share: float = 0.1) -> Mapping[str, float]:
    return {BEST_COSINE: cosine, FIRST_SCORE: first, LEXICAL_SHARE: share}


def observed(count: int = 400) -> list[Mapping[str, float]]:
    drawn = np.random.default_rng(5).normal((0.2, 0.4, 0.1), (0.08, 0.06, 0.07), (count, 3))
    return [signals(*row) for row in drawn.tolist()]


def test_signals_are_the_best_of_the_candidates_and_the_first_ones_share() -> None:
    two = {name: np.array(values, dtype=np.float32) for name, values in SCORES.items()}
    spans, weights = np.array([[0, 3]], dtype=np.int32), np.ones(1, dtype=np.float32)
    asked = EncodedQuestion(text="fee", vector=np.array([1, 0], dtype=np.float32), spans=spans, weights=weights)
    texts = {"fee": TextScores(question=ProjectedQuestion(asked, np.ones((1, 1), np.float32)), weight=2, **two)}
    blend = ViewWeights([View("fee")], [None])

    found = rank(texts, np.arange(2), blend, k=1, calibration=None, max_score=lambda _: 8.0)

    assert found.chosen.tolist() == [0]
    assert found.evidence
    assert found.evidence.score == found.evidence.signals[BEST_COSINE]
    assert found.evidence.signals == pytest.approx({BEST_COSINE: 0.5, FIRST_SCORE: 0.65, LEXICAL_SHARE: 0.25})


def test_one_in_twenty_background_questions_reaches_the_bar() -> None:
    questions = observed()
    calibration = Calibration.of(questions)
    assert sum(calibration.score(question) >= calibration.bar for question in questions) == 20
    assert sum(calibration.score(question) >= calibration.doubt for question in questions) == 80


def test_the_score_adds_weighted_deviations() -> None:
    calibration = Calibration(means=signals(0.2, 0.45, 0.1), stds=signals(0.1, 0.05, 0.2), bar=0.0, doubt=0.0)
    two_above_one_below = INTERCEPT + 2 * WEIGHTS[BEST_COSINE] - WEIGHTS[FIRST_SCORE]
    assert calibration.score(signals(0.4, 0.4, 0.1)) == pytest.approx(two_above_one_below)


def test_no_signal_decides_alone_where_background_questions_hardly_differ() -> None:
    calibration = Calibration.of([signals(0.2, share=0.0)] * 400)
    assert set(calibration.stds.values()) == {LEAST_STD}
    assert math.isclose(calibration.score(signals(0.2, share=1.0)), INTERCEPT + FARTHEST * WEIGHTS[LEXICAL_SHARE])


def test_a_record_gives_the_same_scores_and_no_record_no_calibration() -> None:
    calibration = Calibration.of(observed())
    record = calibration.record(400)
    assert record["questions"] == 400
    assert Calibration.load(record) == calibration
    assert Calibration.load(None) is None


@pytest.mark.parametrize(
    ("labels", "bar", "doubt", "odds"),
    [
        ({"bar": 0.2}, 0.2, 0.2, (1.0, 0.0)),  # with a bar of labels there is no doubt
        ({"bar": -1.5, "slope": 0.5, "shift": 2}, -1.5, -1.5, (0.5, 2.0)),
        ({"slope": 0.5, "shift": 2}, 1.0, 0.5, (0.5, 2.0)),
    ],
)
def test_labels_take_the_place_of_the_measured_bar_and_give_the_odds(
    labels: Mapping[str, float], bar: float, doubt: float, odds: tuple[float, float]
) -> None:
    measured = {**Calibration.of(observed()).record(400), "bar": 1.0, "doubt": 0.5}
    found = Calibration.load({**measured, "labels": labels})
    assert found is not None
    assert (found.bar, found.doubt, found.odds) == (bar, doubt, odds)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"bar": "low"}},
        {"labels": [1]},
        {"labels": {"slope": -1}},
        {"bar": "high"},
        {"bar": math.inf},
        {"doubt": None},
        {"signals": {}},
        {"signals": {BEST_COSINE: {"mean": 0.2}}},
    ],
)
def test_a_broken_record_is_damage(change: Mapping[str, object]) -> None:
    record = {**Calibration.of(observed()).record(400), **change}
    with pytest.raises(IndexDamaged, match="ragctl ingest"):
        Calibration.load(record)


def test_background_questions_are_many_and_no_two_alike() -> None:
    questions = background()
    assert len({question.lower() for question in questions}) == len(questions) == 400
    assert all(question.isascii() and question.strip() == question != "" for question in questions)


# Candidates


@given(scores=st.lists(st.integers(0, 5), max_size=30), k=st.integers(1, 35))
def test_the_best_rows_are_the_first_of_a_stable_sort(scores: list[int], k: int) -> None:
    rows = np.arange(len(scores), dtype=np.int64) * 3 + 1
    expected = sorted(sorted(rows, key=lambda row: -scores[(row - 1) // 3])[:k])
    assert best_rows(np.array(scores, dtype=np.float32), rows, k).tolist() == expected


@pytest.mark.parametrize(
    ("scores", "mean", "std", "z"),
    [([0.5, 0.2, 0.1], 0.2, 0.1, [3, 0, -1]), ([0.50001, 0.5], 0.5, 0.0, [0, 0]), ([0.50001, 0.5], 0.5, 1e-9, [0, 0])],
    ids=["some", "all alike", "nearly alike"],
)
def test_standard_scores_are_deviations_above_the_collections_mean_unless_all_are_alike(
    scores: list[float], mean: float, std: float, z: list[float]
) -> None:
    assert Signal(np.array(scores, dtype=np.float32), mean, std).z == pytest.approx(z, abs=1e-5)


# Support


VERBATIM = dict.fromkeys(SUPPORT_WEIGHTS, 0.0) | {"weakest": MET, "together": 1.0}


def test_support_is_full_word_for_word_partial_in_other_words_and_none_with_nothing_in_common() -> None:
    true, changed = probability(VERBATIM), probability(VERBATIM | {"differences": -1.0})
    assert true > SUPPORTED
    assert probability(VERBATIM | {"together": 0.3}) > PARTIAL
    assert probability(VERBATIM | {"weakest": 0.2, "together": 0.0}) < PARTIAL
    assert changed / (1 - changed) < true / (1 - true) / 2  # a difference costs more than half of the odds
