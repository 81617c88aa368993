"""Addresses of the pages of Astro, Docusaurus, Next.js, Nuxt and VitePress, whose configuration is JavaScript.

The configuration is read as text and never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin

from documents.sites import Mount, Site
from documents.sites.configuration import (
    find_block,
    get_meta,
    get_text,
    is_web_url,
    join_base,
    make_site,
    parse_literals,
    read_code,
    read_config,
)
from documents.sites.paths import find_day, page_path

_ASTRO_SUFFIXES = ("mjs", "ts", "js", "mts", "cjs")
_DOCUSAURUS_SUFFIXES = ("js", "ts", "mjs", "cjs")
_SUFFIXES = ("ts", "js", "mjs", "mts", "cjs")
# "const site = PREVIEW || 'https://...'"
_SITE = re.compile(r"\b\w*site\w*\s*=[^;'\"`]*['\"](https?://[^'\"]+)['\"]", re.IGNORECASE)
_NO_SLUG = re.compile(r"[^\w\- ]+")
_DATED = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[-/](.+)")
# Nuxt Content and Docusaurus sort pages by a number before the name, and leave it out of the address.
_NUMBERED = re.compile(r"^\d{1,3}(?:\.|[-_ ]+)(?=[^\W\d])")
_INDEX, _README, _PAGE = frozenset({"index"}), frozenset({"index", "readme"}), frozenset({"index", "page"})


def read_astro(folder: Path, root: Path) -> Site | None:
    """Read ``site``, ``base`` and ``trailingSlash`` of ``astro.config.*``.

    Pages are in ``src/content/docs`` (Starlight) and ``src/pages``.
    """
    path = _find_file(folder, "astro.config", _ASTRO_SUFFIXES)
    code = read_code(path) if path else ""
    if not code:
        return None
    config = parse_literals(code)
    computed = _SITE.search(code)
    url = get_text(config, "site", default=computed[1] if computed else "")
    base = get_text(config, "base").strip("/")
    base_url = urljoin(f"{url.rstrip('/')}/", base).rstrip("/") if is_web_url(url) else ""
    mounts = (Mount.from_path(folder / pages) for pages in ("src/content/docs", "src/pages"))
    return make_site("astro", root, base_url, config, mounts)


def astro_path(site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path: ``slug``, else its path in lower case; ``""`` for one that begins with ``_``."""
    if any(part.startswith("_") for part in page.parts):
        return ""
    # Each part by github-slugger, as Astro's loader does.
    slugs = (_NO_SLUG.sub("", part.lower()).replace(" ", "-") for part in page.with_suffix("").parts)
    path = get_meta(meta, "slug").strip("/") or "/".join(slugs)
    path = "" if path == "index" else path.removesuffix("/index")
    end = "" if get_text(site.config, "trailingSlash") == "never" or not path else "/"
    return f"/{path}{end}"


def read_docusaurus(folder: Path, root: Path) -> Site | None:
    """Read ``url``, ``baseUrl``, folders, routes and versions of docs and blog in ``docusaurus.config.*``."""
    path = _find_file(folder, "docusaurus.config", _DOCUSAURUS_SUFFIXES)
    code = read_code(path) if path else ""
    if not code:
        return None
    config = parse_literals(code)
    url, base = (str(config.get(name, "")) for name in ("url", "baseUrl"))
    base_url = f"{url.rstrip('/')}/{base.strip('/')}".rstrip("/")
    return make_site("docusaurus", root, base_url, config, dict.fromkeys(_docusaurus_mounts(folder, code)))


def _docusaurus_mounts(folder: Path, code: str) -> Iterator[Mount]:
    for key, default in (
        (r"\bdocs\s*:\s*", "docs"),
        (r"plugin-content-docs['\"]\s*,\s*", ""),
        (r"\bblog\s*:\s*", "blog"),
    ):
        options = parse_literals(find_block(code, key))
        pages = options.get("path", default)
        route = str(options.get("routeBasePath", options.get("path") or default)).strip("/")
        is_released = False
        if key.startswith(r"\bdocs"):
            route = str(options.get("routeBasePath", "docs")).strip("/")
            releases, is_current = _read_releases(folder), options.get("lastVersion") == "current"
            is_released = bool(releases) and not is_current
            yield from _release_mounts(folder, releases, route, code, is_current=is_current)
        if isinstance(pages, str) and pages:
            yield Mount.from_path(folder / pages, _join_route(route, "next" if is_released else ""))


