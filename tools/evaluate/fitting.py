"""Fit an index's bar and its confidence to labelled questions, and report the fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from evaluate import calibration
from evaluate.calibration import ChanceQuality, ConformalBound, ErrorRates, LabelledScores, Odds
from evaluate.judge import contains, strip_marks
from evaluate.metrics import Goal
from evaluate.question_files import LabelledQuestion, chunk_names
from knowledge.model.values import Evidence, SearchResult
from knowledge.search.signals import Calibration
from rag.answer.confidence import NO_SOURCES, answer_signals, chance_faithful, log_odds, weights_for
from rag.answer.finish import FinishedAnswer
from rag.ledger import Ledger
from rag.pipeline import Pipeline
from rag.values.answer import Answer, Confidence, Proceed
from rag.values.chat import Completion, Deadline
from rag.values.question import Question
from rag.write.extractive import ExtractiveWriter

QUESTION_LIMIT_S = 60.0
MIN_COMPLETIONS = 19
"""The least number of labelled completions for a fit of the shift."""


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """The evidence and the confidence for a labelled question.

    ``score`` is the joined evidence (``knowledge.search.signals``) that a bar is compared with. ``log_odds`` are those
    of the shipped confidence, None without a quote. ``right``: the quotes hold the ``answer``, or, without that label,
    cite an ``expected`` document; None if an answerable question has neither label.
    """

    answerable: bool
    score: float
    log_odds: float | None = None
    right: bool | None = None


class CaseCollector:
    """Asks ``pipeline`` without its gate, its memory and its language model."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._evidence: Evidence | None = None
        self._log_odds: float | None = None
        self._pipeline = replace(
            pipeline,
            gate=self._pass_all,
            score=self._record_log_odds,
            write=ExtractiveWriter(),
            answering=replace(pipeline.answering, check=None),
            cache=None,
            conversation=None,
            learn=None,
            rerank=None,
            feedback=None,
        )

    def cases(self, questions: Iterable[LabelledQuestion]) -> Iterator[LabelledCase | None]:
        """Yield a case for each question; None without a search (a greeting) or without a label."""
        for labelled in questions:
            self._evidence = self._log_odds = None
            deadline = Deadline.after(QUESTION_LIMIT_S, self._pipeline.clock)
            answer = self._pipeline.run(Question(text=labelled.question), deadline=deadline)
            if self._evidence is None or labelled.answerable is None:
                yield None
                continue
            right = _is_right(answer, labelled) if labelled.answerable else False
            yield LabelledCase(labelled.answerable, self._evidence.score, self._log_odds, right)

    def _pass_all(self, result: SearchResult, _: Question) -> Proceed:
        self._evidence = result.evidence
        return Proceed(result.hits, len(result.hits), result.evidence)

    def _record_log_odds(self, answer: FinishedAnswer, found: Proceed) -> Confidence:
        values = answer_signals(answer, found)
        self._log_odds = None if values is None else log_odds(values, weights_for(found))
        return NO_SOURCES


def _is_right(answer: Answer, labelled: LabelledQuestion) -> bool | None:
    if labelled.answer:
        return contains(strip_marks(answer.text, (one.raw for one in answer.citations)), labelled.answer)
    if not labelled.expected:
        return None
    cited = {name for citation in answer.citations for hit in citation.hits for name in chunk_names(hit.chunk)}
    return any(name.casefold() in cited for name in labelled.expected)


@dataclass(frozen=True, slots=True)
class FittedThreshold:
    """``before`` and ``after`` are the errors of the bar in use and, held out, of the new one; ``bar`` replaces it.

    ``after`` and ``bound`` are None if no bar could be fitted; ``taken``: the new bar is used. ``best`` are the errors
    of the best compromise, held out, if the new bar is not good.
    """

    verdict: str
    before: ErrorRates
    after: ErrorRates | None = None
    best: ErrorRates | None = None
    bound: ConformalBound | None = None
    bar: float | None = None
    taken: bool = False


