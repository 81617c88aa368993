"""Logs and metrics of the query function, through Powertools."""

from __future__ import annotations

import logging
import warnings

from aws_lambda_powertools import Logger, Metrics, single_metric
from aws_lambda_powertools.metrics import MetricUnit

from rag.ledger import used_before
from rag.values.answer import Answer, LlmUse

NAMESPACE = "RagService"
SERVICE = "query"
TIMINGS = {"retrieval": "RetrievalMs", "generation": "GenerationMs", "citation": "CitationMs", "total": "TotalMs"}
EVENTS = {"reframed": "Reframed", "reranked": "Reranked", "prompt_leak": "PromptLeaks"}

logger = Logger(service=SERVICE, use_rfc3339=True, utc=True)
metrics = Metrics(service=SERVICE)
# A stack names its own in POWERTOOLS_METRICS_NAMESPACE, so that two stacks of an account do not add up.
metrics.namespace = metrics.namespace or NAMESPACE

# The libraries log through the standard module: their lines get the same form and the request's correlation id.
for room in ("rag", "knowledge"):
    logging.getLogger(room).addHandler(logger.registered_handler)
    logging.getLogger(room).propagate = False
    logging.getLogger(room).setLevel(logger.log_level)
# At DEBUG, which LogLevel sets for every logger on Lambda, libraries write whole requests: questions, passages, keys.
# Some have a level of their own, so the handlers that theirs go to are told as well.
logging.getLogger().setLevel(logging.WARNING)
for handler in logging.getLogger().handlers:
    handler.setLevel(logging.WARNING)
# A health check or a refused request has none, and stderr is no place for JSON logs.
warnings.filterwarnings("ignore", message="No application metrics to publish")


def observe(answer: Answer, *, protocol: str, first_text_ms: float | None = None) -> None:
    """Metrics and one log line about an answer: numbers and ids, never what was asked or said.

    ``protocol`` is the one that it was asked in; ``first_text_ms`` says when the first text of a stream left.
    """
    _count("Answers", protocol=protocol)
    if first_text_ms is not None:
        metrics.add_metric("FirstTextMs", MetricUnit.Milliseconds, round(first_text_ms, 3))
    for slot, name in TIMINGS.items():
        metrics.add_metric(name, MetricUnit.Milliseconds, round(answer.timings.get(slot, 0.0), 3))
    completion = answer.completion
    metrics.add_metric("NoResults", MetricUnit.Count, int(completion is None and "small_talk" not in answer.events))
    _add_use(answer.llm)
    unsupported = sum(statement.support == "unsupported" for statement in answer.statements)
    metrics.add_metric("UnsupportedStatements", MetricUnit.Count, unsupported)
    for event, name in EVENTS.items():
        if event in answer.events:
            metrics.add_metric(name, MetricUnit.Count, 1)
    for layer in ("l1", "l2"):
        if f"cache_{layer}" in answer.events:
            _count("CacheHit", layer=layer)
    skipped = dict.fromkeys(answer.skipped)
    for stage in skipped:
        _count("SoftFailures", stage=stage)
    # Of every answer, 0 or 1: its average is their share, and an alarm cannot search for stages.
    metrics.add_metric("IncompleteAnswers", MetricUnit.Count, int(bool(skipped)))
    logger.info(
        "answered",
        response_id=answer.response_id,
        refused=answer.refused,
        confidence=answer.confidence.level,
        chunks=answer.chunks_retrieved,
        citations=len(answer.citations),
        model=completion.asked or completion.model if completion else None,  # what a server says is not for the log
        cached=answer.cached,
        skipped=list(answer.skipped),
        degraded=completion.degraded if completion else False,
        total_ms=round(answer.timings.get("total", 0.0), 1),
    )


def observe_error(error: Exception, *, code: str, status: int) -> None:
    """One ``Errors`` metric by code, and what was used before it; the error goes to the log when it is ours."""
    _count("Errors", code=code)
    if (use := used_before(error)) != LlmUse():
        _add_use(use)
    if status >= 500:
        logger.exception("request failed", code=code, status=int(status))
    else:
        logger.info("request rejected", code=code, status=int(status))


def _add_use(use: LlmUse) -> None:
    """All of a request: answers, rewriting and re-ranking, and the calls that failed."""
    metrics.add_metric("LlmCalls", MetricUnit.Count, use.calls)
    metrics.add_metric("LlmRetries", MetricUnit.Count, use.retries)
    metrics.add_metric("PromptTokens", MetricUnit.Count, use.prompt_tokens)
    metrics.add_metric("CompletionTokens", MetricUnit.Count, use.completion_tokens)
    if use.denied:
        metrics.add_metric("LlmDenied", MetricUnit.Count, use.denied)


def _count(name: str, **dimensions: str) -> None:
    """One of ``name``, by further dimensions: CacheHit by layer, SoftFailures by stage, Errors by code."""
    base = {"service": SERVICE, **metrics.default_dimensions}
    with single_metric(name, MetricUnit.Count, 1, namespace=metrics.namespace, default_dimensions=base) as metric:
        for dimension, value in dimensions.items():
            metric.add_dimension(dimension, value)
