"""Antora: ``antora.yml`` of one component or of several side by side, and the playbook if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from documents.sites import Site
from documents.sites.configuration import get_setting, get_text, list_folders, make_site, read_config

_PLAYBOOKS = ("antora-playbook.yml", "antora-playbook.yaml", "site.yml", "playbook.yml")
_MAX_FOLDERS = 100


def read_antora(folder: Path, root: Path) -> Site | None:
    """Read name, version and attributes of ``antora.yml``; ``site.url`` and attributes of the playbook.

    Pages are in ``modules/*/pages``. The site's ``config`` is that of the first component, with the playbook's
    ``urls``; ``components`` has each one's attributes by its folder.
    """
    places = (folder, *list_folders(folder, with_links=False)[:_MAX_FOLDERS])
    configs = {place: config for place in places if (config := read_config(place / "antora.yml"))}
    components = {place: config for place, config in configs.items() if get_text(config, "name")}
    if not components:
        return None
    books = (read_config(place / name) for place in (folder, folder.parent) for name in _PLAYBOOKS)
    book = next((book for book in books if get_setting(book, "content", "sources")), {})
    first = next(iter(components.values()))
    attributes = {place.as_posix(): _component_attributes(config, book) for place, config in components.items()}
    config = {**first, "urls": get_setting(book, "urls", default={}), "components": attributes}
    mounts = (mount for place, component in components.items() for mount in _component_mounts(place, component))
    return make_site("antora", root, get_text(book, "site", "url"), config, mounts)


def antora_path(site: Site, page: PurePosixPath, _meta: Mapping[str, Any]) -> str:
    """Return a page's path in its module; ``""`` if its name or its folder's begins with ``_``: a part of others."""
    if any(part.startswith("_") for part in page.parts):
        return ""
    style = get_text(site.config, "urls", "html_extension_style", default="default")
    path = page.with_suffix("").as_posix()
    if style == "default":
        return f"/{path}.html"
    path = path.removesuffix("index") if page.stem == "index" else path
    return f"/{path}" if style == "drop" else f"/{path.rstrip('/')}/".replace("//", "/")


def find_attributes(config: Mapping[str, Any], file: Path) -> Mapping[str, str]:
    """Return the attributes that the site ``config`` gives to ``file``."""
    components = config.get("components")
    known = components if isinstance(components, Mapping) else {}
    return next((known[place.as_posix()] for place in file.resolve().parents if place.as_posix() in known), {})


def _component_mounts(folder: Path, config: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the pages' folder of each module; the component and the module ``ROOT`` are no part of an address."""
    for module in list_folders(folder / "modules", with_links=False)[:_MAX_FOLDERS]:
        names = [get_text(config, "name"), _read_version(config), module.name]
        yield (module / "pages", "".join(f"{name}/" for name in names if name not in ("", "ROOT")))


def _read_version(config: Mapping[str, Any]) -> str:
    """Return the version; ``""`` for ``~``, and for one that the branch's name gives."""
    return get_text(config, "version").replace("~", "")


def _component_attributes(config: Mapping[str, Any], book: Mapping[str, Any]) -> Mapping[str, str]:
    version = _read_version(config)
    attributes = {
        "page-component-name": get_text(config, "name"),
        "page-component-title": get_text(config, "title", default=get_text(config, "name")),
        "page-component-version": version,
        "page-component-display-version": get_text(config, "display_version", default=version),
    }
    for source in (book, config):
        stated = get_setting(source, "asciidoc", "attributes", default={})
        for name, value in stated.items() if isinstance(stated, Mapping) else ():
            if isinstance(value, str):
                attributes[str(name)] = value.removesuffix("@")  # "@": a page may say otherwise
    return attributes