@dataclass(frozen=True, slots=True)
class FittedConfidence:
    """The quality of the shipped and, held out, of the fitted confidence; ``odds`` are used from now."""

    verdict: str
    before: ChanceQuality | None = None
    after: ChanceQuality | None = None
    odds: Odds = calibration.SHIPPED


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """The fit to ``answerable`` and ``unanswerable`` labelled questions."""

    answerable: int
    unanswerable: int
    threshold: FittedThreshold
    confidence: FittedConfidence

    @property
    def labels(self) -> Mapping[str, object] | None:
        """The fields for the index (``knowledge.build.labels``), or None without a fit."""
        (slope, shift), bar = self.confidence.odds, self.threshold.bar
        fields: dict[str, object] = {} if bar is None else {"bar": bar}
        if self.confidence.odds != calibration.SHIPPED:
            fields |= {"slope": slope, "shift": shift}
        return {**fields, "questions": self.answerable + self.unanswerable, "older": False} if fields else None

    def fields(self) -> dict[str, Any]:
        """Return the fit as JSON."""
        threshold, confidence = self.threshold, self.confidence
        bound = threshold.bound
        return {
            "questions": {"answerable": self.answerable, "unanswerable": self.unanswerable},
            "threshold": {
                "verdict": threshold.verdict,
                "taken": threshold.taken,
                "before": _round(threshold.before, "falseRefusals", "falseAnswers", "backgroundPassed"),
                "after": _round(threshold.after, "falseRefusals", "falseAnswers", "backgroundPassed"),
                "bestCompromise": _round(threshold.best, "falseRefusals", "falseAnswers", "backgroundPassed"),
                "bound": bound and {"mean": round(bound.mean, 4), "surely": round(bound.surely, 4)},
            },
            "confidence": {
                "verdict": confidence.verdict,
                "slope": round(confidence.odds[0], 4),
                "shift": round(confidence.odds[1], 4),
                "before": _round(confidence.before, "logLoss", "ece", "auroc"),
                "after": _round(confidence.after, "logLoss", "ece", "auroc"),
            },
        }

    def tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Yield the fit for people: a sentence and the rows of a table, which may be empty."""
        threshold, confidence = self.threshold, self.confidence
        bars = [("the bar before", threshold.before), ("the new bar, held out", threshold.after)]
        bars += [("the best compromise, held out", threshold.best)]
        qualities = [("shipped", confidence.before), ("fitted, held out", confidence.after)]
        shares = [
            [name, *("" if share is None else _format_share(share) for share in astuple(errors))]
            for name, errors in bars
            if errors
        ]
        heads = ["", "false refusals", "false answers", "background passing"]
        yield f"Threshold: {threshold.verdict}.", [heads, *shares]
        rows = [[name, *(f"{value:.3f}" for value in astuple(quality))] for name, quality in qualities if quality]
        yield f"Confidence: {confidence.verdict}.", [["", "log loss", "ECE", "AUROC"], *rows] if rows else []


def _round(measured: ErrorRates | ChanceQuality | None, *names: str) -> dict[str, float | None] | None:
    if measured is None:
        return None
    values = zip(names, astuple(measured), strict=True)
    return {name: None if value is None else round(value, 4) for name, value in values}


def _format_share(share: float) -> str:
    return f"{100 * share:.1f} %"


def fit_calibration(
    cases: Sequence[LabelledCase],
    background: Sequence[float],
    known: Calibration,
    labels: Mapping[str, object],
    goal: Goal | None,
) -> FittedCalibration:
    """Fit ``cases`` for an index with the calibration ``known`` and the ``labels`` of an earlier fit."""
    scores = LabelledScores(
        np.array([case.score for case in cases if case.answerable]),
        np.array([case.score for case in cases if not case.answerable]),
        np.array(background),
    )
    threshold = choose_threshold(scores, known.bar, goal)
    if threshold.bar is None and "bar" in labels:
        threshold = replace(threshold, bar=known.bar)  # the bar of the earlier fit stays
    bar = known.bar if threshold.bar is None else threshold.bar
    confidence = fit_confidence(cases, bar)
    if confidence.before is None and known.odds != calibration.SHIPPED:  # too few answers to judge the earlier fit
        confidence = FittedConfidence(f"{confidence.verdict}; the one in use stays", odds=known.odds)
    return FittedCalibration(len(scores.answerable), len(scores.unanswerable), threshold, confidence)


def choose_threshold(scores: LabelledScores, in_use: float, goal: Goal | None) -> FittedThreshold:
    """Fit the bar for ``goal``; without a goal that for false refusals, if it is good and better than ``in_use``."""
    before, wanted = calibration.error_rates(in_use, scores), goal or Goal.FALSE_REFUSALS
    if missing := _missing_labels(wanted, scores):
        return FittedThreshold(f"{missing}; the bar stays", before)
    bar, after = calibration.fit_bar(wanted, scores), calibration.held_out_errors(wanted, scores)
    if goal is None and not after.is_good:
        best = None if _missing_labels(Goal.BOTH, scores) else calibration.held_out_errors(Goal.BOTH, scores)
        verdict = (
            "this index allows no good threshold: one that refuses 5 % of the answerable questions lets too many "
            "others pass. The bar stays; --threshold-for false-refusals or both takes one of the others all the same"
        )
        return FittedThreshold(verdict, before, after, best)
    if goal is None and after.loss >= before.loss:
        verdict = "a bar from these questions is no better than the one in use, which stays"
        return FittedThreshold(verdict, before, after)
    if wanted is Goal.BOTH:
        verdict = f"{bar:.2f}, the best compromise; it promises nothing"
        return FittedThreshold(verdict, before, after, bar=bar, taken=True)
    kind, error, sample = "unanswerable questions", "answered", scores.unanswerable
    if wanted is Goal.FALSE_REFUSALS:
        kind, error, sample = "answerable questions", "refused", scores.answerable
    bound = ConformalBound.from_count(len(sample))
    verdict = (
        f"{bar:.2f}: of {kind} like these {len(sample)}, at most {_format_share(bound.mean)} are {error}, on average "
        f"over samples of this size; with 95 % confidence at most {_format_share(bound.surely)}"
        f"{'' if after.is_good else '. Too many of the others pass for a good threshold'}"
    )
    return FittedThreshold(verdict, before, after, bound=bound, bar=bar, taken=True)


def _missing_labels(goal: Goal, scores: LabelledScores) -> str:
    known, strange, least = len(scores.answerable), len(scores.unanswerable), calibration.MIN_QUESTIONS
    if goal is Goal.BOTH and not (known > 1 and strange > 1):
        return "a compromise needs answerable and unanswerable questions"
    if goal is Goal.FALSE_ANSWERS and strange < least:
        return f"{least - strange} more unanswerable questions are needed ({least} in all)"
    if goal is Goal.FALSE_REFUSALS and known < least:
        return f"{least - known} more answerable questions are needed ({least} in all)"
    return ""


def fit_confidence(cases: Sequence[LabelledCase], bar: float) -> FittedConfidence:
    """Fit the confidence to the answers above ``bar``, if enough of them are labelled right or wrong."""
    used = [case for case in cases if case.score >= bar and case.right is not None and case.log_odds is not None]
    right = np.array([float(bool(case.right)) for case in used])
    if len(used) < calibration.MIN_ANSWERS:
        return FittedConfidence(
            f"{calibration.MIN_ANSWERS - len(used)} more answers labelled right or wrong are needed"
        )
    if right.min() == right.max():
        return FittedConfidence("all labelled answers are alike, right or wrong")
    odds_of_answers = np.array([float(case.log_odds or 0.0) for case in used])
    before = calibration.measure_chances(calibration.scale_chances(odds_of_answers, calibration.SHIPPED), right)
    after = calibration.measure_chances(calibration.held_out_chances(odds_of_answers, right), right)
    after = replace(after, auroc=before.auroc)  # one slope changes no order; the slopes of ten folds would
    if after.log_loss >= before.log_loss:
        verdict = f"the shipped one stays: {len(used)} labelled answers make none better"
        return FittedConfidence(verdict, before, after)
    odds = calibration.fit_odds(odds_of_answers, right)
    verdict = f"fitted to {len(used)} answers: log odds x {odds[0]:.2f} {odds[1]:+.2f}"
    return FittedConfidence(verdict, before, after, odds)


def fit_shift(pipeline: Pipeline, labelled: Sequence[LabelledQuestion]) -> str:
    """Fit the shift of the confidence in a model's answers to the labelled completions.

    Returns a sentence with the shift of the log odds, or with the number of missing labels; "" without completions.
    The prior of the shift has the mean 0 and the deviation 1.
    """
    from scipy.optimize import brentq

    labels: list[tuple[float, float]] = []
    for one in labelled:
        if one.completion and one.faithful is not None:
            ledger = Ledger(pipeline.clock, Deadline.after(QUESTION_LIMIT_S, pipeline.clock))
            draft = pipeline.prepare(Question(text=one.question), ledger)
            if draft.context is not None:
                completion = Completion(text=one.completion, model="labelled", finish_reason="stop")
                if statements := pipeline.finish(draft, completion, ledger).statements:
                    labels.append((chance_faithful(statements), one.faithful))
    if len(labels) < MIN_COMPLETIONS:
        missing = MIN_COMPLETIONS - len(labels)
        return f"{missing} more labelled completions are needed to fit the confidence in a model" if labels else ""
    chances, faithful = (np.array(column) for column in zip(*labels, strict=True))
    odds = np.log(chances / (1 - chances))

    def slope(shift: float) -> float:
        return float(np.sum(faithful - 1 / (1 + np.exp(-odds - shift))) - shift)

    fitted = float(brentq(slope, -len(labels), len(labels)))
    found = f"{fitted:+.2f} from {len(labels)} answers; set CONFIDENCE_SHIFT={fitted:.2f}"
    return f"Confidence in what a model wrote: shift {found}"
