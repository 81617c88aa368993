"""Files and web sites as Markdown with front matter: nothing is fetched but by ``fetch_site``, nothing is run.

    made = read(Path("manual.pdf"))                           one file
    site = site_of(Path("docs"))                              the site that a folder of Markdown belongs to
    text = as_read(text, file=file, root=root, site=site)     what a reader sees of one of its pages
    crawled = fetch_site("https://docs.example.com/guide/", cache=Path(".web"))

Everything that a function takes and gives is a plain value that another process can be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.converters import SUFFIXES
from documents.errors import DocumentError, NoText, Unconvertible, Unreadable
from documents.sites.site import Site
from documents.values import Converted, CrawlResult, Decode, FetchFailure, Limits, Page

if TYPE_CHECKING:
    from documents.markup.context import PageContext

__all__ = [
    "MARKDOWN",
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
    "address",
    "as_read",
    "convert",
    "fetch_site",
    "keeps_suffixes",
    "looks",
    "read",
    "site_of",
    "site_title",
    "state_of_look",
    "utf_8",
]

_MYST = frozenset({".markdown", ".md"})
"""What a site of Sphinx reads as MyST."""

MARKDOWN = frozenset({".markdown", ".md", ".mdx", ".txt"})
"""What ``read`` takes as it is."""


def utf_8(data: bytes) -> tuple[str, str]:
    """The usual ``decode``: UTF-8, with a byte order mark or without.

    Raises:
        ValueError: it is none.
    """
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"), ""


def read(file: Path, *, decode: Decode = utf_8, root: Path | None = None, site: Site | None = None) -> Converted:
    """A file as Markdown. Its title stands in front matter, where the format knows one.

    With a folder ``root`` it may take in other files, none of which is outside of ``root``; see ``convert``.

    Raises:
        DocumentError: it is no text, has a suffix that is neither in ``SUFFIXES`` nor in ``MARKDOWN``; see ``convert``.
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
    decode: Decode = utf_8,
    file: Path | None = None,
    root: Path | None = None,
    site: Site | None = None,
    alone: bool = False,
) -> Converted:
    """The bytes of a file with that ``suffix`` (one of ``SUFFIXES``) as Markdown.

    With its ``file`` and the folder ``root`` a page of Sphinx or of Antora's ``site`` has the titles of the documents
    that it names, and the files that it includes; no file outside of ``root`` is read. A page of AsciiDoc that is not
    ``alone`` takes in no file that is a document of the folder itself.

    Raises:
        NoText: there is nothing to read in it.
        Unconvertible: it is too large, locked, or not what its suffix says.
        Unreadable: it is damaged, or needs more than this machine has.
    """
    from documents import converters

    place = _place(file, root, site, {}, alone=alone) if file and root else None
    return converters.convert(data, suffix, decode=decode, context=place)


def site_of(folder: Path) -> Site:
    """The site that the documents in ``folder`` make: what a configuration in it, above it or beside it says.

    Its ``kind`` is ``""`` where nothing tells it. No file is run.
    """
    from documents.sites import finding

    return finding.site_of(folder)


def site_title(sites: Iterable[Site], pages: Sequence[Path] = ()) -> str:
    """What the first of ``sites`` that has a title is called, else what the first ``pages`` (HTML) say; ``""``."""
    from documents.sites import title

    return title.site_title(sites, pages)


def as_read(text: str, *, file: Path, root: Path, site: Site, meta: Mapping[Any, Any] | None = None) -> str:
    """The Markdown ``text`` of a site's page as its reader sees it: without templates, components and comments.

    ``meta`` is the page's front matter, which ``text`` is without. A page may take in other files; none outside of
    ``root`` is read. Never raises for what a text says.
    """
    from documents.markup import clean

    place = _place(file, root, site, meta or {})
    if site.kind == "sphinx" and file.suffix.lower() in _MYST:
        from documents.converters import from_rst

        return from_rst.read_myst(text, place)
    return clean.as_read(text, context=place)


def _place(file: Path, root: Path, site: Site | None, meta: Mapping[Any, Any], *, alone: bool = False) -> PageContext:
    from documents.markup.context import PageContext

    page = {str(key): value for key, value in meta.items()}
    site = site or Site(root="")
    return PageContext(file=file, root=root, kind=site.kind, page=page, site=site.config, alone=alone)


def looks() -> AbstractContextManager[set[str]]:
    """What is looked at besides the pages themselves while ``as_read`` reads them within this block, in this thread."""
    from documents.markup.context import record_looks

    return record_looks()


def state_of_look(look: str) -> str:
    """What there is to see now of one of ``looks``; equal where a page would be read in the same way."""
    from documents.markup.context import look_state

    kind, _, place = look.partition(":")
    if kind == "titles":
        from documents.converters.sphinx_folder import state_of_titles

        return state_of_titles(Path(place))
    return look_state(look)


def address(
    site: Site, *, path: str, meta: Mapping[Any, Any] | None = None, base_url: str = "", keep_suffix: bool = False
) -> str:
    """Where the page at ``path`` (below ``site.root``, forward slashes) is on the web; ``""`` where nobody knows.

    ``base_url`` is the address of the site's front page, and goes before what the configuration says. With
    ``keep_suffix``, and below the address of a repository or a file share, the address ends with ``path`` as it is.
    """
    from documents.sites import addresses

    return addresses.address(site, path=path, meta=meta or {}, base_url=base_url, keep_suffix=keep_suffix)


def keeps_suffixes(base_url: str) -> bool:
    """Whether files lie below that address under their own names, as in a repository or on a file share."""
    from documents.sites import addresses

    return addresses.keeps_suffixes(base_url)


def fetch_site(
    address: str,
    *,
    cache: Path,
    limits: Limits | None = None,
    allow_hosts: frozenset[str] = frozenset(),
    on_progress: Callable[[int, int | None], None] | None = None,
) -> CrawlResult:
    """Fetch what ``address`` stands for into ``cache``: a page, the pages of a folder, or those of a sitemap.

    See ``documents.crawl.crawler.crawl``. ``read`` makes Markdown of each page's file.

    Raises:
        Unreadable: it is malformed, private, not allowed by robots.txt, or leads to another host.
    """
    from documents.crawl.crawler import crawl

    return crawl(address, cache=cache, limits=limits or Limits(), allow_hosts=allow_hosts, on_progress=on_progress)
