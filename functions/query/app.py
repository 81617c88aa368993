"""The query function's HTTP API: which route answers what of API Gateway's REST events."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from operator import attrgetter
from typing import Any, NamedTuple

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.logging import correlation_paths
from aws_lambda_powertools.utilities.typing import LambdaContext
from routes import completions, cors, mcp, page, query
from routes.call import Call, Handle, json_response
from routes.failures import Failure, explain
from routes.gateway import as_request, reads_streams, since_received_s, streamed_whole

from rag.config.settings import Settings, load
from rag.http.replies import CHAT, QUERY, QUESTION, Wording
from rag.values.answer import Deadline
from rag.wiring import build_application
from snapshot import register_hooks
from telemetry import logger, metrics, observe_error

DEADLINE_MARGIN_S = 0.5
"""Kept back of Lambda's remaining time, so that the answer still gets out."""


class Route(NamedTuple):
    """``handle`` answers ``method`` on ``path``; ``wording`` is what errors call a question, ``told`` their body."""

    method: str
    path: str
    handle: Handle
    wording: Wording = QUERY
    told: Callable[[Failure], object] = attrgetter("body")

    def is_for(self, path: str) -> bool:
        """Whether it is for ``path``, whatever the method."""
        return re.fullmatch(re.sub("<[^>]+>", "[^/]+", self.path), path.rstrip("/") or "/") is not None


ROUTES = (
    Route("POST", "/api/query", query.post_query),
    Route("POST", "/v1/query", query.post_question, QUESTION),
    Route("POST", "/api/feedback", query.post_feedback),
    Route("GET", "/api/chunks/<chunk_id>", query.get_chunk),
    Route("GET", "/api/suggestions", query.get_suggestions),
    Route("GET", "/api/health", query.get_health),
    Route("POST", "/v1/chat/completions", completions.post_completion, CHAT, completions.told),
    Route("GET", "/v1/models", completions.get_models),
    Route("GET", "/v1/models/<model>", completions.get_model),
    Route("POST", "/mcp", mcp.post_message),
    Route("GET", "/", page.get_page),
    Route("GET", "/web/<file>", page.get_file),
    Route("GET", "/docs", page.get_docs),
    Route("GET", "/openapi.json", page.get_openapi),
)

settings = load(Settings)
metrics.set_default_dimensions(profile=settings.profile)
app = APIGatewayRestResolver()
service = build_application(settings)
register_hooks(service)


def _answered_by(route: Route) -> Handle:
    """``route`` as Powertools calls it: every error as a sentence and a stable code."""

    def handle(**parameters: str) -> Response[str]:
        if stream := getattr(app.lambda_context, "response_stream", None):
            stream = cors.SharedStream(stream, cors.shared_with(app.current_event.raw_event, settings.allowed_origins))
        call = Call(app.current_event, service, _deadline(can_stream=stream is not None), stream)
        try:
            return route.handle(call, **parameters)
        except NotFoundError as error:
            missing: Response[str] = not_found(error)
            return missing
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets a sentence
            failure = explain(error, route.wording)
            observe_error(error, code=failure.code, status=failure.status)
            return json_response(failure.status, route.told(failure), **failure.headers)

    return handle


@app.not_found
def not_found(error: NotFoundError) -> Response[str]:
    """404, or 405 where the path exists with another method; JSON as everywhere."""
    method, path = app.current_event.http_method, app.current_event.path
    allowed = sorted(route.method for route in ROUTES if route.is_for(path))
    if not allowed or method in allowed:
        return json_response(HTTPStatus.NOT_FOUND, {"error": "No such path", "code": "not_found"})
    body = {"error": f"Method not allowed; use {', '.join(allowed)}", "code": "method_not_allowed"}
    return json_response(HTTPStatus.METHOD_NOT_ALLOWED, body, Allow=", ".join(allowed))


for one in ROUTES:
    app.route(one.path, method=one.method)(_answered_by(one))


@logger.inject_lambda_context(correlation_id_path=correlation_paths.API_GATEWAY_REST)
@metrics.log_metrics(capture_cold_start_metric=True)
def lambda_handler(event: Any, context: LambdaContext) -> dict[str, Any] | bytes | None:
    """The entry point: an API Gateway REST event in, its response out.

    None where the response went to ``context.response_stream`` (``routes.streams.ResponseStream``), which a runtime
    that can stream brings; bytes where the stage reads streams and the runtime cannot. Any other event is read as the
    body of a question: ``{"query": ...}`` of a direct invocation is answered alike.
    """
    request = as_request(event)
    shared = cors.shared_with(request, settings.allowed_origins)
    if shared and request["httpMethod"] == "OPTIONS":
        response = cors.preflight(shared)
    else:
        response = cors.with_headers(app.resolve(request, context), shared)
    if (stream := getattr(context, "response_stream", None)) is None:
        return streamed_whole(response) if reads_streams(event) else response
    return None if stream.opened else response


def _deadline(*, can_stream: bool) -> Deadline:
    waited_s = since_received_s(app.current_event.raw_event, time.time())
    left_s = app.lambda_context.get_remaining_time_in_millis() / 1000 - DEADLINE_MARGIN_S
    first = Deadline.after(min(settings.request_deadline_s - waited_s, left_s), time.monotonic)
    if not can_stream:
        return first
    whole = Deadline.after(min(settings.stream_deadline_s, left_s), time.monotonic)
    return replace(first, between_s=settings.stream_idle_s, end=whole.at)
