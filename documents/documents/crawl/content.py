"""The content of a reply: file type, text as UTF-8, links and directives of an HTML page, entries of a sitemap."""

from __future__ import annotations

import codecs
import mimetypes
import posixpath
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit
from xml.parsers import expat

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.filter import SoupStrainer

from documents.crawl.addresses import InvalidAddress, normalise_url
from documents.crawl.client import USER_AGENT, FetchError
from documents.crawl.robots import parse_directives

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
"""Suffixes of files that are decoded to text."""
_WINDOWS = "cp1252"
_WESTERN = frozenset({"iso8859-1", _WINDOWS, "ascii"})
_TYPE_TABLE = mimetypes.MimeTypes()  # Python's own table: the machine's may differ

PARSER = "lxml"
"""Python's own takes minutes for 300 KB of ``<a <a <a``, and gives up on ``<![ x ]]>``; a crawl has one process."""
_LINK_TAGS = SoupStrainer(["a", "base", "link", "meta"])


def unreadable_type(url: str) -> str:
    """Return the media type (``image/png``) if the address names a file that is not read, else ``""``."""
    guess, packed = _TYPE_TABLE.guess_type(urlsplit(url).path)
    if packed:
        return f"application/{packed}"
    readable = guess is None or guess in _BY_TYPE or posixpath.splitext(urlsplit(url).path)[1].lower() in _BY_NAME
    return "" if readable or guess in ("text/x-php", "application/x-httpd-php") else str(guess)


def file_suffix(body: bytes, declared: str, url: str) -> str | None:
    """Return the suffix that fits ``body``, None if its type is not read; first bytes win over ``declared``."""
    named = posixpath.splitext(urlsplit(url).path)[1].lower()
    by_type = _BY_TYPE.get(declared)
    # A server that does not know Markdown or notebooks calls them whatever its table says.
    best = named if named in _BY_NAME and (by_type is None or declared in _VAGUE) else by_type
    if body.startswith(b"%PDF-"):
        return ".pdf"
    if body.startswith(b"PK\x03\x04"):
        return best if best in _ZIPS else None
    is_utf_16 = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in body[:1024] and not is_utf_16:
        return None
    if body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html")):
        return HTML
    return best if best in TEXTS else None


def decode_text(body: bytes, charset: str, *, is_html: bool) -> str:
    """Decode ``body``: by its byte order mark, the reply's charset, UTF-8, the page's charset, Windows-1252.

    UTF-8 goes before the Western charsets, which nearly any bytes fit and which servers declare for everything; those
    mean Windows-1252, as in browsers.
    """
    data, marked = EncodingDetector.strip_byte_order_mark(body)
    in_page = EncodingDetector.find_declared_encoding(data, is_html=is_html) or ""
    first = ("utf-8", _codec(charset)) if _codec(charset) in ("", _WINDOWS) else (_codec(charset), "utf-8")
    for encoding in filter(None, (marked, *first, _codec(in_page), _WINDOWS)):
        with suppress(UnicodeError, LookupError):  # LookupError: codecs such as hex, which are no charsets
            return data.decode(encoding)
    return data.decode("utf-8", errors="replace")


