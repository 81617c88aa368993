"""Jekyll: permalinks of posts, collections and pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from documents.sites.configuration import setting, text
from documents.sites.paths import day, said, slug
from documents.sites.site import Site

_POST = re.compile(r"(\d{4}-\d\d?-\d\d?)-(.+)")
_PLACE = re.compile(r":([a-z_]+)")
_FOLDER = frozenset({"index", "readme"})
_STYLES = {
    "": "/:categories/:year/:month/:day/:title.html",
    "date": "/:categories/:year/:month/:day/:title.html",
    "pretty": "/:categories/:year/:month/:day/:title/",
    "none": "/:categories/:title.html",
}


def jekyll_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """The address of a page below the site's folder, ``""`` where Jekyll makes no page of it."""
    name = path.with_suffix("").name
    own = said(meta, "permalink")
    folder = next((part for part in path.parts[:-1] if part.startswith("_")), "")
    if folder in ("_posts", "_drafts"):
        return _post(site, path, meta, own)
    if folder:
        return _in_collection(site, path, meta, own, folder[1:])
    own = own or _default(site, path, "pages")
    if own:
        return _filled(own, {"title": name, "basename": name, "path": path.parent.as_posix().strip(".")})
    if name.lower() in _FOLDER:
        return f"/{path.parent.as_posix().strip('.')}/".replace("//", "/")
    style = text(site.config, "permalink")
    plain = f"/{path.with_suffix('').as_posix()}"
    return f"{plain}/" if style == "pretty" or style.endswith("/") else f"{plain}.html"


def _post(site: Site, path: PurePosixPath, meta: Mapping[str, Any], own: str) -> str:
    match = _POST.fullmatch(path.with_suffix("").name)
    name = match[2] if match else path.with_suffix("").name
    year, month, number = day(said(meta, "date"), match[1] if match else "")
    before = list(path.parts[: next(i for i, part in enumerate(path.parts) if part.startswith("_"))])
    categories = "/".join(dict.fromkeys(slug(part) for part in (*before, *_categories(meta))))
    stated = own or _default(site, path, "posts") or text(site.config, "collections", "posts", "permalink")
    stated = stated or text(site.config, "permalink")
    values = {
        "categories": categories,
        "year": year,
        "month": month,
        "day": number,
        "i_month": month.lstrip("0"),
        "i_day": number.lstrip("0"),
        "short_year": year[2:],
        "title": said(meta, "slug") or name,
        "slug": slug(said(meta, "slug") or name),
    }
    return _filled(_STYLES.get(stated, stated), values)


def _in_collection(site: Site, path: PurePosixPath, meta: Mapping[str, Any], own: str, name: str) -> str:
    collections = setting(site.config, "collections", default=())
    if site.config and (name not in collections or setting(site.config, "collections", name, "output") is False):
        return ""
    inside = PurePosixPath(*path.parts[path.parts.index(f"_{name}") + 1 :]).with_suffix("")
    stated = own or _default(site, path, name) or text(site.config, "collections", name, "permalink")
    pretty = not site.config or text(site.config, "permalink") == "pretty"
    stated = stated or ("/:collection/:path/" if pretty else "/:collection/:path.html")
    title = said(meta, "slug") or inside.name
    return _filled(stated, {"collection": name, "path": inside.as_posix(), "name": inside.name, "title": title})


def _default(site: Site, path: PurePosixPath, kind: str) -> str:
    """The ``permalink`` that the configuration's ``defaults`` give pages of this kind in this place."""
    found = ""
    defaults = setting(site.config, "defaults")
    for stated in defaults if isinstance(defaults, list) else ():
        entry = stated if isinstance(stated, dict) else {}
        place, wanted = text(entry, "scope", "path").strip("/"), text(entry, "scope", "type")
        if wanted in ("", kind) and (not place or path.is_relative_to(place)):
            found = text(entry, "values", "permalink") or found
    return found


def _categories(meta: Mapping[str, Any]) -> list[str]:
    found = setting(meta, "categories") or setting(meta, "category") or []
    return found.split() if isinstance(found, str) else [str(part) for part in found if isinstance(part, str)]


def _filled(pattern: str, values: Mapping[str, str]) -> str:
    """``pattern`` with its placeholders filled, ``""`` when one of them is not known here."""
    values = {"output_ext": ".html", "categories": "", "path": "", **values}
    if any(match[1] not in values for match in _PLACE.finditer(pattern)):
        return ""
    made = re.sub(r"/{2,}", "/", "/" + _PLACE.sub(lambda match: values[match[1]], pattern))
    return made.removesuffix("index.html") if made.endswith("/index.html") else made
