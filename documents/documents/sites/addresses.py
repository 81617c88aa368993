"""A page's address, from its front matter or by the rules of the site's tool, and the files that a site excludes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from pathspec import GitIgnoreSpec

from documents.sites import Mount, Site
from documents.sites.antora import antora_path
from documents.sites.configuration import folder_path, get_meta, get_setting, page_path
from documents.sites.hugo_jekyll import hugo_path, jekyll_path
from documents.sites.javascript import astro_path, docusaurus_path, nextjs_path, nuxt_path, vitepress_path

PAGE_SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt", ".ipynb"})
"""Files that a site makes pages of; others keep their suffix in their address."""

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})

_FILE_HOSTS = re.compile(
    r"https?://[^/]+/(?:[^?#]*/)?(?:blob|raw|tree|src)/|https?://raw\.githubusercontent\.com/"
    r"|https?://[^/]+\.sharepoint\.com/|https?://[^?#]*/remote\.php/(?:web)?dav/",
    re.IGNORECASE,
)
"""Addresses below which files have their own names: GitHub's, GitLab's, Gitea's and Bitbucket's repositories (with
their words for a file there), and the shares of SharePoint and Nextcloud."""

_SAFE = "/~:@!$&'()*+,;=%"
_URL_FIELDS = ("canonical_url", "canonicalUrl", "canonical", "permalink", "url")
_WEB_URL = re.compile(r"https?://[^/?#]", re.IGNORECASE)
_README = frozenset({"index", "readme"})


def page_url(
    site: Site, *, path: str, meta: Mapping[Any, Any] | None = None, base_url: str = "", keep_suffix: bool = False
) -> str:
    """Return the absolute address of the page at ``path`` (below ``site.root``, forward slashes).

    ``meta`` is its front matter. ``base_url`` is the user's address of the site's front page, and goes before the
    configuration's. Below the address of a repository or a file share, and if ``keep_suffix``, a file's address is its
    path as it is. ``""`` if no such address is known, or if the tool makes no page of the file.
    """
    meta = meta or {}
    if stated := next(filter(_WEB_URL.match, (get_meta(meta, name) for name in _URL_FIELDS)), ""):
        return stated
    base = (base_url or site.base_url).rstrip("/")
    if not base:
        return ""
    if keep_suffix or (base_url and keeps_suffixes(base)):
        return f"{base}/{quote(path, safe=_SAFE.replace('%', ''))}"
    url_path = _site_path(site, path, meta)
    return base + quote(url_path, safe=_SAFE) if url_path is not None else ""


def keeps_suffixes(base_url: str) -> bool:
    """Whether the address is that of a folder in a repository or on a file share."""
    return _FILE_HOSTS.match(f"{base_url}/") is not None


def _site_path(site: Site, path: str, meta: Mapping[str, Any]) -> str | None:
    """Return a page's path on the site; None if the tool makes no page of the file."""
    mounted = find_mount(site, path)
    if mounted is None:
        return None
    mount, page = mounted
    url_path = _tool_path(site, page, meta, mount.prefix)
    if not url_path:
        return None
    is_whole_path = site.kind in ("hugo", "") and url_path == get_meta(meta, "url")
    prefix = "" if is_whole_path or not mount.prefix else f"/{mount.prefix.strip('/')}"
    if prefix and url_path == "/" and site.kind == "docusaurus" and site.config.get("trailingSlash") is not True:
        return prefix
    return prefix + url_path


def find_mount(site: Site, path: str) -> tuple[Mount, PurePosixPath] | None:
    """Return the innermost mount of a file, and the file's path below it."""
    if not site.mounts:
        return Mount(site.root), PurePosixPath(path)
    file = PurePosixPath(site.root) / path
    mounts = [mount for mount in site.mounts if file.is_relative_to(mount.folder)]
    if not mounts:
        return None
    innermost = max(mounts, key=lambda mount: len(mount.folder))
    return innermost, file.relative_to(innermost.folder)


def _tool_path(site: Site, page: PurePosixPath, meta: Mapping[str, Any], prefix: str) -> str:
    suffix = page.suffix.lower()
    if suffix not in PAGE_SUFFIXES or (not site.kind and suffix not in _MARKDOWN):
        return f"/{page.as_posix()}"
    if suffix in _MARKDOWN and page.stem.lower().endswith(".html"):  # Middleman's page.html.md
        return folder_path(page.parent) if page.stem.lower() == "index.html" else f"/{page.with_suffix('').as_posix()}"
    if site.kind == "docusaurus":
        return docusaurus_path(site, page, meta, is_blog=prefix.startswith("blog"))
    return _RULES.get(site.kind, _plain_path)(site, page, meta)


def _plain_path(_site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    stated = get_meta(meta, "permalink", "url")
    return stated if stated.startswith("/") else page_path(page, _README | {"_index"}, "")


def _mkdocs_path(site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    has_folders = get_setting(site.config, "use_directory_urls", default=True) is not False
    return page_path(page, _README, "/" if has_folders else ".html")


_RULES: Mapping[str, Callable[[Site, PurePosixPath, Mapping[str, Any]], str]] = {
    "antora": antora_path,
    "astro": astro_path,
    "hugo": hugo_path,
    "jekyll": jekyll_path,
    "mkdocs": _mkdocs_path,
    "mdbook": lambda _, page, _meta: "" if page.as_posix() == "SUMMARY.md" else page_path(page, _README, ".html"),
    "nuxt": nuxt_path,
    "vitepress": vitepress_path,
    "nextjs": nextjs_path,
    "sphinx": lambda _, page, _meta: page_path(page, frozenset({"index"}), ".html"),
}


_SETTINGS = {
    "docusaurus": ("exclude",),
    "hugo": ("ignoreFiles",),
    "jekyll": ("exclude",),
    "mkdocs": ("exclude_docs", "draft_docs"),
    "sphinx": ("exclude_patterns",),
    "vitepress": ("srcExclude",),
}
_JEKYLL = ("vendor/bundle/", "vendor/cache/", "vendor/gems/", "vendor/ruby/")
"""Jekyll excludes these by itself: 282 of 471 texts of a help centre's folder are those of its libraries."""


def is_excluded(site: Site, path: str) -> bool:
    """Return whether the configuration of ``site`` excludes the file at ``path`` (below its root, forward slashes).

    Where it excludes the root too, the user's choice of that folder goes before.
    """
    texts = _list_patterns(site)
    mounted, given = find_mount(site, path), find_mount(site, "")
    if not texts or not mounted:
        return False
    mount, page = mounted
    try:
        if site.kind == "hugo":  # regular expressions for the whole path
            return any(re.search(one, f"{mount.folder}/{page}") and not re.search(one, site.root) for one in texts)
        spec = _compile(texts)
    except (ValueError, re.error):
        return False
    return spec.match_file(page) and not (given and spec.match_file(f"{given[1]}/"))


_compile = cache(GitIgnoreSpec.from_lines)


def _list_patterns(site: Site) -> tuple[str, ...]:
    """Return the patterns, those of gitignore's form anchored where the tool's begin at the top."""
    found = list(_JEKYLL) if site.kind == "jekyll" else []
    for value in (get_setting(site.config, name) for name in _SETTINGS.get(site.kind, ())):
        found += value.splitlines() if isinstance(value, str) else value if isinstance(value, list) else []
    texts = (one.strip() for one in found if isinstance(one, str) and one.strip())
    free = {"jekyll": ("/", "*"), "hugo": ("",), "mkdocs": ("",)}.get(site.kind, ("/", "**"))
    return tuple(one if one.startswith(free) else f"/{one}" for one in texts)
