"""The page and its files, and the reference of the API: static, the same for everybody, without a key."""

from __future__ import annotations

from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path

from routes.call import HEADERS, Call, NoSuchPath, Response

_HERE = Path(__file__).resolve()
_ROOTS = (_HERE.parents[1], _HERE.parents[3], _HERE.parents[3] / "docs")
"""Where the files lie: beside app.py when deployed, else in the repository."""
OPENAPI = "openapi.json"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""No inline code, nothing from elsewhere, and no way to turn text into code."""
PAGE_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
}
CACHED = "max-age=300"
"""Files change with a deployment only; five minutes are soon enough to see it."""


def get_page(call: Call) -> Response:
    """The page to ask on."""
    return _html(call, "index.html", _address(call))


def get_docs(call: Call) -> Response:
    """The API's reference, rendered from ``openapi.json``."""
    return _html(call, "docs.html", _address(call).removesuffix("docs"))


def get_file(call: Call, file: str) -> Response:
    """A file of the page."""
    return _text(call, f"web/{file}")


def get_openapi(call: Call) -> Response:
    """The API's description."""
    return _text(call, OPENAPI)


def _address(call: Call) -> str:
    """Where the request went, stage included, without a slash at the end."""
    return (call.event.request_context.path or call.event.path).rstrip("/")


def _html(call: Call, name: str, base: str) -> Response:
    """A page with what it must know of where it is: ``base`` is its own address below the host, stage included."""
    page = _read(call, f"web/{name}")
    base = f"/{base.strip('/')}/" if base.strip("/") else "/"
    page = page.replace("{base}", escape(base)).replace("{profile}", escape(call.service.settings.profile))
    return Response(int(HTTPStatus.OK), TYPES[".html"], page, headers=PAGE_HEADERS)


def _text(call: Call, name: str) -> Response:
    text = _read(call, name)
    return Response(
        int(HTTPStatus.OK), TYPES[Path(name).suffix], text, headers={**PAGE_HEADERS, "Cache-Control": CACHED}
    )


def _read(call: Call, name: str) -> str:
    """The file ``name``, openapi.json or one of the page's; NoSuchPath for others, and where no page is served."""
    if call.service.settings.web == "off":
        raise NoSuchPath(name)
    return _content(name)


@cache
def _content(name: str) -> str:
    path = next((root / name for root in _ROOTS if (root / name).is_file()), None)
    named = name == OPENAPI or (name.startswith("web/") and name.count("/") == 1 and ".." not in name)
    if path is None or not named or path.suffix not in TYPES:
        raise NoSuchPath(name)
    return path.read_text(encoding="utf-8")
