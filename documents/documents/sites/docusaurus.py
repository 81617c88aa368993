"""Docusaurus: base address and routes, read out of ``docusaurus.config.*`` as literals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from documents.sites.configuration import MAX_BYTES, block, literals
from documents.sites.paths import day, said, unnumbered
from documents.sites.site import Mount, Site

_DATED = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[-/](.+)")
_FOLDER = frozenset({"index", "readme"})


def docusaurus(folder: Path, root: Path) -> Site | None:
    """``docusaurus.config.*``: ``url``, ``baseUrl``, the docs' and the blog's folders and routes, their versions."""
    path = next(
        (path for end in ("js", "ts", "mjs", "cjs") if (path := folder / f"docusaurus.config.{end}").is_file()), None
    )
    if path is None:
        return None
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            code = file.read(MAX_BYTES)
    except OSError:
        return None
    config = literals(code)
    url, base = (str(config.get(name, "")) for name in ("url", "baseUrl"))
    known = f"{url.rstrip('/')}/{base.strip('/')}" if url.startswith(("http://", "https://")) else ""
    mounts = tuple(dict.fromkeys(_mounts(folder, code)))
    return Site(root=root.as_posix(), kind="docusaurus", base_url=known.rstrip("/"), config=config, mounts=mounts)


def _mounts(folder: Path, code: str) -> Iterator[Mount]:
    for key, default in (
        (r"\bdocs\s*:\s*", "docs"),
        (r"plugin-content-docs['\"]\s*,\s*", ""),
        (r"\bblog\s*:\s*", "blog"),
    ):
        inside = block(code, key)
        own = literals(inside)
        pages, route = own.get("path", default), str(own.get("routeBasePath", own.get("path") or default)).strip("/")
        if key.startswith(r"\bdocs"):
            route = str(own.get("routeBasePath", "docs")).strip("/")
            yield from _versions(folder, route, code, current=own.get("lastVersion") == "current")
        if isinstance(pages, str) and pages:
            versioned = key.startswith(r"\bdocs") and _released(folder) and own.get("lastVersion") != "current"
            parts = [route, "next" if versioned else ""]
            yield Mount((folder / pages).resolve().as_posix(), "".join(f"{part}/" for part in parts if part))


def _released(folder: Path) -> list[str]:
    try:
        found = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _versions(folder: Path, route: str, code: str, *, current: bool) -> Iterator[Mount]:
    """The newest release has the plain route, if the unreleased docs have not; the others have their name in it."""
    for number, name in enumerate(_released(folder)):
        stated = re.search(rf"['\"]?{re.escape(name)}['\"]?\s*:\s*\{{[^{{}}]*\bpath\s*:\s*['\"]([^'\"]*)", code)
        parts = [route, stated[1] if stated else "" if not number and not current else name]
        place = folder / "versioned_docs" / f"version-{name}"
        yield Mount(place.resolve().as_posix(), "".join(f"{part}/" for part in parts if part))


def docusaurus_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any], prefix: str) -> str:
    """The address of a page below its folder; a blog's are known by a date in their names."""
    if path.name.startswith("_"):  # a part of other pages
        return ""
    slug = said(meta, "slug")
    dated = _DATED.fullmatch(path.with_suffix("").as_posix()) if prefix.startswith("blog") else None
    if dated and not slug:
        year, month, number = day(said(meta, "date")) if said(meta, "date") else dated.groups()[:3]
        made = f"/{year}/{month}/{number}/{dated[4].removesuffix('/index')}"
    elif slug.startswith("/"):
        made = slug
    else:
        plain = unnumbered(path)
        name, parent = plain.with_suffix("").name, plain.parent
        last = slug or said(meta, "id") or ("" if _is_folder(name, parent) else name)
        made = "/" + (parent / last).as_posix().strip("./")
    if made == "/":
        return made
    return made.rstrip("/") + ("/" if site.config.get("trailingSlash") is True else "")


def _is_folder(name: str, parent: PurePosixPath) -> bool:
    return name.lower() in _FOLDER or (name == parent.name and name != "")
