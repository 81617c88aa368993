"""The formats of ``documents`` as readers of ``knowledge.read``, and the sites that files are pages of."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import documents

if TYPE_CHECKING:
    from knowledge.read.readers import ConvertedText, Reader
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
        sites = {}
        for given, folder in folders.items():
            with suppress(OSError):  # what may not be looked into tells nothing; reading it says why
                sites[given] = documents.site_of(folder)
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


def readers(pages: Pages | None = None) -> Mapping[str, Reader]:
    """A reader for each suffix; another process can be handed them. ``pages`` know the sites that files are of."""
    return {suffix: partial(_read, suffix=suffix, pages=pages) for suffix in sorted(documents.SUFFIXES)}


def _read(data: bytes, found: FoundFile | None = None, *, suffix: str, pages: Pages | None = None) -> ConvertedText:
    from knowledge.model.errors import SourceUnreadable
    from knowledge.read.decoding import decode
    from knowledge.read.readers import ConvertedText, NoText

    try:
        file, root = (found.file, found.within) if found else (None, None)
        site = pages.site(found) if found and pages else None
        alone = found is not None and found.explicit
        made = documents.convert(data, suffix, decode=decode, file=file, root=root, site=site, alone=alone)
    except documents.NoText as exc:
        raise NoText(str(exc)) from exc
    except documents.DocumentError as exc:
        raise SourceUnreadable(str(exc)) from exc
    return ConvertedText(made.text, made.caveats)
