"""Hugo and Jekyll: their configurations, and the permalinks of pages, posts, sections and collections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from documents.sites import Mount, Site
from documents.sites.configuration import get_meta, get_setting, get_text, join_base, make_site, read_config
from documents.sites.paths import find_day, folder_path

_HUGO_SUFFIXES = ("toml", "yaml", "yml", "json")
_HUGO_INDEX = frozenset({"index", "_index"})
_HUGO_PLACEHOLDER = re.compile(r":(\w+)(?:\[[^\]]*\])?")
_HUGO_DROPPED = re.compile(r"[^\w./~+@-]+")
_POST = re.compile(r"(\d{4}-\d\d?-\d\d?)-(.+)")
_JEKYLL_PLACEHOLDER = re.compile(r":([a-z_]+)")
_JEKYLL_INDEX = frozenset({"index", "readme"})
_JEKYLL_STYLES = {
    "": "/:categories/:year/:month/:day/:title.html",
    "date": "/:categories/:year/:month/:day/:title.html",
    "pretty": "/:categories/:year/:month/:day/:title/",
    "none": "/:categories/:title.html",
}
_NO_WORD = re.compile(r"[^\w]+")


def read_hugo(folder: Path, root: Path) -> Site | None:
    """Read ``hugo.*``, ``config.*`` with a ``baseURL``, or ``config/_default/``."""
    for place in (folder, folder / "config" / "_default"):
        for name in ("hugo", "config"):
            for suffix in _HUGO_SUFFIXES:
                config = dict(read_config(place / f"{name}.{suffix}"))
                if config and (name == "hugo" or get_setting(config, "baseURL") is not None):
                    if place != folder:
                        _add_parts(config, place)
                    return make_site("hugo", root, get_text(config, "baseURL"), config, _hugo_mounts(folder, config))
    return None


def _add_parts(config: dict[str, Any], place: Path) -> None:
    """Add the settings in files of their own, such as ``languages.toml``, to ``config``."""
    for part in ("languages", "permalinks", "params", "module"):
        for suffix in _HUGO_SUFFIXES:
            if settings := read_config(place / f"{part}.{suffix}"):
                config[part] = {**(get_setting(config, part) or {}), **settings}


def _hugo_mounts(folder: Path, config: Mapping[str, Any]) -> list[Mount]:
    """Return the content folders: those of modules' mounts and of languages, else the one."""
    default = get_text(config, "defaultContentLanguage", default="en").lower()
    mounts: list[Mount] = []
    languages = get_setting(config, "languages")
    for name, options in languages.items() if isinstance(languages, dict) else ():
        if content := get_text(options if isinstance(options, dict) else {}, "contentDir"):
            mounts.append(Mount.from_path(folder / content, _language_prefix(config, str(name))))
    modules = get_setting(config, "module", "mounts")
    for module in modules if isinstance(modules, list) else ():
        source, target = (PurePosixPath(get_text(module, name)) for name in ("source", "target"))
        if target.parts[:1] == ("content",) and not source.suffix:  # a file that is mounted is no folder of pages
            names = get_setting(module, "sites", "matrix", "languages") or [get_text(module, "lang", default=default)]
            inside = "".join(f"{part}/" for part in target.parts[1:])
            mounts.append(Mount.from_path(folder / source, _language_prefix(config, str(names[0])) + inside))
    return mounts or [Mount.from_path(folder / get_text(config, "contentDir", default="content"))]


def _language_prefix(config: Mapping[str, Any], language: str) -> str:
    """Return ``fr/``; ``""`` for the default language, unless it has a folder in addresses too."""
    default = get_text(config, "defaultContentLanguage", default="en").lower()
    has_folder = get_setting(config, "defaultContentLanguageInSubdir", default=False)
    return "" if language.lower() in ("", default) and not has_folder else f"{language.lower()}/"


