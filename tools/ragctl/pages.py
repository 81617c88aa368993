"""Markdown files as pages of the site that stands beside them: what a reader sees there, and at which address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import documents

if TYPE_CHECKING:
    from knowledge.read.walk import FoundFile

_NONE = documents.Site(root="")


@dataclass(frozen=True, slots=True)
class Pages:
    """The ``SiteRules`` of ``knowledge.read.readers``, for the sites that stand beside the given folders.

    ``base_urls``, by given path, take the place of the addresses that the sites' own configurations name; ``""`` does
    not. ``keep_suffix``: a page's address ends with its file's path as it is.
    """

    base_urls: Mapping[Path, str]
    sites: Mapping[Path, documents.Site]
    keep_suffix: bool = False

    @classmethod
    def beside(
        cls, folders: Mapping[Path, Path], *, base_urls: Mapping[Path, str] | None = None, keep_suffix: bool = False
    ) -> Pages:
        """Look at what stands beside ``folders``: each given path with the folder that it is, or is in."""
        sites = {given: _site_beside(folder) for given, folder in folders.items()}
        return cls(base_urls or {}, sites, keep_suffix)

    def as_read(self, text: str, found: FoundFile, meta: Mapping[Any, Any]) -> str:
        """See ``SiteRules``."""
        return documents.as_read(text, file=found.file, root=found.within, site=self.site(found), meta=meta)

    def address(self, found: FoundFile, meta: Mapping[Any, Any]) -> str:
        """See ``SiteRules``."""
        from knowledge.read.kinds import without_template

        base_url = self.base_urls.get(found.root, "")
        site = self.site(found)
        if self.keep_suffix or documents.keeps_suffixes(base_url):
            return documents.address(site, path=found.path, meta=meta, base_url=base_url, keep_suffix=True)
        return documents.address(site, path=without_template(found.path), meta=meta, base_url=base_url)

    def named(self, found: FoundFile) -> bool:
        """See ``SiteRules``."""
        return self.site(found).kind == "wiki"

    def anchors(self, found: FoundFile) -> str:
        """See ``SiteRules``."""
        site = self.site(found)
        return site.anchors if site.kind or self.base_urls.get(found.root) or found.url else ""

    def site(self, found: FoundFile) -> documents.Site:
        """The site that a file is of; of kind ``""`` where nothing tells it."""
        return self.sites.get(found.root, _NONE)


def _site_beside(folder: Path) -> documents.Site:
    try:
        return documents.site_of(folder)
    except OSError:  # what may not be looked into tells nothing; reading it says why
        return _NONE
