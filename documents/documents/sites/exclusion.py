"""Files that a site's configuration excludes: its tool makes no page of them."""

from __future__ import annotations

import re
from functools import cache

from pathspec import GitIgnoreSpec

from documents.sites import Site
from documents.sites.addresses import find_mount
from documents.sites.configuration import get_setting

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
    patterns, mounted, given = _list_patterns(site), find_mount(site, path), find_mount(site, "")
    if not patterns or not mounted:
        return False
    mount, page = mounted
    if site.kind == "hugo":  # regular expressions for the whole path
        try:
            return any(re.search(one, f"{mount.folder}/{page}") and not re.search(one, site.root) for one in patterns)
        except re.error:
            return False
    spec = _compile(patterns)
    return spec.match_file(page) and not (given and spec.match_file(f"{given[1]}/"))


def _list_patterns(site: Site) -> tuple[str, ...]:
    """Return the patterns in gitignore's form; those of Sphinx and most of Jekyll's begin at the top."""
    found = list(_JEKYLL) if site.kind == "jekyll" else []
    for value in (get_setting(site.config, name) for name in _SETTINGS.get(site.kind, ())):
        found += value.splitlines() if isinstance(value, str) else value if isinstance(value, list) else []
    texts = (one.strip() for one in found if isinstance(one, str) and one.strip())
    if site.kind in ("hugo", "mkdocs"):
        return tuple(texts)
    is_free = ("/", "**") if site.kind != "jekyll" else ("/", "*")
    return tuple(one if one.startswith(is_free) else f"/{one}" for one in texts)


@cache
def _compile(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError:
        return GitIgnoreSpec.from_lines(())
