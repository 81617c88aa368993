"""The arguments and results of the package: Markdown with caveats, the limits of a crawl and its pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MIB = 2**20

type Decode = Callable[[bytes], tuple[str, str]]
"""The bytes of a text file as text with LF line ends, and what was not as it should be (``""``: nothing). Raises
ValueError."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted file: Markdown, perhaps with front matter, and sentences about losses.

    ``plain`` is the text of the source before any filter, to compare with; None if it was not read. ``parts`` are the
    documents of a file that holds several; one without text could not be read.
    """

    text: str
    caveats: tuple[str, ...] = ()
    plain: str | None = None
    parts: tuple[Converted, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """An address (``path``) that was not read as it should be, and the reason."""

    path: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a crawl.

    ``pages`` counts addresses that are asked for. Bytes are decoded ones, so that a small body that unpacks to a large
    one counts as the large one. ``per_second`` is requests each second; the site's ``Crawl-delay`` wins when slower.
    ``timeout_s`` is how long one wait for the server may last; a whole reply may take ten times that.
    """

    pages: int = 1000
    bytes_per_page: int = 10 * MIB
    bytes_total: int = 500 * MIB
    per_second: float = 4.0
    timeout_s: float = 20.0
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page in the cache.

    ``url`` is where it was found after redirects, without fragment, or the canonical address that it names on the same
    host. ``file`` is its body, with a suffix that fits its type; text is UTF-8. ``path`` is a stable name such as
    ``docs.example.com/guide/install.html``. ``last_modified`` is ISO text, ``""`` when neither the sitemap nor the
    server says it.
    """

    url: str
    file: Path
    path: str
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """The result of a crawl: ``failed`` names addresses (as ``path``), ``skipped`` counts by reason.

    ``lost`` are the paths, as in ``Page``, that pages behind the failed addresses would have.
    """

    pages: tuple[Page, ...]
    failed: tuple[FetchFailure, ...] = ()
    lost: frozenset[str] = frozenset()
    skipped: Mapping[str, int] = field(default_factory=dict)
