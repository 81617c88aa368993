"""From labelled cases to what an index keeps of them, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from evaluate import platt, thresholds
from evaluate.goals import Goal
from evaluate.judged import Case
from evaluate.thresholds import Bound, Errors, Scores
from knowledge.search.signals import Calibration


@dataclass(frozen=True, slots=True)
class Threshold:
    """``before`` and ``after`` are the errors of the bar in use and, held out, of the new one; ``bar`` is what is used.

    ``after`` and ``bound`` are None where no bar could be fitted; ``taken`` says whether the new one is used. ``best``
    are the errors of the best compromise, held out, where the new one is no good.
    """

    verdict: str
    before: Errors
    after: Errors | None = None
    best: Errors | None = None
    bound: Bound | None = None
    bar: float | None = None
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Confidence:
    """The shipped confidence and, held out, the fitted one; ``odds`` are slope and shift that are used."""

    verdict: str
    before: platt.Quality | None = None
    after: platt.Quality | None = None
    odds: platt.Odds = platt.SHIPPED


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """What labels gave; ``answerable`` and ``unanswerable`` count them."""

    answerable: int
    unanswerable: int
    threshold: Threshold
    confidence: Confidence

    @property
    def labels(self) -> Mapping[str, object] | None:
        """What the index keeps (``knowledge.build.labels``); None where that is nothing."""
        (slope, shift), bar = self.confidence.odds, self.threshold.bar
        kept: dict[str, object] = {} if bar is None else {"bar": bar}
        if self.confidence.odds != platt.SHIPPED:
            kept |= {"slope": slope, "shift": shift}
        return {**kept, "questions": self.answerable + self.unanswerable, "older": False} if kept else None

    def fields(self) -> dict[str, Any]:
        """As JSON."""
        one, other = self.threshold, self.confidence
        return {
            "questions": {"answerable": self.answerable, "unanswerable": self.unanswerable},
            "threshold": {
                "verdict": one.verdict,
                "taken": one.taken,
                "before": _errors(one.before),
                "after": _errors(one.after),
                "bestCompromise": _errors(one.best),
                "bound": one.bound and {"mean": round(one.bound.mean, 4), "surely": round(one.bound.surely, 4)},
            },
            "confidence": {
                "verdict": other.verdict,
                "slope": round(other.odds[0], 4),
                "shift": round(other.odds[1], 4),
                "before": _quality(other.before),
                "after": _quality(other.after),
            },
        }

    def tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """For people: a sentence and the rows of a table below it, which may have none."""
        one, other = self.threshold, self.confidence
        bars = [("the bar before", one.before), ("the new bar, held out", one.after)]
        bars += [("the best compromise, held out", one.best)]
        qualities = [("shipped", other.before), ("fitted, held out", other.after)]
        shares = [
            [name, *("" if share is None else _share(share) for share in astuple(errors))]
            for name, errors in bars
            if errors
        ]
        yield f"Threshold: {one.verdict}.", [["", "false refusals", "false answers", "background passing"], *shares]
        told = [[name, *(f"{value:.3f}" for value in astuple(found))] for name, found in qualities if found]
        yield f"Confidence: {other.verdict}.", [["", "log loss", "ECE", "AUROC"], *told] if told else []


def fit_calibration(
    cases: Sequence[Case],
    background: Sequence[float],
    known: Calibration,
    labels: Mapping[str, object],
    goal: Goal | None,
) -> FittedCalibration:
    """What ``cases`` give an index whose calibration is ``known`` and whose owner gave it ``labels`` before."""
    scores = Scores(
        np.array([case.score for case in cases if case.answerable]),
        np.array([case.score for case in cases if not case.answerable]),
        np.array(background),
    )
    threshold = choose(scores, known.bar, goal)
    if threshold.bar is None and "bar" in labels:
        threshold = replace(threshold, bar=known.bar)  # kept: it was given before
    at = known.bar if threshold.bar is None else threshold.bar
    confidence = scale(cases, at)
    if confidence.before is None and known.odds != platt.SHIPPED:  # too little to judge the one that was given before
        confidence = Confidence(f"{confidence.verdict}; the one in use stays", odds=known.odds)
    return FittedCalibration(len(scores.answerable), len(scores.unanswerable), threshold, confidence)


def choose(scores: Scores, in_use: float, goal: Goal | None) -> Threshold:
    """The bar for ``goal``; without one that for false refusals, if it is good and better than the one ``in_use``."""
    before, wanted = thresholds.errors(in_use, scores), goal or Goal.FALSE_REFUSALS
    if lacking := _lacking(wanted, scores):
        return Threshold(f"{lacking}; the bar stays", before)
    bar, after = thresholds.bar(wanted, scores), thresholds.held_out(wanted, scores)
    if goal is None and not after.good:
        best = None if _lacking(Goal.BOTH, scores) else thresholds.held_out(Goal.BOTH, scores)
        verdict = (
            "this index allows no good threshold: one that refuses 5 % of the answerable questions lets too many "
            "others pass. The bar stays; --threshold-for false-refusals or both takes one of the others all the same"
        )
        return Threshold(verdict, before, after, best)
    if goal is None and after.loss >= before.loss:
        return Threshold("a bar from these questions is no better than the one in use, which stays", before, after)
    if wanted is Goal.BOTH:
        return Threshold(f"{bar:.2f}, the best compromise; it promises nothing", before, after, bar=bar, taken=True)
    rests_on = scores.answerable if wanted is Goal.FALSE_REFUSALS else scores.unanswerable
    promise = thresholds.bound(len(rests_on))
    what = "answerable questions" if wanted is Goal.FALSE_REFUSALS else "unanswerable questions"
    done = "refused" if wanted is Goal.FALSE_REFUSALS else "answered"
    verdict = (
        f"{bar:.2f}: of {what} like these {len(rests_on)}, at most {_share(promise.mean)} are {done}, on average over "
        f"samples of this size; with 95 % confidence at most {_share(promise.surely)}"
        f"{'' if after.good else '. Too many of the others pass for a good threshold'}"
    )
    return Threshold(verdict, before, after, bound=promise, bar=bar, taken=True)


def scale(cases: Sequence[Case], bar: float) -> Confidence:
    """The confidence of answers past ``bar``, if enough of them are known to be right or wrong."""
    used = [case for case in cases if case.score >= bar and case.right is not None and case.log_odds is not None]
    right = np.array([float(bool(case.right)) for case in used])
    if len(used) < platt.LEAST or right.min() == right.max():
        few = f"{platt.LEAST - len(used)} more answers labelled right or wrong are needed"
        return Confidence(few if len(used) < platt.LEAST else "all labelled answers are alike, right or wrong")
    log_odds = np.array([float(case.log_odds or 0.0) for case in used])
    before = platt.quality(platt.chances(log_odds, platt.SHIPPED), right)
    # A slope changes no order; ten of them, one a fold, would.
    after = replace(platt.quality(platt.held_out(log_odds, right), right), auroc=before.auroc)
    if after.log_loss >= before.log_loss:
        return Confidence(f"the shipped one stays: {len(used)} labelled answers make none better", before, after)
    odds = platt.fit(log_odds, right)
    return Confidence(f"fitted to {len(used)} answers: log odds x {odds[0]:.2f} {odds[1]:+.2f}", before, after, odds)


def _lacking(goal: Goal, scores: Scores) -> str:
    known, strange = len(scores.answerable), len(scores.unanswerable)
    if goal is Goal.BOTH and not (known > 1 and strange > 1):
        return "a compromise needs answerable and unanswerable questions"
    if goal is Goal.FALSE_ANSWERS and strange < thresholds.LEAST:
        return f"{thresholds.LEAST - strange} more unanswerable questions are needed ({thresholds.LEAST} in all)"
    if goal is Goal.FALSE_REFUSALS and known < thresholds.LEAST:
        return f"{thresholds.LEAST - known} more answerable questions are needed ({thresholds.LEAST} in all)"
    return ""


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _errors(errors: Errors | None) -> dict[str, float | None] | None:
    if errors is None:
        return None
    names = ("falseRefusals", "falseAnswers", "backgroundPassed")
    shares = zip(names, astuple(errors), strict=True)
    return {name: None if share is None else round(share, 4) for name, share in shares}


def _quality(quality: platt.Quality | None) -> dict[str, float | None] | None:
    if quality is None:
        return None
    return {"logLoss": round(quality.log_loss, 4), "ece": round(quality.ece, 4), "auroc": round(quality.auroc, 4)}
