"""The query function's HTTP API: the table of routes, and the handler of API Gateway's REST events."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, NamedTuple

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent
from aws_lambda_powertools.utilities.typing import LambdaContext
from routes import gateway, mcp, openai, page, query
from routes.call import Call, json_response
from routes.gateway import Response

from rag.config.settings import Settings, load
from rag.http.failures import CHAT, MCP, PAGE, QUERY, QUESTION, RESPONSES, Endpoint, error_body_at
from rag.values.chat import Deadline
from rag.wiring.application import build_application
from snapshot import register_hooks
from telemetry import metrics, request_telemetry

DEADLINE_MARGIN_S = 0.5
"""Reserve of Lambda's remaining time for sending the response."""
_NO_SUCH_PATH = (HTTPStatus.NOT_FOUND, "No such path", "not_found")


class Route(NamedTuple):
    """``handle`` answers ``method`` on ``path``; it takes the ``Call`` and the parameters of the path."""

    method: str
    path: str
    handle: Callable[..., Response]
    endpoint: Endpoint = QUERY

    def parameters(self, path: str) -> dict[str, str] | None:
        """Return the parameters in ``path``; None if it is not this route's path, whatever the method."""
        pattern = re.sub("<([^>]+)>", r"(?P<\1>[^/]+)", self.path)
        found = re.fullmatch(pattern, path.rstrip("/") or "/")
        return found.groupdict() if found else None


ROUTES = (
    Route("POST", "/api/query", query.post_query),
    Route("POST", "/v1/query", query.post_question, QUESTION),
    Route("POST", "/api/feedback", query.post_feedback),
    Route("GET", "/api/chunks/<chunk_id>", query.get_chunk),
    Route("GET", "/api/suggestions", query.get_suggestions),
    Route("GET", "/api/health", query.get_health),
    Route("POST", "/v1/chat/completions", openai.post_completion, CHAT),
    Route("POST", "/v1/responses", openai.post_response, RESPONSES),
    Route("GET", "/v1/models", openai.get_models, CHAT),
    Route("GET", "/v1/models/<model>", openai.get_model, CHAT),
    Route("POST", "/mcp", mcp.post_message, MCP),
    Route("GET", "/", page.get_page, PAGE),
    Route("GET", "/docs", page.get_docs, PAGE),
    Route("GET", "/openapi.json", page.get_openapi, PAGE),
)

settings = load(Settings)
metrics.set_default_dimensions(profile=settings.profile)
service = build_application(settings)
settings = service.settings
register_hooks(service)


def lambda_handler(event: Any, context: LambdaContext) -> dict[str, Any] | bytes | None:
    """Answer an API Gateway REST event; safe for any number of threads.

    Any other event is read as the body of a question, as ``{"query": ...}`` of a direct invocation. Returns None if the
    response went to ``context.response_stream`` (``routes.call.ResponseStream``), which a streaming runtime provides;
    bytes if the stage reads streams and the runtime has none.
    """
    request = APIGatewayProxyEvent(gateway.as_request(event))
    raw = request.raw_event
    stream = getattr(context, "response_stream", None)
    headers = gateway.cors_headers(request.headers.get("origin", ""), settings.allowed_origins)
    if headers and request.http_method == "OPTIONS":
        response = gateway.preflight_response(headers)
    else:
        with request_telemetry(context, (raw.get("requestContext") or {}).get("requestId")):
            left_s = context.get_remaining_time_in_millis() / 1000
            waited_s = gateway.since_received_s(raw, time.time())
            deadline = _deadline(left_s, waited_s, can_stream=stream is not None)
            response = dispatch(Call(request, service, deadline, stream, headers))
            response = gateway.add_headers(response, headers)
    if stream is None:
        return gateway.streamed_whole(response) if gateway.reads_streams(event) else response
    return None if stream.opened else response


def dispatch(call: Call) -> Response:
    """Return the response of the route for ``call``; every error is a sentence and a stable code."""
    path = call.event.path
    found = [(route, parameters) for route in ROUTES if (parameters := route.parameters(path)) is not None]
    for route, parameters in found:
        if route.method != call.event.http_method:
            continue
        if route.endpoint is PAGE and settings.web == "off":
            return _error_response(path, *_NO_SUCH_PATH)
        call = replace(call, endpoint=route.endpoint)
        try:
            return route.handle(call, **parameters)
        except Exception as error:  # noqa: BLE001 - the caller gets a sentence for every error
            failure = call.report(error)
            return json_response(failure.status, failure.body, **failure.headers)
    if not found:
        return _error_response(path, *_NO_SUCH_PATH)
    allowed = ", ".join(sorted(route.method for route, _ in found))
    sentence = f"Method not allowed; use {allowed}"
    return _error_response(path, HTTPStatus.METHOD_NOT_ALLOWED, sentence, "method_not_allowed", Allow=allowed)


def _error_response(path: str, status: HTTPStatus, sentence: str, code: str, **headers: str) -> Response:
    return json_response(status, error_body_at(path, sentence, code, status), **headers)


def _deadline(lambda_left_s: float, waited_s: float, *, can_stream: bool) -> Deadline:
    left_s = lambda_left_s - DEADLINE_MARGIN_S
    first = Deadline.after(min(settings.request_deadline_s - waited_s, left_s), time.monotonic)
    if not can_stream:
        return first
    whole = Deadline.after(min(settings.stream_deadline_s, left_s), time.monotonic)
    return replace(first, between_s=settings.stream_idle_s, end=whole.at)
