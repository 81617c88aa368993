"""Addresses of the pages of Astro, Docusaurus, Next.js, Nuxt and VitePress, whose configuration is JavaScript.

The configuration is read as text and never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from documents.sites import Site
from documents.sites import configuration as conf

# "const site = PREVIEW || 'https://...'"
_SITE = re.compile(r"\b\w*site\w*\s*=[^;'\"`]*['\"](https?://[^'\"]+)['\"]", re.IGNORECASE)
_NO_SLUG = re.compile(r"[^\w\- ]+")
_DATED = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[-/](.+)")
# Nuxt Content and Docusaurus sort pages by a number before the name, and leave it out of the address.
_NUMBERED = re.compile(r"^\d{1,3}(?:\.|[-_ ]+)(?=[^\W\d])")
_PAGE = frozenset({"index", "page"})


def read_astro(folder: Path, root: Path) -> Site | None:
    """Read ``site``, ``base`` and ``trailingSlash`` of ``astro.config.*``.

    Pages are in ``src/content/docs`` (Starlight) and ``src/pages``.
    """
    code = _read_code(folder, "astro.config")
    if not code:
        return None
    config = conf.parse_literals(code)
    computed = _SITE.search(code)
    url = conf.get_text(config, "site", default=computed[1] if computed else "")
    mounts = ((folder / pages, "") for pages in ("src/content/docs", "src/pages"))
    base_url = conf.join_base(url, conf.get_text(config, "base"))
    return conf.make_site("astro", root, base_url, config, mounts)


def astro_path(site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path: ``slug``, else its path in lower case; ``""`` for one that begins with ``_``."""
    if any(part.startswith("_") for part in page.parts):
        return ""
    # Each part by github-slugger, as Astro's loader does.
    slugs = (_NO_SLUG.sub("", part.lower()).replace(" ", "-") for part in page.with_suffix("").parts)
    path = conf.get_meta(meta, "slug").strip("/") or "/".join(slugs)
    path = "" if path == "index" else path.removesuffix("/index")
    return f"/{path}" + ("" if conf.get_text(site.config, "trailingSlash") == "never" or not path else "/")


def read_docusaurus(folder: Path, root: Path) -> Site | None:
    """Read ``url``, ``baseUrl``, folders, routes and versions of docs and blog in ``docusaurus.config.*``."""
    code = _read_code(folder, "docusaurus.config")
    if not code:
        return None
    config = conf.parse_literals(code)
    base_url = conf.join_base(conf.get_text(config, "url"), conf.get_text(config, "baseUrl"))
    return conf.make_site("docusaurus", root, base_url, config, dict.fromkeys(_docusaurus_mounts(folder, code)))


def _docusaurus_mounts(folder: Path, code: str) -> Iterator[tuple[Path, str]]:
    docs = conf.parse_literals(conf.find_block(code, r"\bdocs\s*:\s*"))
    route = conf.get_text(docs, "routeBasePath", default="docs").strip("/")
    # The newest release has the plain route, unless the unreleased docs have it.
    plain = "" if docs.get("lastVersion") == "current" else next(iter(_read_releases(folder)), "")
    for name in _read_releases(folder):
        stated = re.search(rf"['\"]?{re.escape(name)}['\"]?\s*:\s*\{{[^{{}}]*\bpath\s*:\s*['\"]([^'\"]*)", code)
        version = stated[1] if stated else "" if name == plain else name
        yield (folder / "versioned_docs" / f"version-{name}", _join_route(route, version))
    yield (folder / conf.get_text(docs, "path", default="docs"), _join_route(route, "next" if plain else ""))
    for opening, default in ((r"plugin-content-docs['\"]\s*,\s*", ""), (r"\bblog\s*:\s*", "blog")):
        options = conf.parse_literals(conf.find_block(code, opening))
        if path := conf.get_text(options, "path", default=default):
            yield (folder / path, _join_route(conf.get_text(options, "routeBasePath", default=path)))


def _read_releases(folder: Path) -> list[str]:
    try:
        names = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _join_route(*parts: str) -> str:
    return "".join(f"{part.strip('/')}/" for part in parts if part.strip("/"))


