"""What the site is called that the documents make: from its configuration, or from the pages that were fetched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from documents.sites.configuration import text
from documents.sites.site import Site

MAX_CHARS = 100
_SETTINGS = (("title",), ("site_name",), ("book", "title"), ("project",), ("site", "name"))
"""Of Hugo, Jekyll, Docusaurus and VitePress; of MkDocs; of mdBook; of Sphinx; of Nuxt."""
_LOOKED_AT = 3
"""Pages of a site, as it may say its name on each."""
_HEAD_BYTES = 200_000


def site_title(sites: Iterable[Site], pages: Sequence[Path]) -> str:
    """The title of the first of ``sites`` that has one, else ``og:site_name`` of the first ``pages`` (HTML); ``""``."""
    configured = (text(site.config, *names) for site in sites for names in _SETTINGS)
    titles = (*configured, *map(_of_page, pages[:_LOOKED_AT]))
    return next((found for title in titles if (found := " ".join(title.split()))), "")[:MAX_CHARS]


def _of_page(page: Path) -> str:
    from bs4 import BeautifulSoup
    from bs4.filter import SoupStrainer

    with page.open("rb") as file:
        head = BeautifulSoup(file.read(_HEAD_BYTES), "lxml", parse_only=SoupStrainer("meta"))
    meta = head.find("meta", property="og:site_name")
    return str(meta.get("content") or "") if meta is not None and hasattr(meta, "get") else ""
