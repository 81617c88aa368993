"""One request as the routes see it, and how they answer in JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rag.http.requests import BodyTooLarge, InvalidJson, UnsupportedMediaType
from rag.values.chat import Deadline

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

    from rag.wiring import Application
    from routes.streams import ResponseStream

MAX_BODY_BYTES = 64 * 1024
BOM = "\ufeff"
"""Some programs of Windows begin UTF-8 with it; JSON does not."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class NoSuchPath(LookupError):
    """The address is one of a route's, but there is nothing."""


@dataclass(frozen=True, slots=True)
class Response:
    """One response of a route; ``body`` is text."""

    status_code: int
    content_type: str
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_proxy(self) -> dict[str, Any]:
        """What Lambda's proxy integration takes."""
        headers = {**self.headers, "Content-Type": self.content_type}
        return {
            "statusCode": self.status_code,
            "body": self.body,
            "isBase64Encoded": False,
            "multiValueHeaders": {name: [value] for name, value in headers.items()},
        }


@dataclass(frozen=True, slots=True)
class Call:
    """One request: API Gateway's ``event``, the service, and when it must be answered.

    ``stream`` takes a response piece by piece; None where the whole of it is returned.
    """

    event: APIGatewayProxyEvent
    service: Application
    deadline: Deadline
    stream: ResponseStream | None = None

    def header(self, name: str) -> str:
        """The header ``name``, in any case; ``""`` when there is none."""
        return self.event.headers.get(name) or ""

    def parameter(self, name: str) -> str | None:
        """The parameter ``name`` of the address; None when there is none."""
        return (self.event.query_string_parameters or {}).get(name)

    def page(self) -> str:
        """The address of the service's own page, stage and custom path included."""
        path = self.event.request_context.path or self.event.path
        base = path.removesuffix("/").removesuffix(self.event.path.removesuffix("/")) if path else ""
        host = self.header("host")
        scheme = self.header("x-forwarded-proto") or "http"
        return f"{scheme}://{host}{base}/" if host else f"{base}/"

    def json_text(self, *, limit: int = MAX_BODY_BYTES) -> str:
        """The body.

        Raises:
            UnsupportedMediaType: it is said to be something else than JSON.
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


type Handle = Callable[..., Response]
"""A route: takes the ``Call`` and the parameters of its path, raises what ``routes.failures`` knows."""


def json_response(status: HTTPStatus, body: object, **headers: str) -> Response:
    """``body`` as JSON."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(int(status), "application/json", text, headers={**HEADERS, **headers})
