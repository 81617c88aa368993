"""Find the configuration of the site that a folder of documents belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from documents.sites import tools
from documents.sites.signs import kind_of
from documents.sites.site import ANCHORS, Mount, Site

MAX_UP = 6
"""How many folders above the given one are looked into; not beyond a repository's top."""
MAX_BESIDE = 100
"""How many folders inside one of these."""


def site_of(root: Path) -> Site:
    """The site that the documents in the folder ``root`` make, of kind ``""`` where nothing tells it.

    Configurations are looked for in the folder, in those above it and one level below each of them; the nearest counts
    whose pages are in ``root`` or around it. Files with code are searched, never run.
    """
    root = root.resolve()
    for folder in _places(root):
        for read in tools.READERS:
            site = read(folder, root)
            if site and _belongs(site, root):
                return site
    kind = kind_of(root)
    mounts = (Mount(root.as_posix()),) if kind else ()
    return Site(root=root.as_posix(), kind=kind, anchors=ANCHORS.get(kind, "github"), mounts=mounts)


def _places(root: Path) -> Iterator[Path]:
    folder = root
    for _ in range(MAX_UP + 1):
        yield folder
        yield from _inside(folder)
        if (folder / ".git").exists() or folder.parent == folder:
            return
        folder = folder.parent


def _inside(folder: Path) -> list[Path]:
    try:
        found = (path for path in folder.iterdir() if not path.name.startswith(".") and path.is_dir())
        return sorted(found)[:MAX_BESIDE]
    except OSError:
        return []


def _belongs(site: Site, root: Path) -> bool:
    folders = [Path(mount.folder) for mount in site.mounts]
    return any(root.is_relative_to(folder) or folder.is_relative_to(root) for folder in folders)
