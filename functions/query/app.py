"""The query function's HTTP API: the only room that knows API Gateway."""

from __future__ import annotations

import base64
import json
import time
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.logging import correlation_paths
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from knowledge.errors import IndexUnavailable
from rag.config.settings import Settings, load
from rag.errors import BadRequest, LlmUnavailable, StoreUnavailable, UnknownResponse
from rag.http import requests
from rag.http.replies import QUERY, QUESTION, error_reply, health_reply, query_reply, question_reply
from rag.http.requests import BodyTooLarge, InvalidJson, UnsupportedMediaType
from rag.http.schema import FeedbackReply
from rag.values.answer import Deadline
from rag.wiring import build_service
from snapshot import register_hooks
from telemetry import logger, metrics, observe, observe_error, trace

MAX_BODY_BYTES = 64 * 1024
DEADLINE_MARGIN_S = 0.5
"""Kept back of Lambda's remaining time, so that the answer still gets out."""

ROUTES = {("POST", "/api/query"), ("POST", "/v1/query"), ("POST", "/api/feedback"), ("GET", "/api/health")}
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
REST_EVENT = {"httpMethod": str, "path": str, "headers": dict | None, "body": str | None}

settings = load(Settings)
metrics.set_default_dimensions(profile=settings.profile)
app = APIGatewayRestResolver()
service = build_service(settings)
register_hooks(service)

STATUS: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (BodyTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (UnsupportedMediaType, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (UnknownResponse, HTTPStatus.NOT_FOUND),
    (BadRequest, HTTPStatus.BAD_REQUEST),
    (IndexUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (LlmUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (Exception, HTTPStatus.INTERNAL_SERVER_ERROR),
)


@app.post("/api/query")
def post_query() -> Response[str]:
    """Answer one question."""
    answer = service.pipeline.run(requests.parse_query(_json_body()), deadline=_deadline())
    observe(answer)
    return _json(HTTPStatus.OK, query_reply(answer))


@app.post("/v1/query")
def post_question() -> Response[str]:
    """Answer one question, in the help desk's words."""
    question, debug = requests.parse_question(_json_body())
    answer = service.pipeline.run(question, deadline=_deadline())
    observe(answer)
    return _json(HTTPStatus.OK, question_reply(answer, debug=debug))


@app.post("/api/feedback")
def post_feedback() -> Response[str]:
    """Take a vote on a response."""
    vote = requests.parse_feedback(_json_body())
    service.vote(vote.response_id, helpful=vote.helpful, comment=vote.comment)
    metrics.add_metric("FeedbackReceived", MetricUnit.Count, 1)
    return _json(HTTPStatus.ACCEPTED, FeedbackReply(response_id=vote.response_id).model_dump())


@app.get("/api/health")
def get_health() -> Response[str]:
    """Is there an index, and who writes?"""
    return _json(HTTPStatus.OK, health_reply(service.health()))


@app.not_found
def not_found(error: NotFoundError) -> Response[str]:
    """404, or 405 where the path exists with another method; JSON as everywhere."""
    allowed = sorted(method for method, path in ROUTES if path == app.current_event.path.rstrip("/"))
    if not allowed:
        return _json(HTTPStatus.NOT_FOUND, {"error": "No such path", "code": "not_found"})
    body = {"error": f"Method not allowed; use {', '.join(allowed)}", "code": "method_not_allowed"}
    return _json(HTTPStatus.METHOD_NOT_ALLOWED, body, Allow=", ".join(allowed))


@app.exception_handler(Exception)
def failed(error: Exception) -> Response[str]:
    """Every error as a sentence and a stable code; what is ours is logged with its cause."""
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    body = error_reply(error, QUESTION if app.current_event.path.startswith("/v1/") else QUERY)
    observe_error(error, code=body["code"], status=status)
    wait = getattr(error, "retry_after", None)
    return _json(status, body, **({"Retry-After": str(max(1, round(wait)))} if wait else {}))


@logger.inject_lambda_context(correlation_id_path=correlation_paths.API_GATEWAY_REST)
@trace(enabled=not settings.tracing_disabled)
@metrics.log_metrics(capture_cold_start_metric=True)
def lambda_handler(event: Any, context: LambdaContext) -> dict[str, Any]:
    """The entry point: an API Gateway REST event in, its response out.

    Any other event is read as the body of a question: ``{"query": ...}`` of a direct invocation is answered alike.
    """
    return app.resolve(_as_request(event), context)


def _as_request(event: Any) -> dict[str, Any]:
    if isinstance(event, dict) and all(isinstance(event.get(name), kind) for name, kind in REST_EVENT.items()):
        return event
    return {"httpMethod": "POST", "path": "/api/query", "headers": {}, "body": json.dumps(event), "requestContext": {}}


def _json_body() -> str:
    event = app.current_event
    content_type = (event.headers.get("content-type") or "application/json").partition(";")[0].strip().lower()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaType("Content-Type must be application/json")
    encoded, body = event.is_base64_encoded, event.body or ""
    try:
        raw = base64.b64decode(body) if encoded else body.encode("utf-8", "surrogatepass")
        if len(raw) > MAX_BODY_BYTES:  # measured before it is read: too large is too large in any encoding
            raise BodyTooLarge(f"Request body exceeds {MAX_BODY_BYTES // 1024} KiB")
        return raw.decode() if encoded else body
    except ValueError as exc:
        raise InvalidJson("Request body must be JSON in UTF-8") from exc


def _deadline() -> Deadline:
    left_s = app.lambda_context.get_remaining_time_in_millis() / 1000 - DEADLINE_MARGIN_S
    return Deadline.after(min(settings.request_deadline_s, left_s), time.monotonic)


def _json(status: HTTPStatus, body: object, **headers: str) -> Response[str]:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(int(status), "application/json", text, headers={**HEADERS, **headers})
