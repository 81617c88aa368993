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
    try:
        if site.kind == "hugo":  # regular expressions for the whole path
            return any(re.search(one, f"{mount.folder}/{page}") and not re.search(one, site.root) for one in patterns)
        spec = _compile(patterns)
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
