"""Saved web pages (MHTML, as browsers and Word write it) to Markdown."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any
from urllib.parse import urljoin

from bs4 import Tag

from documents.converters import from_html
from documents.errors import Unconvertible
from documents.source_words import plain_text
from documents.values import Converted


def convert(data: bytes) -> Converted:
    """Return the saved page, with the address that it was saved from.

    Raises:
        Unconvertible: no page is in it.
        NoText: the page holds no text.
    """
    message = message_from_bytes(data, EmailMessage, policy=policy.default)
    pages = (part for part in message.walk() if part.get_content_type() in ("text/html", "application/xhtml+xml"))
    found = message.get_body(("html",)) or next(pages, None)
    if found is None:
        raise Unconvertible("holds no web page")
    html: Any = found.get_payload(decode=True)
    with suppress(LookupError):  # unknown, as "x-user-defined"
        html = html.decode(found.get_content_charset(""), errors="replace")
    page = from_html.parse(html)
    places = (message["Snapshot-Content-Location"], found["Content-Location"], message["Content-Location"])
    address = next((str(place) for place in places if place), "")
    parts = {str(part["Content-Location"]): part.get_payload(decode=True) for part in message.walk()}
    for link in page.select("link[rel~=stylesheet][href]"):
        css = parts.get(urljoin(address, str(link["href"])))
        if isinstance(css, bytes):
            link.name, link.string = "style", css.decode(errors="replace")
    if address.startswith(("https:", "http:")):
        page.insert(0, Tag(name="link", attrs={"rel": "canonical", "href": address}))
    source = str(page).encode(errors="replace")
    return replace(from_html.convert(source), plain=plain_text(source, ".html"))
