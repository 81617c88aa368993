"""The page and the API's reference, each one document: static, the same for everybody, without a key."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from html import escape
from http import HTTPStatus
from pathlib import Path

from routes.call import HEADERS, Call
from routes.gateway import Response, text_response

FUNCTION = Path(__file__).resolve().parents[1]
OPENAPI = (FUNCTION / "openapi.json", FUNCTION.parents[1] / "docs" / "openapi.json")
"""Where the API's description lies in a deployed function, and in a repository."""
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
"""Nothing from other sites, no inline code but the page's own, and no way to turn text into code."""
PAGE_HEADERS = {**HEADERS, "Referrer-Policy": "no-referrer"}
OWN_VISITS = frozenset({"none", "same-origin"})
"""``Sec-Fetch-Site`` of visits that no other site links to: only these may make the page ask by ``?q=``."""


def read_built_page(name: str, language: str) -> str:
    """Return a page that the build has made, as a template for ``str.format``."""
    return (FUNCTION / "web" / Path(name).with_suffix(f".{language}.html")).read_text(encoding="utf-8")


load_page: Callable[[str, str], str] = read_built_page
"""Programs that run from a repository, where no build has made the pages, replace it by ``serve.web_pages.bundle``."""


def get_page(call: Call) -> Response:
    """Return the page to ask on."""
    return _page_response(call, "index.html")


def get_docs(call: Call) -> Response:
    """Return the API's reference, rendered from ``openapi.json``."""
    return _page_response(call, "docs.html")


def get_openapi(_: Call) -> Response:
    """Return the API's description."""
    headers = {**PAGE_HEADERS, "Content-Security-Policy": "default-src 'none'"}
    headers["Cache-Control"] = "max-age=300"  # the description changes only with a deployment
    text = next(path for path in OPENAPI if path.is_file()).read_text(encoding="utf-8")
    return text_response(HTTPStatus.OK, "application/json", text, headers)


@cache
def page_template(name: str, language: str, accent: str = "") -> tuple[str, str]:
    """Return a page with its owner's ``accent``, as a template for ``str.format``, and its Content-Security-Policy.

    The policy names inline code and style by the hash of their bytes, as strictly as one that names files.
    """
    template = load_page(name, language)
    if accent:
        template = template.replace("</style>", f":root{{{{--house:{accent}}}}}</style>")
    page = template.replace("{{", "{").replace("}}", "}")
    sources = []
    for element in ("script", "style"):
        contents = re.findall(rf"<{element}[^>]*>(.*?)</{element}>", page, re.DOTALL)
        hashes = (b64encode(sha256(content.encode()).digest()).decode() for content in contents)
        sources.append(f"{element}-src {' '.join(f"'sha256-{one}'" for one in hashes)}")
    return template, "; ".join((*POLICY, *sources))


def _page_response(call: Call, name: str) -> Response:
    settings = call.service.settings
    template, policy = page_template(name, settings.page_language, settings.page_accent)
    text = template.format(
        base=escape(call.base_path()),
        profile=escape(settings.profile),
        language=settings.page_language,
        asks="yes" if call.header("sec-fetch-site") in OWN_VISITS else "",
        mark=escape(settings.page_mark),
    )
    headers = {**PAGE_HEADERS, "Content-Security-Policy": policy}
    return text_response(HTTPStatus.OK, "text/html; charset=utf-8", text, headers)
