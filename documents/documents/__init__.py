"""Files and web sites as Markdown with front matter. Only ``fetch_site`` uses the network; no file is executed.

    manual = read(Path("manual.pdf"))                            one file
    site = find_site(Path("docs"))                               the site that a folder of Markdown belongs to
    page = clean_page(text, file=file, root=root, site=site)     one of its pages without templates and components
    crawled = fetch_site("https://docs.example.com/guide/", cache=Path(".web"))

All arguments and results are plain values that can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from documents.converters import PICTURE_WITHOUT_TEXT, PICTURES, SUFFIXES, has_text_recognition
from documents.converters import convert as convert_data
from documents.converters.detection import detect
from documents.errors import DocumentError, NoText, Unconvertible, Unreadable
from documents.markup.context import PageContext, look_state, record_looks
from documents.sites import Site
from documents.sites.addresses import is_excluded, keeps_suffixes, page_url
from documents.sites.finding import find_site, find_title
from documents.values import Converted, CrawlResult, Decode, FetchFailure, Limits, Page

__all__ = [
    "MARKDOWN",
    "PICTURES",
    "PICTURE_WITHOUT_TEXT",
    "SUFFIXES",
    "Converted",
    "CrawlResult",
    "Decode",
    "DocumentError",
    "FetchFailure",
    "Limits",
    "NoText",
    "Page",
    "Site",
    "Unconvertible",
    "Unreadable",
    "clean_page",
    "convert",
    "decode_utf_8",
    "detect",
    "fetch_site",
    "find_site",
    "find_title",
    "has_text_recognition",
    "is_excluded",
    "keeps_suffixes",
    "look_state",
    "page_url",
    "read",
    "record_looks",
]

_MYST = frozenset({".markdown", ".md"})
"""Files that a site of Sphinx reads as MyST."""

_PAGES = frozenset({".adoc", ".asciidoc", ".htm", ".html", ".rst", ".xhtml"})
"""Files of text with marks of their own, which their plain reader has to know."""

MARKDOWN = frozenset({".markdown", ".md", ".mdx", ".txt"})
"""Files that ``read`` does not convert."""


def decode_utf_8(data: bytes) -> tuple[str, str]:
    """Decode UTF-8, with a byte order mark or without: the default ``decode``.

    Raises:
        ValueError: it is not UTF-8.
    """
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"), ""


def read(file: Path, *, decode: Decode = decode_utf_8, root: Path | None = None, site: Site | None = None) -> Converted:
    """Return a file as Markdown. Its title is in front matter, if the format has one.

    With a folder ``root`` it may include other files, all inside of ``site.top`` or ``root``; see ``convert``.

    Raises:
        DocumentError: it has no text, or a suffix that is neither in ``SUFFIXES`` nor in ``MARKDOWN``; see ``convert``.
        OSError: it cannot be opened.
    """
    suffix = file.suffix.lower()
    data = file.read_bytes()
    if suffix in SUFFIXES:
        return convert(data, suffix, decode=decode, file=file, root=root, site=site)
    if suffix not in MARKDOWN:
        raise Unconvertible(f"has the suffix {suffix!r}; read are {', '.join(sorted(SUFFIXES | MARKDOWN))}")
    try:
        text, caveat = decode(data)
    except ValueError as exc:
        raise Unreadable(f"is no text: {exc}") from exc
    if not text.strip():
        raise NoText("holds no text")
    return Converted(text, (caveat,) if caveat else ())


def convert(
    data: bytes,
    suffix: str,
    *,
    decode: Decode = decode_utf_8,
    file: Path | None = None,
    root: Path | None = None,
    site: Site | None = None,
    alone: bool = False,
) -> Converted:
    """Convert the bytes of a file with that ``suffix`` (one of ``SUFFIXES``) to Markdown.

    With its ``file`` and the folder ``root`` a page of Sphinx or of Antora's ``site`` gets the titles of the documents
    that it names, and the files that it includes, all inside of ``site.top`` or ``root``. A page of AsciiDoc that is
    not ``alone`` includes no file that is a document of the folder itself.

    Raises:
        NoText: there is nothing to read in it.
        Unconvertible: it is too large, locked, or its content does not fit its suffix.
        Unreadable: it is damaged, or needs more memory than this machine has.
    """
    context = _page_context(file, root, site, {}, alone=alone) if file and root else None
    made = convert_data(data, suffix, decode=decode, context=context)
    return _add_includes(made, context) if context else made


def clean_page(text: str, *, file: Path, root: Path, site: Site, meta: Mapping[Any, Any] | None = None) -> Converted:
    """Return the Markdown ``text`` of a site's page as its reader sees it: no templates, components or comments.

    ``meta`` is the page's front matter, which ``text`` does not contain. A page may include other files, all inside of
    ``site.top``. Never raises because of a text.
    """
    from documents.markup import clean

    context = _page_context(file, root, site, meta or {})
    if site.kind == "sphinx" and file.suffix.lower() in _MYST:
        from documents.converters import from_rst

        shown = from_rst.read_myst(text, context)
    else:
        shown = clean.as_read(text, context=context)
    return _add_includes(Converted(shown, plain=_plain_text(text, file)), context)


def _add_includes(made: Converted, context: PageContext) -> Converted:
    """Return ``made`` with the caveats of its context, and with what it includes in its plain text."""
    plain = made.plain
    if plain is not None and context.included:  # only formats of text include others
        plain = f"{plain}\n{_plain_text('\n'.join(context.included), context.file)}"
    return replace(made, caveats=(*made.caveats, *context.all_caveats), plain=plain)


def _plain_text(text: str, file: Path) -> str:
    """Return the plain ``text`` of the page ``file``; what its converter does not read is Markdown."""
    from documents.source_words import plain_text

    suffix = file.suffix.lower()
    return plain_text(text.encode(errors="replace"), suffix if suffix in _PAGES else ".md") or ""


def _page_context(
    file: Path, root: Path, site: Site | None, meta: Mapping[Any, Any], *, alone: bool = False
) -> PageContext:
    page = {str(key): value for key, value in meta.items()}
    site = site or Site(root="")
    top = Path(site.top) if site.top and root.resolve().is_relative_to(site.top) else root
    return PageContext(file=file, root=root, top=top, kind=site.kind, page=page, site=site.config, alone=alone)


def fetch_site(
    address: str,
    *,
    cache: Path,
    limits: Limits | None = None,
    allow_hosts: frozenset[str] = frozenset(),
    on_progress: Callable[[int, int | None], None] | None = None,
) -> CrawlResult:
    """Fetch a page, the pages of a folder, or those of a sitemap into ``cache``.

    See ``documents.crawl.crawler.crawl``. ``read`` converts each page's file to Markdown.

    Raises:
        Unreadable: the address is malformed, private, not allowed by robots.txt, or leads to another host.
    """
    from documents.crawl.crawler import crawl

    return crawl(address, cache=cache, limits=limits or Limits(), allow_hosts=allow_hosts, on_progress=on_progress)