def hugo_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path below its content folder."""
    if url := get_meta(meta, "url"):
        return url if url.startswith("/") else f"/{url}"
    path, language = _split_language(site.config, path)
    is_section = path.stem.lower() == "_index"
    slug = "" if is_section else get_meta(meta, "slug")
    section = path.parts[0] if len(path.parts) > 1 else ""
    permalink = get_text(site.config, "permalinks", "page", section) or get_text(site.config, "permalinks", section)
    if permalink and not is_section:
        url_path = _fill_hugo(permalink, path, meta)
    elif path.stem.lower() in _HUGO_INDEX:
        url_path = folder_path(path.parent.with_name(slug) if slug and path.parent.name else path.parent)
    else:
        is_ugly = get_setting(site.config, "uglyURLs", default=False) is True
        url_path = f"/{path.with_name(slug or path.with_suffix('').name).as_posix()}" + (".html" if is_ugly else "/")
    if get_setting(site.config, "disablePathToLower", default=False) is not True:
        url_path = url_path.lower()
    return language + _HUGO_DROPPED.sub("", url_path.replace(" ", "-"))


def _split_language(config: Mapping[str, Any], path: PurePosixPath) -> tuple[PurePosixPath, str]:
    """Return ``a.md`` and ``/fr`` for ``a.fr.md``, if French is a language of the site."""
    name = PurePosixPath(path.stem).suffix.lstrip(".").lower()
    languages = get_setting(config, "languages")
    if not name or not isinstance(languages, dict) or name not in {str(key).lower() for key in languages}:
        return path, ""
    prefix = _language_prefix(config, name)
    return path.with_name(PurePosixPath(path.stem).stem + path.suffix), f"/{prefix}".rstrip("/")


def _fill_hugo(pattern: str, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return ``pattern`` with its placeholders filled, ``""`` if one of them has no value."""
    is_index = path.stem.lower() == "index"
    name = path.parent.name if is_index else path.with_suffix("").name
    folders = path.parts[:-2] if is_index else path.parts[:-1]
    year, month, day = find_day(*(get_meta(meta, key) for key in ("date", "publishDate", "pubdate", "lastmod")))
    title, slug = _slugify(get_meta(meta, "title")) or name, get_meta(meta, "slug")
    values = {
        "year": year,
        "month": month,
        "day": day,
        "title": title,
        "slug": slug or title,
        "filename": name,
        "contentbasename": name,
        "slugorfilename": slug or name,
        "slugorcontentbasename": slug or name,
        "section": path.parts[0],
        "sections": "/".join(folders),
    }
    if any(not values.get(match[1]) for match in _HUGO_PLACEHOLDER.finditer(pattern)):
        return ""
    return "/" + _HUGO_PLACEHOLDER.sub(lambda match: values[match[1]], pattern).strip("/") + "/"


def read_jekyll(folder: Path, root: Path) -> Site | None:
    """Read ``url``, ``baseurl`` and ``source`` of ``_config.yml``; pages are in its folder or in ``source``."""
    config = read_config(folder / "_config.yml")
    if not config:
        return None
    base_url = join_base(get_text(config, "url"), get_text(config, "baseurl"))
    return make_site("jekyll", root, base_url, config, [Mount.from_path(folder / get_text(config, "source"))])


def jekyll_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path below the site's folder, ``""`` if Jekyll makes no page of it."""
    name = path.with_suffix("").name
    permalink = get_meta(meta, "permalink")
    folder = next((part for part in path.parts[:-1] if part.startswith("_")), "")
    if folder in ("_posts", "_drafts"):
        return _post_path(site, path, meta, permalink)
    if folder:
        return _collection_path(site, path, meta, permalink, folder[1:])
    permalink = permalink or _default_permalink(site, path, "pages")
    if permalink:
        return _fill_jekyll(permalink, {"title": name, "basename": name, "path": path.parent.as_posix().strip(".")})
    if name.lower() in _JEKYLL_INDEX:
        return f"/{path.parent.as_posix().strip('.')}/".replace("//", "/")
    style = get_text(site.config, "permalink")
    plain = f"/{path.with_suffix('').as_posix()}"
    return f"{plain}/" if style == "pretty" or style.endswith("/") else f"{plain}.html"


