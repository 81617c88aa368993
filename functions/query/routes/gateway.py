"""What invokes the function: API Gateway's REST event, or a question's body alone."""

from __future__ import annotations

import json
import re
from typing import Any

REST_EVENT = {"httpMethod": str, "path": str, "headers": dict | None, "body": str | None}
_PLACEHOLDER = re.compile(r"\{([^{}+]+)\}")


def as_request(event: Any) -> dict[str, Any]:
    """``event`` as a REST event whose ``path`` is that of a route; any other event is the body of a question."""
    if isinstance(event, dict) and all(isinstance(event.get(name), kind) for name, kind in REST_EVENT.items()):
        return {**event, "path": _route(event)}
    return {"httpMethod": "POST", "path": "/api/query", "headers": {}, "body": json.dumps(event), "requestContext": {}}


def _route(event: dict[str, Any]) -> str:
    """The resource that API Gateway has matched, its parameters filled in.

    The path begins with whatever a custom domain maps to this API ("/help/api/query"); the resource never does. A
    greedy resource ("/{proxy+}") names no route: then the path is it.
    """
    resource, parameters = event.get("resource"), event.get("pathParameters") or {}
    if not isinstance(resource, str) or not resource.startswith("/") or "+}" in resource:
        return str(event["path"])
    if any(name not in parameters for name in _PLACEHOLDER.findall(resource)):
        return str(event["path"])
    return _PLACEHOLDER.sub(lambda found: str(parameters[found[1]]), resource)
