"""EPUB books to Markdown: a zip of XHTML pages, each read as HTML, in the order of the book's spine.

zipfile and the HTML converter are all it takes; EbookLib reads the same with lxml, and whole books into memory.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from bs4 import BeautifulSoup, Tag

from documents.converters.from_html import page_markdown, parse
from documents.converters.office import check_archive
from documents.converters.output import compose, hidden_caveat, literal, one_line, own_title
from documents.errors import NoText, Unconvertible
from documents.values import Converted

MAX_TEXT_BYTES = 32 * 1024 * 1024

_CONTAINER = "META-INF/container.xml"
_RIGHTS = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def convert(data: bytes) -> Converted:
    """Return the book's pages as Markdown, without EPUB 3's page with the table of contents."""
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            check_archive(archive)
            package_name = _package_name(archive)
            package = parse(_text(archive, package_name))
            pages = _pages(archive, package, posixpath.dirname(package_name))
            read = [page_markdown(archive.read(name)) for name in pages]
    except BadZipFile as exc:
        raise Unconvertible(f"is damaged or no EPUB ({exc}): save it again") from exc
    body = "\n\n".join(text.strip("\n") for text, _ in read)
    if not body.strip():
        raise NoText("holds no text")
    title, about = (_metadata(package, "dc:title")[:1], _metadata(package, "dc:description"))
    text = "\n\n".join([", ".join(_metadata(package, "dc:creator")), *map(literal, about), body])
    caveats = hidden_caveat(words for _, hidden in read for words in hidden)
    return Converted(compose(text, title=own_title("".join(title))), caveats)


def _metadata(package: BeautifulSoup, name: str) -> list[str]:
    return [words for tag in package.find_all(name) if (words := one_line(parse(tag.get_text()).get_text(" ")))]


def _package_name(archive: ZipFile) -> str:
    if _CONTAINER not in archive.namelist():
        raise Unconvertible("is no EPUB: it has no META-INF/container.xml")
    name = next((str(root.get("full-path")) for root in _find(parse(_text(archive, _CONTAINER)), "rootfile")), "")
    if name not in archive.namelist():
        raise Unconvertible("is damaged: the list of its parts is missing")
    return name


def _find(part: BeautifulSoup, name: str) -> Sequence[Tag]:
    """Return the tags with that ``name``, behind any prefix."""
    return part.find_all(re.compile(f"^(?:.+:)?{name}$"))


def _pages(archive: ZipFile, package: BeautifulSoup, folder: str) -> Iterator[str]:
    """Yield the names of the pages in reading order."""
    items = {str(item.get("id")): item for item in _find(package, "item")}
    names = set(archive.namelist())
    locked = _text(archive, _RIGHTS) if _RIGHTS in names else ""
    left = MAX_TEXT_BYTES
    for reference in _find(package, "itemref"):
        item = items.get(str(reference.get("idref")))
        if item is None or item.get("media-type") not in _PAGES or "nav" in str(item.get("properties") or "").split():
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(str(item.get("href")))))
        if name not in names:
            continue
        if name in locked:
            raise Unconvertible("is locked (DRM): its pages are encrypted")
        left -= archive.getinfo(name).file_size
        if left < 0:
            raise Unconvertible(f"holds more than {MAX_TEXT_BYTES >> 20} MiB of text: split it")
        yield name


def _text(archive: ZipFile, name: str) -> str:
    return archive.read(name).decode("utf-8", errors="replace")