def _read_releases(folder: Path) -> list[str]:
    try:
        names = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _release_mounts(folder: Path, releases: list[str], route: str, code: str, *, is_current: bool) -> Iterator[Mount]:
    """Yield the releases' folders. The newest has the plain route, unless the unreleased docs have it."""
    for number, name in enumerate(releases):
        stated = re.search(rf"['\"]?{re.escape(name)}['\"]?\s*:\s*\{{[^{{}}]*\bpath\s*:\s*['\"]([^'\"]*)", code)
        version = stated[1] if stated else "" if not number and not is_current else name
        yield Mount.from_path(folder / "versioned_docs" / f"version-{name}", _join_route(route, version))


def _join_route(*parts: str) -> str:
    return "".join(f"{part}/" for part in parts if part)


def docusaurus_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any], prefix: str) -> str:
    """Return a page's path below its folder; pages of a blog have a date in their names."""
    if path.name.startswith("_"):  # a part of other pages
        return ""
    slug = get_meta(meta, "slug")
    dated = _DATED.fullmatch(path.with_suffix("").as_posix()) if prefix.startswith("blog") else None
    if dated and not slug:
        stated = get_meta(meta, "date")
        year, month, day = find_day(stated) if stated else dated.groups()[:3]
        url_path = f"/{year}/{month}/{day}/{dated[4].removesuffix('/index')}"
    elif slug.startswith("/"):
        url_path = slug
    else:
        plain = _drop_numbers(path)
        name, parent = plain.with_suffix("").name, plain.parent
        is_folder = name.lower() in _README or (name == parent.name and name != "")
        last = slug or get_meta(meta, "id") or ("" if is_folder else name)
        url_path = "/" + (parent / last).as_posix().strip("./")
    if url_path == "/":
        return url_path
    return url_path.rstrip("/") + ("/" if site.config.get("trailingSlash") is True else "")


def read_nuxt(folder: Path, root: Path) -> Site | None:
    """Read ``site.url`` and ``app.baseURL`` of ``nuxt.config.*``; pages are in ``content``."""
    config = _read_literals(folder, "nuxt.config")
    content = folder / "content"
    if config is None or not content.is_dir():
        return None
    base_url = join_base(get_text(config, "url"), get_text(config, "baseURL"))
    return make_site("nuxt", root, base_url, config, [Mount.from_path(content)])


def nuxt_path(_site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path without the numbers that order it."""
    stated = get_meta(meta, "path")
    if stated.startswith("/"):
        return stated
    path = page_path(_drop_numbers(page), _INDEX, "").replace(" ", "-").lower()
    return path.rstrip("/") or "/"


def read_vitepress(folder: Path, root: Path) -> Site | None:
    """Read the sitemap's ``hostname``, ``base`` and ``srcDir`` of ``.vitepress/config.*``."""
    config = _read_literals(folder / ".vitepress", "config")
    if config is None:
        return None
    base_url = join_base(get_text(config, "hostname"), get_text(config, "base"))
    return make_site("vitepress", root, base_url, config, [Mount.from_path(folder / get_text(config, "srcDir"))])


def vitepress_path(site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    """Return a page's path, with ``.html`` unless ``cleanUrls`` is on."""
    return page_path(page, _INDEX, "" if site.config.get("cleanUrls") is True else ".html")


def read_nextjs(folder: Path, root: Path) -> Site | None:
    """Read ``contentDirBasePath`` (Nextra) of ``next.config.*``.

    Pages are in ``app``, ``pages`` and ``content``, and in ``src`` below.
    """
    config = _read_literals(folder, "next.config")
    if config is None:
        return None
    prefixes = {"app": "", "pages": "", "content": get_text(config, "contentDirBasePath").strip("/")}
    places = [(folder / above / name, prefix) for above in ("", "src") for name, prefix in prefixes.items()]
    mounts = (Mount.from_path(place, prefix) for place, prefix in places if place.is_dir())
    return make_site("nextjs", root, "", config, mounts)


def nextjs_path(_site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    """Return a page's path without its route groups, ``(name)``."""
    parts = (part for part in page.parts if not (part.startswith("(") and part.endswith(")")))
    return page_path(PurePosixPath(*parts), _PAGE, "").rstrip("/") or "/"


def _find_file(folder: Path, stem: str, suffixes: tuple[str, ...]) -> Path | None:
    return next((path for suffix in suffixes if (path := folder / f"{stem}.{suffix}").is_file()), None)


def _read_literals(folder: Path, stem: str) -> dict[str, Any] | None:
    path = _find_file(folder, stem, _SUFFIXES)
    return dict(read_config(path)) if path else None


def _drop_numbers(path: PurePosixPath) -> PurePosixPath:
    return PurePosixPath(*(_NUMBERED.sub("", part) for part in path.parts))
