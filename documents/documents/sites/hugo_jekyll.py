"""Hugo and Jekyll: their configurations, and the permalinks of pages, posts, sections and collections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from documents.sites import Site
from documents.sites import configuration as conf

_HUGO_SUFFIXES = ("toml", "yaml", "yml", "json")
_HUGO_INDEX = ("index", "_index")
_HUGO_DROPPED = re.compile(r"[^\w./~+@-]+")
_PLACEHOLDER = re.compile(r":([A-Za-z_]+)(?:\[[^\]]*\])?")
_POST = re.compile(r"(\d{4}-\d\d?-\d\d?)-(.+)")
_DATED = "/:categories/:year/:month/:day/:title"
_JEKYLL_STYLES = {
    **dict.fromkeys(("", "date"), f"{_DATED}.html"),
    "pretty": f"{_DATED}/",
    "none": "/:categories/:title.html",
}


def read_hugo(folder: Path, root: Path) -> Site | None:
    """Read ``hugo.*``, ``config.*`` with a ``baseURL``, or ``config/_default/``."""
    for place in (folder, folder / "config" / "_default"):
        for name in ("hugo", "config"):
            config = _read_hugo_file(place, name)
            if not config or (name == "config" and conf.get_setting(config, "baseURL") is None):
                continue
            for part in ("languages", "permalinks", "params", "module") if place != folder else ():
                if settings := _read_hugo_file(place, part):  # a file of its own, such as ``languages.toml``
                    config[part] = {**(conf.get_setting(config, part) or {}), **settings}
            return conf.make_site("hugo", root, conf.get_text(config, "baseURL"), config, _hugo_mounts(folder, config))
    return None


def _read_hugo_file(place: Path, name: str) -> dict[str, Any]:
    configs = (dict(conf.read_config(place / f"{name}.{suffix}")) for suffix in _HUGO_SUFFIXES)
    return next(filter(None, configs), {})


def _hugo_mounts(folder: Path, config: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """Return the content folders: those of modules' mounts and of languages, else the one."""
    mounts: list[tuple[Path, str]] = []
    languages = conf.get_setting(config, "languages")
    for name, options in languages.items() if isinstance(languages, dict) else ():
        if content := conf.get_text(options if isinstance(options, dict) else {}, "contentDir"):
            mounts.append((folder / content, _language_prefix(config, str(name))))
    modules = conf.get_setting(config, "module", "mounts")
    for module in modules if isinstance(modules, list) else ():
        source, target = (PurePosixPath(conf.get_text(module, name)) for name in ("source", "target"))
        if target.parts[:1] == ("content",) and not source.suffix:  # a file that is mounted is no folder of pages
            names = conf.get_setting(module, "sites", "matrix", "languages") or [conf.get_text(module, "lang")]
            inside = "".join(f"{part}/" for part in target.parts[1:])
            mounts.append((folder / source, _language_prefix(config, str(names[0])) + inside))
    return mounts or [(folder / conf.get_text(config, "contentDir", default="content"), "")]


def _language_prefix(config: Mapping[str, Any], language: str) -> str:
    """Return ``fr/``; ``""`` for the default language, unless it has a folder in addresses too."""
    default = conf.get_text(config, "defaultContentLanguage", default="en").lower()
    has_folder = conf.get_setting(config, "defaultContentLanguageInSubdir", default=False)
    language = language.lower() or default
    return "" if language == default and not has_folder else f"{language}/"


