"""All reported figures: their names, the questions that they count, and their statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from evaluate.intervals import Rows, Statistic, auroc, ece, quantile, ratio

if TYPE_CHECKING:
    from evaluate.judge import JudgedQuestion

type Row = tuple[float, float]
type Unit = Literal["share", "score", "count", "ms", "chars", "usd"]

COST_QUESTIONS = 1000
"""The number of questions that a cost is given for."""


class Goal(StrEnum):
    """The errors that a threshold keeps small; ``BOTH`` is the best compromise, which promises nothing."""

    FALSE_REFUSALS = "false-refusals"
    FALSE_ANSWERS = "false-answers"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Metric:
    """``name`` is the key in JSON and in --fail-under, ``plain`` the label for everybody, ``technical`` the field's.

    ``row`` returns two numbers for a question, or None; ``statistic`` joins all rows. ``better`` is the better
    direction, or "". In a share of questions (``unit``) each row is 0 or 1 over 1.
    """

    name: str
    group: str
    plain: str
    technical: str
    row: Callable[[JudgedQuestion], Row | None]
    statistic: Statistic = ratio
    unit: Unit = "share"
    better: Literal["higher", "lower", ""] = "higher"

    def rows(self, judged: Sequence[JudgedQuestion]) -> Rows:
        """Return the rows of the questions that have one, shape (n, 2)."""
        import numpy as np  # late, as in intervals

        rows = [row for one in judged if (row := self.row(one)) is not None]
        return np.asarray(rows, dtype=np.float64).reshape(-1, 2)


def _mean(value: Callable[[JudgedQuestion], float | None]) -> Callable[[JudgedQuestion], Row | None]:
    def row(one: JudgedQuestion) -> Row | None:
        measured = value(one)
        return None if measured is None else (float(measured), 1.0)

    return row


_right_answer = _mean(
    lambda one: bool(one.right) if one.answerable and (one.gold or one.expected) and not one.failed else None
)
_false_refusal = _mean(lambda one: one.refused if one.answerable is True and not one.failed else None)
_false_answer = _mean(lambda one: one.answered if one.answerable is False and not one.failed else None)
_sure_false_answer = _mean(
    lambda one: one.answered and not one.low if one.answerable is False and not one.failed else None
)
_latency = _mean(lambda one: None if one.failed else one.ms)
_cost = _mean(lambda one: None if one.cost_usd is None else COST_QUESTIONS * one.cost_usd)


def _support_share(count: Callable[[JudgedQuestion], int]) -> Callable[[JudgedQuestion], Row | None]:
    def row(one: JudgedQuestion) -> Row | None:
        total = one.supported + one.partial + one.unsupported
        return (float(count(one)), float(total)) if total else None

    return row


def _citation_precision(one: JudgedQuestion) -> Row | None:
    return (float(one.bearing), float(one.checked_citations)) if one.checked_citations else None


def _confidence(one: JudgedQuestion) -> Row | None:
    return (one.score / 100, float(one.right)) if one.answered and one.right is not None else None


ANSWERS, SEARCH, SUPPORT = "Answers", "Search", "Statements"
REFUSAL, CONFIDENCE, EFFORT = "Saying no", "Confidence", "Time and cost"
MEDIAN = quantile(0.5)


def _mean_count(name: str, plain: str, value: Callable[[JudgedQuestion], float]) -> Metric:
    return Metric(name, EFFORT, plain, "mean", _mean(value), ratio, "count", "lower")


METRICS: tuple[Metric, ...] = (
    Metric("right", ANSWERS, "Right answers", "answerable, judged right", _right_answer),
    Metric("contained", ANSWERS, "Holds the words you expect", "gold containment", _mean(lambda one: one.contained)),
    Metric("cited", ANSWERS, "Names the right document", "expected document cited", _mean(lambda one: one.cited)),
    Metric("f1", ANSWERS, "Words in common with yours", "token F1 (SQuAD)", _mean(lambda one: one.f1), unit="score"),
    Metric(
        "chars", ANSWERS, "Length of an answer", "median characters", _mean(lambda one: one.chars), MEDIAN, "chars", ""
    ),
    Metric("recall", SEARCH, "Right places found", "recall@10", _mean(lambda one: one.recall), unit="score"),
    Metric("ndcg", SEARCH, "... and near the top", "nDCG@10", _mean(lambda one: one.ndcg), unit="score"),
    Metric("mrr", SEARCH, "... the first of them", "MRR@10", _mean(lambda one: one.mrr), unit="score"),
    Metric("falseRefusals", REFUSAL, "Said no to what is there", "false refusals", _false_refusal, better="lower"),
    Metric("falseAnswers", REFUSAL, "Answered what is not there", "false answers", _false_answer, better="lower"),
    Metric(
        "sureFalseAnswers",
        REFUSAL,
        "... without marking it Low",
        "false answers above Low",
        _sure_false_answer,
        better="lower",
    ),
    Metric("supported", SUPPORT, "Borne out by what they cite", "supported", _support_share(lambda one: one.supported)),
    Metric("partial", SUPPORT, "In part", "partial", _support_share(lambda one: one.partial), better="lower"),
    Metric(
        "unsupported",
        SUPPORT,
        "Not at all",
        "unsupported",
        _support_share(lambda one: one.unsupported),
        better="lower",
    ),
    Metric("citationPrecision", SUPPORT, "Citations that bear it out", "citation precision", _citation_precision),
    Metric(
        "citationRecall",
        SUPPORT,
        "Statements with such a citation",
        "citation recall",
        _support_share(lambda one: one.backed),
    ),
    Metric("ece", CONFIDENCE, "How far it is off", "ECE, ten bins", _confidence, ece, "score", "lower"),
    Metric("auroc", CONFIDENCE, "Tells right from wrong", "AUROC", _confidence, auroc, "score"),
    Metric("p50Ms", EFFORT, "Usual wait", "latency p50", _latency, MEDIAN, "ms", "lower"),
    Metric("p95Ms", EFFORT, "One in 20 waits longer than", "latency p95", _latency, quantile(0.95), "ms", "lower"),
    Metric("p99Ms", EFFORT, "One in 100 longer than", "latency p99", _latency, quantile(0.99), "ms", "lower"),
    _mean_count("llmCalls", "LLM calls a question", lambda one: one.calls),
    _mean_count("promptTokens", "Tokens read a question", lambda one: one.prompt_tokens),
    _mean_count("completionTokens", "Tokens written a question", lambda one: one.completion_tokens),
    Metric("usdPer1000", EFFORT, "LLM cost of 1,000 questions", "USD", _cost, ratio, "usd", "lower"),
    Metric("failed", EFFORT, "Questions that failed", "errors", _mean(lambda one: bool(one.failed)), better="lower"),
)

BY_NAME = {metric.name: metric for metric in METRICS}
LIMITED = tuple(metric.name for metric in METRICS if metric.better)
"""The figures that --fail-under accepts."""
