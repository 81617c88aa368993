"""What kind of file a reply is, by its declared type, its first bytes and its name; and text as UTF-8."""

from __future__ import annotations

import codecs
import mimetypes
import posixpath
from contextlib import suppress
from urllib.parse import urlsplit

from bs4.dammit import EncodingDetector

HTML = ".html"
_BY_TYPE = {
    "text/html": HTML,
    "application/xhtml+xml": HTML,
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "text/x-rst": ".rst",
    "text/csv": ".csv",
    "text/plain": ".txt",
    "application/x-ipynb+json": ".ipynb",
    "application/epub+zip": ".epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}
_BY_NAME = frozenset(_BY_TYPE.values()) | {".markdown", ".mdx", ".adoc"}
_VAGUE = ("", "text/plain", "application/octet-stream", "application/zip", "binary/octet-stream")
_ZIPS = frozenset({".docx", ".xlsx", ".pptx", ".epub"})
TEXTS = _BY_NAME - _ZIPS - {".pdf"}
"""Suffixes of what is decoded."""
_WINDOWS = "cp1252"
_WESTERN = frozenset({"iso8859-1", _WINDOWS, "ascii"})
_GUESS = mimetypes.MimeTypes()  # Python's own table: the machine's may differ


def of_name(url: str) -> str:
    """The type that the address alone tells of a file that is not read (``image/png``); ``""`` when it may be read."""
    guess, packed = _GUESS.guess_type(urlsplit(url).path)
    if packed:
        return f"application/{packed}"
    known = guess is None or guess in _BY_TYPE or posixpath.splitext(urlsplit(url).path)[1].lower() in _BY_NAME
    return "" if known or guess in ("text/x-php", "application/x-httpd-php") else str(guess)


def suffix(body: bytes, declared: str, url: str) -> str | None:
    """The suffix that fits ``body``, or None when it is nothing that is read; first bytes win over ``declared``."""
    named = posixpath.splitext(urlsplit(url).path)[1].lower()
    by_type = _BY_TYPE.get(declared)
    # A server that does not know Markdown or notebooks calls them whatever its table says.
    best = named if named in _BY_NAME and (by_type is None or declared in _VAGUE) else by_type
    if body.startswith(b"%PDF-"):
        return ".pdf"
    if body.startswith(b"PK\x03\x04"):
        return best if best in _ZIPS else None
    wide = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in body[:1024] and not wide:
        return None
    if _begins_as_html(body):
        return HTML
    return best if best in TEXTS else None


def _begins_as_html(body: bytes) -> bool:
    head = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))


def as_text(body: bytes, charset: str, *, is_html: bool) -> str:
    """``body`` decoded: by its byte order mark, by the reply's charset, as UTF-8, as the page says, as Windows-1252.

    UTF-8 goes before the Western charsets, which nearly any bytes fit and which servers declare for everything; those
    mean Windows-1252, as in browsers.
    """
    data, marked = EncodingDetector.strip_byte_order_mark(body)
    said = EncodingDetector.find_declared_encoding(data, is_html=is_html) or ""
    first = ("utf-8", _codec(charset)) if _codec(charset) in ("", _WINDOWS) else (_codec(charset), "utf-8")
    for encoding in filter(None, (marked, *first, _codec(said), _WINDOWS)):
        with suppress(UnicodeError, LookupError):  # LookupError: codecs such as hex, which are no charsets
            return data.decode(encoding)
    return data.decode("utf-8", errors="replace")


def _codec(charset: str) -> str:
    try:
        found = codecs.lookup(charset)
    except (LookupError, ValueError):
        return ""
    return _WINDOWS if found.name in _WESTERN else found.name