def hugo_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path below its content folder."""
    config = site.config
    if url := conf.get_meta(meta, "url"):
        return url if url.startswith("/") else f"/{url}"
    path, language = _split_language(config, path)
    is_section = path.stem.lower() == "_index"
    slug = "" if is_section else conf.get_meta(meta, "slug")
    section = path.parts[0] if len(path.parts) > 1 else ""
    permalinks = (conf.get_text(config, "permalinks", *names) for names in (("page", section), (section,)))
    if not is_section and (permalink := next(filter(None, permalinks), "")):
        url_path = _fill_hugo(permalink, path, slug, meta)
    elif path.stem.lower() in _HUGO_INDEX:
        url_path = conf.folder_path(path.parent.with_name(slug) if slug and path.parent.name else path.parent)
    else:
        is_ugly = conf.get_setting(config, "uglyURLs", default=False) is True
        url_path = f"/{path.with_name(slug or path.stem).as_posix()}" + (".html" if is_ugly else "/")
    if conf.get_setting(config, "disablePathToLower", default=False) is not True:
        url_path = url_path.lower()
    return language + _HUGO_DROPPED.sub("", url_path.replace(" ", "-"))


def _split_language(config: Mapping[str, Any], path: PurePosixPath) -> tuple[PurePosixPath, str]:
    """Return ``a.md`` and ``/fr`` for ``a.fr.md``, if French is a language of the site."""
    name = PurePosixPath(path.stem).suffix.lstrip(".").lower()
    if not name or name not in {str(key).lower() for key in conf.get_setting(config, "languages", default=())}:
        return path, ""
    prefix = _language_prefix(config, name)
    return path.with_name(PurePosixPath(path.stem).stem + path.suffix), f"/{prefix}".rstrip("/")


def _fill_hugo(permalink: str, path: PurePosixPath, slug: str, meta: Mapping[str, Any]) -> str:
    own = path.parent if path.stem.lower() in _HUGO_INDEX else path.with_suffix("")
    title = _slugify(conf.get_meta(meta, "title")) or own.name
    values = {
        **_date_values(*(conf.get_meta(meta, key) for key in ("date", "publishDate", "pubdate", "lastmod"))),
        "title": title,
        "slug": slug or title,
        "section": path.parts[0],
        "sections": own.parent.as_posix().strip("."),
        **dict.fromkeys(("filename", "contentbasename"), own.name),
        **dict.fromkeys(("slugorfilename", "slugorcontentbasename"), slug or own.name),
    }
    filled = _fill(permalink, {name: value for name, value in values.items() if value})
    return f"/{filled.strip('/')}/" if filled else ""


def read_jekyll(folder: Path, root: Path) -> Site | None:
    """Read ``url``, ``baseurl`` and ``source`` of ``_config.yml``; pages are in its folder or in ``source``."""
    config = conf.read_config(folder / "_config.yml")
    if not config:
        return None
    base_url = conf.join_base(conf.get_text(config, "url"), conf.get_text(config, "baseurl"))
    mounts = [(folder / conf.get_text(config, "source"), "")]
    return conf.make_site("jekyll", root, base_url, config, mounts)


def jekyll_path(site: Site, path: PurePosixPath, meta: Mapping[str, Any]) -> str:
    """Return a page's path below the site's folder, ``""`` if Jekyll makes no page of it."""
    folder = next((part for part in path.parts[:-1] if part.startswith("_")), "")
    kind = "posts" if folder == "_drafts" else folder.removeprefix("_")
    style = conf.get_text(site.config, "permalink")
    pattern = conf.get_meta(meta, "permalink") or _default_permalink(site, path, kind or "pages")
    if kind:
        pattern = pattern or conf.get_text(site.config, "collections", kind, "permalink")
        return _collection_path(site, path, pattern, kind, meta)
    above = path.parent.as_posix().strip(".")
    if pattern:
        return _fill_jekyll(pattern, {"title": path.stem, "basename": path.stem, "path": above})
    if path.stem.lower() in ("index", "readme"):
        return f"/{above}/".replace("//", "/")
    plain = f"/{path.with_suffix('').as_posix()}"
    return f"{plain}/" if style == "pretty" or style.endswith("/") else f"{plain}.html"


def _collection_path(site: Site, path: PurePosixPath, pattern: str, kind: str, meta: Mapping[str, Any]) -> str:
    style = conf.get_text(site.config, "permalink")
    if kind == "posts":
        pattern = pattern or style
        return _fill_jekyll(_JEKYLL_STYLES.get(pattern, pattern), _post_values(path, meta))
    has_pages = conf.get_setting(site.config, "collections", kind, "output") is not False
    if site.config and (kind not in conf.get_setting(site.config, "collections", default=()) or not has_pages):
        return ""
    inside = PurePosixPath(*path.parts[path.parts.index(f"_{kind}") + 1 :]).with_suffix("")
    is_pretty = not site.config or style == "pretty"
    pattern = pattern or ("/:collection/:path/" if is_pretty else "/:collection/:path.html")
    title = conf.get_meta(meta, "slug") or path.stem
    values = {"collection": kind, "path": inside.as_posix(), "name": inside.name, "title": title}
    return _fill_jekyll(pattern, values)


def _post_values(path: PurePosixPath, meta: Mapping[str, Any]) -> dict[str, str]:
    match = _POST.fullmatch(path.stem)
    slug = conf.get_meta(meta, "slug") or (match[2] if match else path.stem)
    stated = conf.get_setting(meta, "categories") or conf.get_setting(meta, "category") or []
    named = stated.split() if isinstance(stated, str) else [part for part in stated if isinstance(part, str)]
    above = path.parts[: next(i for i, part in enumerate(path.parts) if part.startswith("_"))]
    return {
        **_date_values(conf.get_meta(meta, "date"), match[1] if match else ""),
        "categories": "/".join(dict.fromkeys(_slugify(part) for part in (*above, *named))),
        "title": slug,
        "slug": _slugify(slug),
    }


def _default_permalink(site: Site, path: PurePosixPath, kind: str) -> str:
    """Return the ``permalink`` in the configuration's ``defaults`` for pages of this kind in this place."""
    permalink = ""
    defaults = conf.get_setting(site.config, "defaults")
    for stated in defaults if isinstance(defaults, list) else ():
        entry = stated if isinstance(stated, dict) else {}
        place, wanted = conf.get_text(entry, "scope", "path").strip("/"), conf.get_text(entry, "scope", "type")
        if wanted in ("", kind) and (not place or path.is_relative_to(place)):
            permalink = conf.get_text(entry, "values", "permalink") or permalink
    return permalink


def _date_values(*dates: str) -> dict[str, str]:
    year, month, day = conf.find_day(*dates)
    plain = {"year": year, "month": month, "day": day, "short_year": year[2:]}
    return {**plain, "i_month": month.lstrip("0"), "i_day": day.lstrip("0")}


def _fill_jekyll(pattern: str, values: Mapping[str, str]) -> str:
    path = _fill(f"/{pattern}", {"output_ext": ".html", "categories": "", "path": "", **values})
    path = re.sub(r"/{2,}", "/", path)
    return path.removesuffix("index.html") if path.endswith("/index.html") else path


def _fill(pattern: str, values: Mapping[str, str]) -> str:
    """Return ``pattern`` with its placeholders filled, ``""`` if one of them is unknown."""
    if any(match[1] not in values for match in _PLACEHOLDER.finditer(pattern)):
        return ""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], pattern)


def _slugify(text: str) -> str:
    """Return the words of ``text`` in lower case with hyphens between them, as Hugo and Jekyll do."""
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-")
