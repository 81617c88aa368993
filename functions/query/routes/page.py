"""The page and the reference of the API, each one document: static, the same for everybody, without a key."""

from __future__ import annotations

from html import escape
from http import HTTPStatus

from routes.call import HEADERS, Call, NoSuchPath, Response
from routes.one_document import Document, document, read

OPENAPI = "openapi.json"
POLICY = (
    "default-src 'none'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
"""Nothing from elsewhere, of inline code the page's own alone, and no way to turn text into code."""
PAGE_HEADERS = {**HEADERS, "Referrer-Policy": "no-referrer"}
OWN_WAYS = frozenset({"none", "same-origin"})
"""How a reader comes who was not sent by another site: such a site must not make the page ask (``?q=``)."""
CACHED = "max-age=300"
"""The description changes with a deployment only; five minutes are soon enough to see it."""


def get_page(call: Call) -> Response:
    """The page to ask on."""
    return _html(call, "index.html", _address(call))


def get_docs(call: Call) -> Response:
    """The API's reference, rendered from ``openapi.json``."""
    return _html(call, "docs.html", _address(call).removesuffix("docs"))


def get_openapi(call: Call) -> Response:
    """The API's description."""
    _wanted(call)
    headers = {**PAGE_HEADERS, "Content-Security-Policy": "default-src 'none'", "Cache-Control": CACHED}
    return Response(int(HTTPStatus.OK), "application/json", read(OPENAPI), headers=headers)


def policy(page: Document) -> str:
    """The Content-Security-Policy of ``page``."""
    scripts = " ".join(f"'{one}'" for one in page.script_hashes)
    return "; ".join((*POLICY, f"script-src {scripts}", f"style-src '{page.style_hash}'"))


def _address(call: Call) -> str:
    """Where the request went, stage included, without a slash at the end."""
    return (call.event.request_context.path or call.event.path).rstrip("/")


def _html(call: Call, name: str, base: str) -> Response:
    """A page with what it must know of where it is: ``base`` is its own address below the host, stage included."""
    _wanted(call)
    settings = call.service.settings
    made = document(name, settings.page_language, settings.page_accent)
    base = f"/{base.strip('/')}/" if base.strip("/") else "/"
    text = made.text(
        base=escape(base),
        profile=escape(settings.profile),
        language=settings.page_language,
        asks="yes" if call.header("sec-fetch-site") in OWN_WAYS else "",
        mark=escape(settings.page_mark),
    )
    headers = {**PAGE_HEADERS, "Content-Security-Policy": policy(made)}
    return Response(int(HTTPStatus.OK), "text/html; charset=utf-8", text, headers=headers)


def _wanted(call: Call) -> None:
    """NoSuchPath where no page is served."""
    if call.service.settings.web == "off":
        raise NoSuchPath