def docusaurus_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any], *, is_blog: bool) -> str:
    """Return a page's path below its folder; pages of a blog have a date in their names."""
    if path.name.startswith("_"):  # a part of other pages
        return ""
    slug = conf.get_meta(meta, "slug")
    dated = _DATED.fullmatch(path.with_suffix("").as_posix()) if is_blog else None
    if dated and not slug:
        stated = conf.get_meta(meta, "date")
        year, month, day = conf.find_day(stated) if stated else dated.groups()[:3]
        url_path = f"/{year}/{month}/{day}/{dated[4].removesuffix('/index')}"
    elif slug.startswith("/"):
        url_path = slug
    else:
        plain = _drop_numbers(path)
        name, parent = plain.with_suffix("").name, plain.parent
        is_folder = name.lower() in ("index", "readme") or (name == parent.name and name != "")
        last = slug or conf.get_meta(meta, "id") or ("" if is_folder else name)
        url_path = "/" + (parent / last).as_posix().strip("./")
    if url_path == "/":
        return url_path
    return url_path.rstrip("/") + ("/" if site.config.get("trailingSlash") is True else "")


def read_nuxt(folder: Path, root: Path) -> Site | None:
    """Read ``site.url`` and ``app.baseURL`` of ``nuxt.config.*``; pages are in ``content``."""
    code, content = _read_code(folder, "nuxt.config"), folder / "content"
    if not code or not content.is_dir():
        return None
    config = conf.parse_literals(code)
    base_url = conf.join_base(conf.get_text(config, "url"), conf.get_text(config, "baseURL"))
    return conf.make_site("nuxt", root, base_url, config, [(content, "")])


def nuxt_path(_site: Site, page: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path without the numbers that order it."""
    stated = conf.get_meta(meta, "path")
    if stated.startswith("/"):
        return stated
    path = conf.page_path(_drop_numbers(page), frozenset({"index"}), "").replace(" ", "-").lower()
    return path.rstrip("/") or "/"


def read_vitepress(folder: Path, root: Path) -> Site | None:
    """Read the sitemap's ``hostname``, ``base`` and ``srcDir`` of ``.vitepress/config.*``."""
    code = _read_code(folder / ".vitepress", "config")
    if not code:
        return None
    config = conf.parse_literals(code)
    base_url = conf.join_base(conf.get_text(config, "hostname"), conf.get_text(config, "base"))
    return conf.make_site("vitepress", root, base_url, config, [(folder / conf.get_text(config, "srcDir"), "")])


def vitepress_path(site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    """Return a page's path, with ``.html`` unless ``cleanUrls`` is on."""
    return conf.page_path(page, frozenset({"index"}), "" if site.config.get("cleanUrls") is True else ".html")


def read_nextjs(folder: Path, root: Path) -> Site | None:
    """Read ``contentDirBasePath`` (Nextra) of ``next.config.*``.

    Pages are in ``app``, ``pages`` and ``content``, and in ``src`` below.
    """
    code = _read_code(folder, "next.config")
    if not code:
        return None
    config = conf.parse_literals(code)
    prefixes = {"app": "", "pages": "", "content": conf.get_text(config, "contentDirBasePath").strip("/")}
    places = [(folder / above / name, prefix) for above in ("", "src") for name, prefix in prefixes.items()]
    mounts = ((place, prefix) for place, prefix in places if place.is_dir())
    return conf.make_site("nextjs", root, "", config, mounts)


def nextjs_path(_site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    """Return a page's path without its route groups, ``(name)``."""
    parts = (part for part in page.parts if not (part.startswith("(") and part.endswith(")")))
    return conf.page_path(PurePosixPath(*parts), _PAGE, "").rstrip("/") or "/"


def _read_code(folder: Path, stem: str) -> str:
    codes = (conf.read_code(folder / f"{stem}.{suffix}") for suffix in ("ts", "js", "mjs", "mts", "cjs"))
    return next(filter(None, codes), "")


def _drop_numbers(path: PurePosixPath) -> PurePosixPath:
    return PurePosixPath(*(_NUMBERED.sub("", part) for part in path.parts))
