"""A page's address: what its front matter says, else what the tool makes of its path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from documents.sites.antora import antora_path
from documents.sites.astro import astro_path
from documents.sites.configuration import setting
from documents.sites.docusaurus import docusaurus_path
from documents.sites.hugo import hugo_path
from documents.sites.jekyll import jekyll_path
from documents.sites.paths import directory, folder_or, said, unnumbered
from documents.sites.site import Mount, Site

PAGE_SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt", ".ipynb"})
"""What a site makes pages of; other files keep their suffix in their address."""

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})

_KEPT = re.compile(
    r"https?://[^/]+/(?:[^?#]*/)?(?:blob|raw|tree|src)/|https?://raw\.githubusercontent\.com/"
    r"|https?://[^/]+\.sharepoint\.com/|https?://[^?#]*/remote\.php/(?:web)?dav/",
    re.IGNORECASE,
)
"""Addresses below which files lie under their own names: GitHub's, GitLab's, Gitea's and Bitbucket's repositories (with
what stands in for a file there), and the shares of SharePoint and Nextcloud."""

_SAFE = "/~:@!$&'()*+,;=%"
_ABSOLUTE = ("canonical_url", "canonicalUrl", "canonical", "permalink", "url")
_WEB = re.compile(r"https?://[^/?#]", re.IGNORECASE)
_INDEX, _README = frozenset({"index"}), frozenset({"index", "readme"})
_PAGE = frozenset({"index", "page"})
_ANY = frozenset({"index", "_index", "readme"})


def address(site: Site, *, path: str, meta: Mapping[str, Any], base_url: str = "", keep_suffix: bool = False) -> str:
    """The absolute address of the page at ``path`` (below ``site.root``, forward slashes) with front matter ``meta``.

    ``base_url`` is what the user gave as the address of the site's front page, and goes before the configuration's.
    Below the address of a repository or a file share, and if ``keep_suffix``, a file's address is its path as it is.
    ``""`` where no such address is known, or the tool makes no page of the file.
    """
    if stated := next(filter(_WEB.match, (said(meta, name) for name in _ABSOLUTE)), ""):
        return stated
    base = (base_url or site.base_url).rstrip("/")
    if not base:
        return ""
    if keep_suffix or (base_url and keeps_suffixes(base)):
        return f"{base}/{quote(path, safe=_SAFE.replace('%', ''))}"
    placed = _placed(site, path)
    if placed is None:
        return ""
    mount, page = placed
    made = _path(site, page, meta, mount.prefix)
    if not made:
        return ""
    stated_whole = site.kind in ("hugo", "") and made == said(meta, "url")
    prefix = "" if stated_whole or not mount.prefix else f"/{mount.prefix.strip('/')}"
    whole = f"{prefix}{made}" if made != "/" or not prefix else prefix + _end(site)
    return base + quote(whole, safe=_SAFE)


def keeps_suffixes(base_url: str) -> bool:
    """Whether the address is that of a folder in a repository or on a file share."""
    return _KEPT.match(f"{base_url}/") is not None


def _placed(site: Site, path: str) -> tuple[Mount, PurePosixPath] | None:
    """The mount that a file belongs to, the innermost, and its path there."""
    if not site.mounts:
        return Mount(site.root), PurePosixPath(path)
    whole = PurePosixPath(site.root) / path
    holding = [mount for mount in site.mounts if whole.is_relative_to(mount.folder)]
    if not holding:
        return None
    mount = max(holding, key=lambda found: len(found.folder))
    return mount, whole.relative_to(mount.folder)


def _path(site: Site, page: PurePosixPath, meta: Mapping[str, Any], prefix: str) -> str:
    kind = page.suffix.lower()
    if kind not in PAGE_SUFFIXES or (not site.kind and kind not in _MARKDOWN):
        return f"/{page.as_posix()}"
    if kind in _MARKDOWN and page.stem.lower().endswith(".html"):  # Middleman's page.html.md
        return directory(page.parent) if page.stem.lower() == "index.html" else f"/{page.with_suffix('').as_posix()}"
    if site.kind == "docusaurus":
        return docusaurus_path(site, page, meta, prefix)
    return _RULES.get(site.kind, _plain)(site, page, meta)


def _end(site: Site) -> str:
    return "" if site.kind == "docusaurus" and site.config.get("trailingSlash") is not True else "/"


def _plain(_site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    stated = said(meta, "permalink", "url")
    return stated if stated.startswith("/") else folder_or(page, _ANY, "")


def _mkdocs(site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    pretty = setting(site.config, "use_directory_urls", default=True) is not False
    return folder_or(page, _README, "/" if pretty else ".html")


def _mdbook(_site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    return "" if page.as_posix() == "SUMMARY.md" else folder_or(page, _README, ".html")


def _nuxt(_site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    stated = said(meta, "path")
    if stated.startswith("/"):
        return stated
    made = folder_or(unnumbered(page), _INDEX, "").replace(" ", "-").lower()
    return made.rstrip("/") or "/"


def _vitepress(site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    return folder_or(page, _INDEX, "" if site.config.get("cleanUrls") is True else ".html")


def _nextjs(_site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    shown = PurePosixPath(*(part for part in page.parts if not (part.startswith("(") and part.endswith(")"))))
    return folder_or(shown, _PAGE, "").rstrip("/") or "/"


def _sphinx(_site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    return folder_or(page, _INDEX, ".html") if page.stem != "index" or page.parent.name else directory(page.parent)


_RULES: Mapping[str, Callable[[Site, PurePosixPath, Mapping[str, Any]], str]] = {
    "antora": antora_path,
    "astro": astro_path,
    "hugo": hugo_path,
    "jekyll": jekyll_path,
    "mkdocs": _mkdocs,
    "mdbook": _mdbook,
    "nuxt": _nuxt,
    "vitepress": _vitepress,
    "nextjs": _nextjs,
    "sphinx": _sphinx,
}