def _post_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any], permalink: str) -> str:
    match = _POST.fullmatch(path.with_suffix("").name)
    name = match[2] if match else path.with_suffix("").name
    year, month, day = find_day(get_meta(meta, "date"), match[1] if match else "")
    folders = path.parts[: next(i for i, part in enumerate(path.parts) if part.startswith("_"))]
    pattern = permalink or _default_permalink(site, path, "posts")
    pattern = pattern or get_text(site.config, "collections", "posts", "permalink")
    pattern = pattern or get_text(site.config, "permalink")
    values = {
        "categories": "/".join(dict.fromkeys(_slugify(part) for part in (*folders, *_read_categories(meta)))),
        "year": year,
        "month": month,
        "day": day,
        "i_month": month.lstrip("0"),
        "i_day": day.lstrip("0"),
        "short_year": year[2:],
        "title": get_meta(meta, "slug") or name,
        "slug": _slugify(get_meta(meta, "slug") or name),
    }
    return _fill_jekyll(_JEKYLL_STYLES.get(pattern, pattern), values)


def _read_categories(meta: Mapping[str, Any]) -> list[str]:
    stated = get_setting(meta, "categories") or get_setting(meta, "category") or []
    return stated.split() if isinstance(stated, str) else [part for part in stated if isinstance(part, str)]


def _collection_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any], permalink: str, name: str) -> str:
    collections = get_setting(site.config, "collections", default=())
    has_pages = get_setting(site.config, "collections", name, "output") is not False
    if site.config and (name not in collections or not has_pages):
        return ""
    inside = PurePosixPath(*path.parts[path.parts.index(f"_{name}") + 1 :]).with_suffix("")
    pattern = permalink or _default_permalink(site, path, name)
    pattern = pattern or get_text(site.config, "collections", name, "permalink")
    is_pretty = not site.config or get_text(site.config, "permalink") == "pretty"
    pattern = pattern or ("/:collection/:path/" if is_pretty else "/:collection/:path.html")
    title = get_meta(meta, "slug") or inside.name
    return _fill_jekyll(pattern, {"collection": name, "path": inside.as_posix(), "name": inside.name, "title": title})


def _default_permalink(site: Site, path: PurePosixPath, kind: str) -> str:
    """Return the ``permalink`` in the configuration's ``defaults`` for pages of this kind in this place."""
    permalink = ""
    defaults = get_setting(site.config, "defaults")
    for stated in defaults if isinstance(defaults, list) else ():
        entry = stated if isinstance(stated, dict) else {}
        place, wanted = get_text(entry, "scope", "path").strip("/"), get_text(entry, "scope", "type")
        if wanted in ("", kind) and (not place or path.is_relative_to(place)):
            permalink = get_text(entry, "values", "permalink") or permalink
    return permalink


def _fill_jekyll(pattern: str, values: Mapping[str, str]) -> str:
    """Return ``pattern`` with its placeholders filled, ``""`` if one of them is unknown."""
    values = {"output_ext": ".html", "categories": "", "path": "", **values}
    if any(match[1] not in values for match in _JEKYLL_PLACEHOLDER.finditer(pattern)):
        return ""
    path = re.sub(r"/{2,}", "/", "/" + _JEKYLL_PLACEHOLDER.sub(lambda match: values[match[1]], pattern))
    return path.removesuffix("index.html") if path.endswith("/index.html") else path


def _slugify(text: str) -> str:
    """Return the words of ``text`` in lower case with hyphens between them, as Hugo and Jekyll do."""
    return _NO_WORD.sub("-", text.lower()).strip("-")
