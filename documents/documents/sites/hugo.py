"""Hugo: its configuration in one file or in ``config/_default``, languages, permalinks, ugly addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from documents.sites.configuration import read, setting, text
from documents.sites.paths import day, directory, said, slug
from documents.sites.site import Mount, Site

_SUFFIXES = ("toml", "yaml", "yml", "json")
_FOLDER = frozenset({"index", "_index"})
_PLACE = re.compile(r":(\w+)(?:\[[^\]]*\])?")
_UNUSUAL = re.compile(r"[^\w./~+@-]+")


def hugo(folder: Path, root: Path) -> Site | None:
    """``hugo.*``, ``config.*`` with a ``baseURL``, or ``config/_default/``."""
    config = _config(folder)
    if config is None:
        return None
    base = text(config, "baseURL")
    mounts = tuple(_mounts(folder, config))
    known = base if base.startswith(("http://", "https://")) else ""
    return Site(root=root.as_posix(), kind="hugo", base_url=known, config=config, mounts=mounts)


def _config(folder: Path) -> dict[str, Any] | None:
    for place in (folder, folder / "config" / "_default"):
        for name in ("hugo", "config"):
            for suffix in _SUFFIXES:
                config = dict(read(place / f"{name}.{suffix}"))
                if config and (name == "hugo" or setting(config, "baseURL") is not None):
                    return _with_parts(config, place) if place != folder else config
    return None


def _with_parts(config: dict[str, Any], place: Path) -> dict[str, Any]:
    for part in ("languages", "permalinks", "params", "module"):
        for suffix in _SUFFIXES:
            if found := read(place / f"{part}.{suffix}"):
                config[part] = {**(setting(config, part) or {}), **found}
    return config


def _mounts(folder: Path, config: Mapping[str, Any]) -> list[Mount]:
    """The content folders: of modules' mounts, of languages, else the one."""
    content = text(config, "contentDir", default="content")
    default = text(config, "defaultContentLanguage", default="en").lower()
    below = setting(config, "defaultContentLanguageInSubdir", default=False)
    found: list[Mount] = []

    def language(name: object) -> str:
        own = str(name).lower()
        return "" if own in ("", default) and not below else f"{own}/"

    languages = setting(config, "languages")
    for name, one in languages.items() if isinstance(languages, dict) else ():
        if own := text(one if isinstance(one, dict) else {}, "contentDir"):
            found.append(Mount((folder / own).resolve().as_posix(), language(name)))
    mounted = setting(config, "module", "mounts")
    for mount in mounted if isinstance(mounted, list) else ():
        source, target = (PurePosixPath(text(mount, name)) for name in ("source", "target"))
        if target.parts[:1] == ("content",) and not source.suffix:  # a file that is mounted is no folder of pages
            spoken = setting(mount, "sites", "matrix", "languages") or [text(mount, "lang", default=default)]
            inside = "".join(f"{part}/" for part in target.parts[1:])
            found.append(Mount((folder / source).resolve().as_posix(), language(spoken[0]) + inside))
    return found or [Mount((folder / content).resolve().as_posix())]


def hugo_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """The address of a page below its content folder."""
    if url := said(meta, "url"):
        return url if url.startswith("/") else f"/{url}"
    path, language = _language(site.config, path)
    is_section = path.stem.lower() == "_index"
    own = "" if is_section else said(meta, "slug")
    stated = _permalink(site.config, path) if not is_section else ""
    if stated:
        made = _filled(stated, path, meta)
    elif path.stem.lower() in _FOLDER:
        parent = path.parent.with_name(own) if own and path.parent.name else path.parent
        made = directory(parent)
    else:
        ugly = setting(site.config, "uglyURLs", default=False) is True
        made = f"/{path.with_name(own or path.with_suffix('').name).as_posix()}" + (".html" if ugly else "/")
    if setting(site.config, "disablePathToLower", default=False) is not True:
        made = made.lower()
    return language + _UNUSUAL.sub("", made.replace(" ", "-"))


def _language(config: Mapping[str, Any], path: PurePosixPath) -> tuple[PurePosixPath, str]:
    """``a.fr.md`` as ``a.md`` and ``/fr``, where French is one of the site's languages."""
    name = PurePosixPath(path.stem).suffix.lstrip(".").lower()
    languages = setting(config, "languages")
    if not name or not isinstance(languages, dict) or name not in {str(key).lower() for key in languages}:
        return path, ""
    plain = path.with_name(PurePosixPath(path.stem).stem + path.suffix)
    default = text(config, "defaultContentLanguage", default="en").lower()
    below = setting(config, "defaultContentLanguageInSubdir", default=False)
    return plain, "" if name == default and not below else f"/{name}"


def _permalink(config: Mapping[str, Any], path: PurePosixPath) -> str:
    section = path.parts[0] if len(path.parts) > 1 else ""
    return text(config, "permalinks", "page", section) or text(config, "permalinks", section)


def _filled(pattern: str, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """``pattern`` with its placeholders filled, ``""`` when one of them is not known here."""
    name = path.parent.name if path.stem.lower() == "index" else path.with_suffix("").name
    folders = path.parts[:-2] if path.stem.lower() == "index" else path.parts[:-1]
    year, month, number = day(*(said(meta, key) for key in ("date", "publishDate", "pubdate", "lastmod")))
    title, own = slug(said(meta, "title")) or name, said(meta, "slug")
    values = {
        "year": year,
        "month": month,
        "day": number,
        "title": title,
        "slug": own or title,
        "filename": name,
        "contentbasename": name,
        "slugorfilename": own or name,
        "slugorcontentbasename": own or name,
        "section": path.parts[0],
        "sections": "/".join(folders),
    }
    if any(not values.get(match[1]) for match in _PLACE.finditer(pattern)):
        return ""
    return "/" + _PLACE.sub(lambda match: values[match[1]], pattern).strip("/") + "/"
