"""Logs and metrics of the query function, through Powertools."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.metrics.functions import is_metrics_disabled

from rag.ledger import used_before
from rag.values.answer import Answer
from rag.values.chat import LlmUse

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

SERVICE = "query"
TIMINGS = {"retrieval": "RetrievalMs", "generation": "GenerationMs", "citation": "CitationMs", "total": "TotalMs"}

logger = Logger(service=SERVICE, use_rfc3339=True, utc=True)
metrics = Metrics(service=SERVICE)
"""Namespace and dimensions of all metrics; each request has values of its own."""
# A stack names its own in POWERTOOLS_METRICS_NAMESPACE, so that two stacks of an account do not add up.
metrics.namespace = metrics.namespace or "RagService"

# The libraries log through the standard module: their lines get the same form and the request's correlation id.
for room in ("rag", "knowledge"):
    logging.getLogger(room).addHandler(logger.registered_handler)
    logging.getLogger(room).propagate = False
    logging.getLogger(room).setLevel(logger.log_level)
# At DEBUG, which LogLevel sets for every logger on Lambda, libraries write whole requests: questions, passages, keys.
# Some libraries set a level themselves, so the root's handlers get a level too.
logging.getLogger().setLevel(logging.WARNING)
for handler in logging.getLogger().handlers:
    handler.setLevel(logging.WARNING)
_REQUEST: ContextVar[EphemeralMetrics | None] = ContextVar("request_metrics", default=None)
"""The metrics of this thread's request: the local server answers several at once, in one process."""
_WARM = threading.Event()


@contextmanager
def request_telemetry(context: LambdaContext, correlation_id: str | None) -> Iterator[None]:
    """Add the request's ids to log lines in this block, and write its metrics at its end, in one line.

    Powertools' decorators keep both for the whole process, which would mix the requests of several threads.
    """
    values = _new_metrics()
    token = _REQUEST.set(values)
    logger.thread_safe_append_keys(
        cold_start=not _WARM.is_set(),
        function_name=context.function_name,
        function_memory_size=int(context.memory_limit_in_mb),
        function_arn=context.invoked_function_arn,
        function_request_id=context.aws_request_id,
        correlation_id=correlation_id,
    )
    try:
        if not _WARM.is_set():
            _WARM.set()
            _new_metrics().add_cold_start_metric(context)
        yield
    finally:
        _write(values)
        logger.thread_safe_clear_keys()
        _REQUEST.reset(token)


def add_metric(name: str, unit: MetricUnit, value: float) -> None:
    """Add a metric of this request; outside of ``request_telemetry`` it is lost."""
    (_REQUEST.get() or _new_metrics()).add_metric(name, unit, value)


def observe(answer: Answer, *, protocol: str, first_text_ms: float | None = None) -> None:
    """Write metrics and one log line about an answer: numbers and ids, never the question's or the answer's text.

    ``first_text_ms`` is the time of a stream's first text.
    """
    _count("Answers", protocol=protocol)
    if first_text_ms is not None:
        add_metric("FirstTextMs", MetricUnit.Milliseconds, round(first_text_ms, 3))
    for slot, name in TIMINGS.items():
        add_metric(name, MetricUnit.Milliseconds, round(answer.timings.get(slot, 0.0), 3))
    completion = answer.completion
    add_metric("NoResults", MetricUnit.Count, int(completion is None and "small_talk" not in answer.events))
    _add_use(answer.llm)
    unsupported = sum(statement.support == "unsupported" for statement in answer.statements)
    add_metric("UnsupportedStatements", MetricUnit.Count, unsupported)
    for event, name in (("reframed", "Reframed"), ("reranked", "Reranked")):
        if event in answer.events:
            add_metric(name, MetricUnit.Count, 1)
    for layer in ("l1", "l2"):
        if f"cache_{layer}" in answer.events:
            _count("CacheHit", layer=layer)
    skipped = dict.fromkeys(answer.skipped)
    for stage in skipped:
        _count("SoftFailures", stage=stage)
    # 0 or 1 for every answer: the average is the share that an alarm needs.
    add_metric("IncompleteAnswers", MetricUnit.Count, int(bool(skipped)))
    # not the server's own words, which are not for the log
    model = completion.requested_model or completion.model if completion else None
    logger.info(
        "answered",
        response_id=answer.response_id,
        refused=answer.refused,
        confidence=answer.confidence.level,
        chunks=answer.chunks_retrieved,
        citations=len(answer.citations),
        model=model,
        cached=answer.cached,
        skipped=list(answer.skipped),
        degraded=completion.degraded if completion else False,
        total_ms=round(answer.timings.get("total", 0.0), 1),
    )


def observe_error(error: Exception, *, code: str, status: int) -> None:
    """Count an error by its code, with the model's usage before it; log the traceback of a server error."""
    _count("Errors", code=code)
    if (use := used_before(error)) != LlmUse():
        _add_use(use)
    if status >= 500:
        logger.exception("request failed", code=code, status=int(status))
    else:
        logger.info("request rejected", code=code, status=int(status))


def _add_use(use: LlmUse) -> None:
    """Count the usage of the whole request: answering, rewriting, re-ranking, failed calls."""
    add_metric("LlmCalls", MetricUnit.Count, use.calls)
    add_metric("LlmRetries", MetricUnit.Count, use.retries)
    add_metric("PromptTokens", MetricUnit.Count, use.prompt_tokens)
    add_metric("CompletionTokens", MetricUnit.Count, use.completion_tokens)
    if use.denied:
        add_metric("LlmDenied", MetricUnit.Count, use.denied)


def _count(name: str, **dimensions: str) -> None:
    """Count one ``name`` with further dimensions: CacheHit by layer, SoftFailures by stage, Errors by code."""
    single = _new_metrics(**dimensions)
    single.add_metric(name, MetricUnit.Count, 1)
    _write(single)


def _new_metrics(**dimensions: str) -> EphemeralMetrics:
    every = {**metrics.default_dimensions, **dimensions}
    return EphemeralMetrics(service=SERVICE, namespace=metrics.namespace, default_dimensions=every)


def _write(values: EphemeralMetrics) -> None:
    """Write one line in one piece: Powertools prints the line break apart, and another thread may write between."""
    if values.metric_set and not is_metrics_disabled():
        sys.stdout.write(json.dumps(values.serialize_metric_set(), separators=(",", ":")) + "\n")
        sys.stdout.flush()
