"""Astro with Starlight, and Astro's own pages: ``astro.config.*`` read as literals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin

from documents.sites.configuration import MAX_BYTES, literals, text
from documents.sites.paths import said
from documents.sites.site import Mount, Site

_SUFFIXES = ("mjs", "ts", "js", "mts", "cjs")
# "const site = PREVIEW || 'https://...'": both sites of docs/evidence/addresses.md have it so.
_SITE = re.compile(r"\b\w*site\w*\s*=[^;'\"`]*['\"](https?://[^'\"]+)['\"]", re.IGNORECASE)
_NO_SLUG = re.compile(r"[^\w\- ]+")


def astro(folder: Path, root: Path) -> Site | None:
    """``site``, ``base`` and ``trailingSlash``; pages come from ``src/content/docs`` and ``src/pages``."""
    path = next((path for end in _SUFFIXES if (path := folder / f"astro.config.{end}").is_file()), None)
    if path is None or path.is_symlink():
        return None
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            code = file.read(MAX_BYTES)
    except OSError:
        return None
    config = literals(code)
    computed = _SITE.search(code)
    site = text(config, "site", default=computed[1] if computed else "")
    base = text(config, "base").strip("/")
    return Site(
        root=root.as_posix(),
        kind="astro",
        base_url=urljoin(f"{site.rstrip('/')}/", base).rstrip("/") if site.startswith(("http://", "https://")) else "",
        config=config,
        mounts=tuple(Mount((folder / pages).resolve().as_posix()) for pages in ("src/content/docs", "src/pages")),
    )


def astro_path(site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """The address of a page: ``slug``, else its path in lower case; one that begins with ``_`` has none."""
    if any(part.startswith("_") for part in page.parts):
        return ""
    path = said(meta, "slug").strip("/") or "/".join(_slug(part) for part in page.with_suffix("").parts)
    path = "" if path == "index" else path.removesuffix("/index")
    end = "" if text(site.config, "trailingSlash") == "never" or not path else "/"
    return f"/{path}{end}"


def _slug(part: str) -> str:
    """github-slugger, as Astro's loader calls it for each part of a path."""
    return _NO_SLUG.sub("", part.lower()).replace(" ", "-")
