"""One request as the routes see it, and their replies in JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel

from rag.http.failures import QUERY, Endpoint, HttpFailure, explain
from rag.http.requests import BodyTooLarge, InvalidJson, UnsupportedMediaType
from routes.gateway import Response, text_response
from telemetry import observe, observe_error

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

    from rag.values.answer import Answer
    from rag.values.chat import Deadline
    from rag.values.question import Question
    from rag.values.request import Listen
    from rag.wiring.application import Application

MAX_BODY_BYTES = 64 * 1024
BOM = "\ufeff"
"""Some Windows programs begin UTF-8 with it; JSON does not allow it."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class ResponseStream(Protocol):
    """Sends one response of the Lambda handler piece by piece: the attribute ``response_stream`` of its context."""

    @property
    def opened(self) -> bool:
        """Whether the response has begun."""
        ...

    def open(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin the response; once, before the first ``write``."""
        ...

    def write(self, data: bytes) -> None:
        """Send ``data`` at once.

        Raises:
            ClientGone: the client has closed the connection.
        """
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One request to an ``endpoint``: API Gateway's ``event``, the service, and the deadline of the response.

    ``stream`` sends the response piece by piece, begun with ``cors_headers`` beside the route's own; None if the route
    returns the whole of it, to which the handler adds them.
    """

    event: APIGatewayProxyEvent
    service: Application
    deadline: Deadline
    stream: ResponseStream | None
    cors_headers: Mapping[str, str]
    endpoint: Endpoint = QUERY

    def header(self, name: str) -> str:
        """Return the header ``name``, in any case; ``""`` if absent."""
        return self.event.headers.get(name) or ""

    def base_path(self) -> str:
        """Return the path of the service's own page, stage and custom path included."""
        path = self.event.request_context.path or self.event.path
        return path.removesuffix("/").removesuffix(self.event.path.removesuffix("/")) + "/"

    def page(self) -> str:
        """Return the address of the service's own page."""
        host, scheme = self.header("host"), self.header("x-forwarded-proto") or "http"
        return f"{scheme}://{host}{self.base_path()}" if host else self.base_path()

    def answer(self, question: Question, listen: Listen | None = None) -> Answer:
        """Answer ``question`` within the deadline, and observe the answer."""
        answer = self.service.pipeline.run(question, deadline=self.deadline, listen=listen)
        observe(answer, protocol=self.endpoint.protocol)
        return answer

    def report(self, error: Exception) -> HttpFailure:
        """Log and count ``error``, and return how the caller sees it."""
        failure = explain(error, self.endpoint)
        observe_error(error, code=failure.code, status=failure.status)
        return failure

    def json_text(self, *, limit: int = MAX_BODY_BYTES) -> str:
        """Return the body.

        Raises:
            UnsupportedMediaType: the header Content-Type names another format than JSON.
            BodyTooLarge: it has more than ``limit`` bytes.
            InvalidJson: it is not UTF-8.
        """
        content_type = (self.header("content-type") or "application/json").partition(";")[0].strip().lower()
        if content_type != "application/json" and not content_type.endswith("+json"):
            raise UnsupportedMediaType("Content-Type must be application/json")
        encoded, body = self.event.is_base64_encoded, self.event.body or ""
        try:
            raw = base64.b64decode(body) if encoded else body.encode("utf-8", "surrogatepass")
            if len(raw) > limit:  # measured before it is read: too large is too large in any encoding
                raise BodyTooLarge(f"Request body exceeds {limit // 1024} KiB")
            return (raw.decode() if encoded else body).removeprefix(BOM)
        except ValueError as exc:
            raise InvalidJson("Request body must be JSON in UTF-8") from exc


def to_json(body: object) -> str:
    """Return ``body``, a model or plain data, as JSON in its shortest form."""
    data = body.model_dump(mode="json") if isinstance(body, BaseModel) else body
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def json_response(status: int, body: object, **headers: str) -> Response:
    """Return a response with ``body`` as JSON."""
    return text_response(status, "application/json", to_json(body), {**HEADERS, **headers})
