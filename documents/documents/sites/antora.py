"""Antora: ``antora.yml`` of a component, or of several side by side, and the playbook where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from documents.sites.configuration import read, setting, text
from documents.sites.site import Mount, Site

_PLAYBOOKS = ("antora-playbook.yml", "antora-playbook.yaml", "site.yml", "playbook.yml")
_MAX_BESIDE = 100


def antora(folder: Path, root: Path) -> Site | None:
    """``antora.yml``: ``name``, ``version`` and attributes; the playbook's ``site.url`` and its attributes.

    Pages come from ``modules/*/pages``. The site's ``config`` is that of the first component, with the playbook's
    ``urls``; ``components`` has each one's attributes by its folder.
    """
    found = {place: config for place in (folder, *_folders(folder)) if (config := read(place / "antora.yml"))}
    components = {place: config for place, config in found.items() if text(config, "name")}
    if not components:
        return None
    books = (read(place / name) for place in (folder, folder.parent) for name in _PLAYBOOKS)
    book = next((book for book in books if setting(book, "content", "sources")), {})
    url = text(book, "site", "url")
    first = next(iter(components.values()))
    own = {place.as_posix(): _attributes(config, book) for place, config in components.items()}
    return Site(
        root=root.as_posix(),
        kind="antora",
        base_url=url if url.startswith(("http://", "https://")) else "",
        config={**first, "urls": setting(book, "urls", default={}), "components": own},
        mounts=tuple(mount for place, config in components.items() for mount in _mounts(place, config)),
    )


def antora_path(site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    """The address of a page in its module; a file is part of others if its name or its folder's begins with ``_``."""
    if any(part.startswith("_") for part in page.parts):
        return ""
    style = text(site.config, "urls", "html_extension_style", default="default")
    path = page.with_suffix("").as_posix()
    if style == "default":
        return f"/{path}.html"
    path = path.removesuffix("index") if page.stem == "index" else path
    return f"/{path}" if style == "drop" else f"/{path.rstrip('/')}/".replace("//", "/")


def attributes(config: Mapping[str, Any], file: Path) -> Mapping[str, str]:
    """The attributes that the site ``config`` gives to ``file``."""
    components = config.get("components")
    known = components if isinstance(components, Mapping) else {}
    return next((known[place.as_posix()] for place in file.resolve().parents if place.as_posix() in known), {})


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())[:_MAX_BESIDE]
    except OSError:
        return []


def _mounts(folder: Path, config: Mapping[str, Any]) -> Iterator[Mount]:
    """The pages of each module; the component and the module ``ROOT`` are no part of an address."""
    parts = [text(config, "name"), _version(config)]
    for module in _folders(folder / "modules"):
        named = [part for part in (*parts, module.name) if part and part != "ROOT"]
        yield Mount((module / "pages").resolve().as_posix(), "".join(f"{part}/" for part in named))


def _version(config: Mapping[str, Any]) -> str:
    """``version: ~`` and one that the branch's name gives are none."""
    return text(config, "version").replace("~", "")


def _attributes(config: Mapping[str, Any], book: Mapping[str, Any]) -> Mapping[str, str]:
    version = _version(config)
    found = {
        "page-component-name": text(config, "name"),
        "page-component-title": text(config, "title", default=text(config, "name")),
        "page-component-version": version,
        "page-component-display-version": text(config, "display_version", default=version),
    }
    for source in (book, config):
        given = setting(source, "asciidoc", "attributes", default={})
        for name, value in given.items() if isinstance(given, Mapping) else ():
            if isinstance(value, str):
                found[str(name)] = value.removesuffix("@")  # "@": a page may say otherwise
    return found
