"""Saved web pages to Markdown: MHTML, as browsers and Word write it, and Apple's web archives, read as their pages."""

from __future__ import annotations

import plistlib
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
    """Return the saved page with its frames, at the address that it was saved from.

    Raises:
        Unconvertible: no page is in it.
        NoText: the page holds no text.
    """
    html, address, parts = _apple(data) if data.startswith(b"bplist") else _mhtml(data)
    page = from_html.parse(html)
    for frame in page.select("iframe[src], frame[src]"):
        if inner := parts.get(urljoin(address, str(frame["src"]))):
            frame.replace_with(from_html.parse(inner).body or "")
    for link in page.select("link[rel~=stylesheet][href]"):
        if (css := parts.get(urljoin(address, str(link["href"])))) is not None:
            link.name, link.string = "style", css.decode(errors="replace")
    for shadow in page.select("template[shadowmode], template[shadowrootmode]"):
        shadow.unwrap()  # which Chrome shows
    if address.startswith(("https:", "http:")):
        page.insert(0, Tag(name="link", attrs={"rel": "canonical", "href": address}))
    source = str(page).encode(errors="replace")
    return replace(from_html.convert(source), plain=plain_text(source, ".html"))


def _mhtml(data: bytes) -> tuple[bytes | str, str, dict[str, bytes]]:
    """Return the page, its address, and the parts by theirs."""
    message = message_from_bytes(data, EmailMessage, policy=policy.default)
    pages = (part for part in message.walk() if part.get_content_type() in ("text/html", "application/xhtml+xml"))
    page = message.get_body(("html",)) or next(pages, None)
    if page is None:
        raise Unconvertible("holds no web page")
    parts = {}
    for part in message.walk():
        content = part.get_payload(decode=True)
        if isinstance(content, bytes):
            parts[f"cid:{str(part['Content-ID']).strip('<>')}"] = parts[str(part["Content-Location"])] = content
    html: Any = page.get_payload(decode=True)
    with suppress(LookupError):  # unknown, as "x-user-defined"
        html = html.decode(page.get_content_charset(""), errors="replace")
    places = (message["Snapshot-Content-Location"], page["Content-Location"], message["Content-Location"])
    return html, next((str(place) for place in places if place), ""), parts


def _apple(data: bytes) -> tuple[bytes | str, str, dict[str, bytes]]:
    archive = plistlib.loads(data)
    page, parts = archive["WebMainResource"], archive.get("WebSubresources", ())
    contents = {part.get("WebResourceURL", ""): part["WebResourceData"] for part in parts}
    return page["WebResourceData"], page.get("WebResourceURL", ""), contents