def _codec(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return ""
    return _WINDOWS if name in _WESTERN else name


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links (normal form) and directives of a page; ``is_redirect``: the page only sends its reader on."""

    links: tuple[str, ...] = ()
    canonical: str = ""
    directives: frozenset[str] = frozenset()
    is_redirect: bool = False


def read_links(html: str, url: str) -> PageLinks:
    """Return the links and directives of the page ``html`` at ``url``, without links marked ``nofollow``."""
    page = BeautifulSoup(html, PARSER, parse_only=_LINK_TAGS)
    tag = page.select_one("base[href]")
    base = next(_normal_urls([str(tag["href"])], url), url) if tag else url
    meta = [
        str(tag.get("content", ""))
        for tag in page.select("meta[name]")
        if str(tag["name"]).strip().lower() in ("robots", USER_AGENT)
    ]
    refreshes = [str(tag.get("content", "")) for tag in page.select('meta[http-equiv="refresh" i]')]
    targets = [target for content in refreshes if (target := _refresh_target(content))]
    links = [*_normal_urls(targets, base), *_normal_urls(_hrefs(page.select("a[href]")), base)]
    canonical = _normal_urls(_hrefs(page.select("link[rel~=canonical][href]")), base)
    return PageLinks(tuple(dict.fromkeys(links)), next(canonical, ""), parse_directives(meta), bool(targets))


def _refresh_target(content: str) -> str:
    """Return the target of ``0; url=...``; ``""`` if the page reloads itself or waits for its reader first."""
    seconds, _, rest = content.partition(";")
    name, _, address = rest.strip().partition("=")
    return address.strip(" '\"") if name.strip().lower() == "url" and seconds.strip() in ("", "0", "1") else ""


def _hrefs(tags: Iterable[Tag]) -> Iterator[str]:
    for tag in tags:
        if "nofollow" not in (tag.get_attribute_list("rel") or ()):
            yield str(tag["href"])


def _normal_urls(hrefs: Iterable[str], base: str) -> Iterator[str]:
    for href in hrefs:
        with suppress(InvalidAddress):
            yield normalise_url(href, base=base)


MAX_SITEMAP_BYTES = 50 * 2**20
"""The protocol's limit for an unpacked sitemap."""
_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 2000


def unpack_sitemap(body: bytes) -> bytes:
    """Return ``body``, decompressed if it is a gzip file, as in ``sitemap.xml.gz``.

    Raises:
        FetchError: it is damaged, or larger than ``MAX_SITEMAP_BYTES``.
    """
    if not body.startswith(_GZIP):
        return body
    decompressor = zlib.decompressobj(31)
    try:
        data = decompressor.decompress(body, MAX_SITEMAP_BYTES)
    except zlib.error as exc:
        raise FetchError("it is a damaged gzip file") from exc
    if not decompressor.eof:
        raise FetchError(f"it is cut off, or larger than {MAX_SITEMAP_BYTES // 2**20} MiB when unpacked")
    return data


def is_sitemap(body: bytes) -> bool:
    """Whether ``body`` (unpacked) is a sitemap, whatever its name."""
    head = body[:_HEAD_BYTES]
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and (b"urlset" in head or b"sitemapindex" in head)


def parse_sitemap(body: bytes) -> dict[str, list[tuple[str, str]]]:
    """Return the pages (``url``) and the sitemaps (``sitemap``) of a sitemap: address as written, last change (ISO).

    Python's expat expands and fetches nothing: only a DOCTYPE can declare entities or files, and it ends the parse.

    Raises:
        FetchError: it is not XML, or declares a document type (which can hide attacks, and no sitemap needs).
    """
    entries: dict[str, list[tuple[str, str]]] = {"url": [], "sitemap": []}
    fields: dict[str, str] = {}
    path: list[str] = []

    def refuse_doctype(*_: object) -> None:
        raise ValueError("DOCTYPE")

    def start_element(tag: str, _: object) -> None:
        path.append(tag.rpartition(" ")[2])  # whatever namespace it is in: many sitemaps misspell it
        if path[-1] in entries:
            fields.clear()

    def add_text(text: str) -> None:
        if path[-2:-1] and path[-2] in entries:  # not the <loc> of an image inside a <url>
            fields[path[-1]] = fields.get(path[-1], "") + text

    def end_element(_: str) -> None:
        kind = path.pop()
        if kind in entries and (address := fields.get("loc", "").strip()):
            modified = fields.get("lastmod", "").strip()
            try:
                datetime.fromisoformat(modified)
            except ValueError:
                modified = ""
            entries[kind].append((address, modified))

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler, parser.EndElementHandler = start_element, end_element
    parser.CharacterDataHandler = add_text
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as exc:
        raise FetchError("it is not XML that can be read, or has a DOCTYPE, which is refused") from exc
    return entries
