"""The query function's HTTP API: which route answers what of API Gateway's REST events."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from operator import attrgetter
from typing import Any, NamedTuple

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent
from aws_lambda_powertools.utilities.typing import LambdaContext
from routes import completions, cors, mcp, page, query, responses
from routes.call import Call, Handle, NoSuchPath, Response, json_response
from routes.failures import Failure, explain
from routes.gateway import as_request, reads_streams, since_received_s, streamed_whole

from rag.config.settings import Settings, load
from rag.http.openai_errors import refusal_at
from rag.http.replies import CHAT, QUERY, QUESTION, Wording
from rag.values.chat import Deadline
from rag.wiring import build_application
from snapshot import register_hooks
from telemetry import metrics, observe_error, request_telemetry

DEADLINE_MARGIN_S = 0.5
"""Kept back of Lambda's remaining time, so that the answer still gets out."""
NO_SUCH_PATH = ("No such path", "not_found")


class Route(NamedTuple):
    """``handle`` answers ``method`` on ``path``; ``wording`` is what errors call a question, ``told`` their body."""

    method: str
    path: str
    handle: Handle
    wording: Wording = QUERY
    told: Callable[[Failure], object] = attrgetter("body")

    def parameters(self, path: str) -> Mapping[str, str] | None:
        """The parameters in ``path``; None where it is not this route's, whatever the method."""
        found = _pattern(self.path).fullmatch(path.rstrip("/") or "/")
        return found.groupdict() if found else None


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """What an address must be to be a route's ``path``; made once a route."""
    return re.compile(re.sub("<([^>]+)>", r"(?P<\1>[^/]+)", path))


ROUTES = (
    Route("POST", "/api/query", query.post_query),
    Route("POST", "/v1/query", query.post_question, QUESTION),
    Route("POST", "/api/feedback", query.post_feedback),
    Route("GET", "/api/chunks/<chunk_id>", query.get_chunk),
    Route("GET", "/api/suggestions", query.get_suggestions),
    Route("GET", "/api/health", query.get_health),
    Route("POST", "/v1/chat/completions", completions.post_completion, CHAT, completions.told),
    Route("POST", "/v1/responses", responses.post_response, CHAT, responses.told),
    Route("GET", "/v1/models", completions.get_models, told=completions.told),
    Route("GET", "/v1/models/<model>", completions.get_model, told=completions.told),
    Route("POST", "/mcp", mcp.post_message),
    Route("GET", "/", page.get_page),
    Route("GET", "/docs", page.get_docs),
    Route("GET", "/openapi.json", page.get_openapi),
)

settings = load(Settings)
metrics.set_default_dimensions(profile=settings.profile)
service = build_application(settings)
settings = service.settings
register_hooks(service)


def lambda_handler(event: Any, context: LambdaContext) -> dict[str, Any] | bytes | None:
    """The entry point: an API Gateway REST event in, its response out. Serves any number of threads.

    None where the response went to ``context.response_stream`` (``routes.streams.ResponseStream``), which a runtime
    that can stream brings; bytes where the stage reads streams and the runtime cannot. Any other event is read as the
    body of a question: ``{"query": ...}`` of a direct invocation is answered alike.
    """
    request = APIGatewayProxyEvent(as_request(event))
    told = request.raw_event
    stream = getattr(context, "response_stream", None)
    shared = cors.shared_with(told, settings.allowed_origins)
    if shared and request.http_method == "OPTIONS":
        response = cors.preflight(shared)
    else:
        with request_telemetry(context, (told.get("requestContext") or {}).get("requestId")):
            left_s, waited_s = context.get_remaining_time_in_millis() / 1000, since_received_s(told, time.time())
            deadline = _deadline(left_s, waited_s, can_stream=stream is not None)
            out = None if stream is None else cors.SharedStream(stream, shared)
            response = cors.with_headers(dispatch(Call(request, service, deadline, out)).to_proxy(), shared)
    if stream is None:
        return streamed_whole(response) if reads_streams(event) else response
    return None if stream.opened else response


def dispatch(call: Call) -> Response:
    """What the route of ``call`` answers: every error is a sentence and a stable code."""
    method, path = call.event.http_method, call.event.path
    found = [(route, parameters) for route in ROUTES if (parameters := route.parameters(path)) is not None]
    for route, parameters in found:
        if route.method == method:
            return _answered(route, call, parameters)
    if not found:
        return _refused(path, HTTPStatus.NOT_FOUND, *NO_SUCH_PATH)
    allowed = ", ".join(sorted(route.method for route, _ in found))
    sentence = f"Method not allowed; use {allowed}"
    return _refused(path, HTTPStatus.METHOD_NOT_ALLOWED, sentence, "method_not_allowed", Allow=allowed)


def _answered(route: Route, call: Call, parameters: Mapping[str, str]) -> Response:
    try:
        return route.handle(call, **parameters)
    except NoSuchPath:
        return _refused(route.path, HTTPStatus.NOT_FOUND, *NO_SUCH_PATH)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets a sentence
        failure = explain(error, route.wording)
        observe_error(error, code=failure.code, status=failure.status)
        return json_response(failure.status, route.told(failure), **failure.headers)


def _refused(path: str, status: HTTPStatus, sentence: str, code: str, **headers: str) -> Response:
    """A request that no route takes."""
    return json_response(status, refusal_at(path, sentence, code, status), **headers)


def _deadline(lambda_left_s: float, waited_s: float, *, can_stream: bool) -> Deadline:
    left_s = lambda_left_s - DEADLINE_MARGIN_S
    first = Deadline.after(min(settings.request_deadline_s - waited_s, left_s), time.monotonic)
    if not can_stream:
        return first
    whole = Deadline.after(min(settings.stream_deadline_s, left_s), time.monotonic)
    return replace(first, between_s=settings.stream_idle_s, end=whole.at)
