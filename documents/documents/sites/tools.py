"""Each tool's configuration as a ``Site``: base address and the folders that pages come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

from documents.sites.antora import antora
from documents.sites.astro import astro
from documents.sites.configuration import read, setting, text
from documents.sites.docusaurus import docusaurus
from documents.sites.hugo import hugo
from documents.sites.site import ANCHORS, Mount, Site

_SCRIPTS = ("ts", "js", "mjs", "mts", "cjs")


def jekyll(folder: Path, root: Path) -> Site | None:
    """``_config.yml``: ``url`` and ``baseurl``; pages come from its own folder or ``source``."""
    config = read(folder / "_config.yml")
    if not config:
        return None
    base = _joined(text(config, "url"), text(config, "baseurl"))
    return _site("jekyll", root, base, config, (folder / text(config, "source"),))


def mkdocs(folder: Path, root: Path) -> Site | None:
    """``mkdocs.yml``: ``site_url`` and ``docs_dir``."""
    config = read(folder / "mkdocs.yml") or read(folder / "mkdocs.yaml")
    if not config:
        return None
    slugs = str(setting(config, "markdown_extensions", default=""))
    anchors = "pymdownx" if "slugify" in slugs and "case" in slugs else "python-markdown"
    docs = folder / text(config, "docs_dir", default="docs")
    return _site("mkdocs", root, text(config, "site_url"), config, (docs,), anchors=anchors)


def mdbook(folder: Path, root: Path) -> Site | None:
    """``book.toml``: ``book.src``; the address of the front page is not in it, but for a ``cname``."""
    config = read(folder / "book.toml")
    if not config:
        return None
    host, path = text(config, "output", "html", "cname"), text(config, "output", "html", "site-url")
    base = _joined(f"https://{host}" if host else "", path)
    return _site("mdbook", root, base, config, (folder / text(config, "book", "src", default="src"),))


def nuxt(folder: Path, root: Path) -> Site | None:
    """``nuxt.config.*``: ``site.url`` and ``app.baseURL``; pages come from ``content``."""
    config = _literals(folder, "nuxt.config")
    content = folder / "content"
    if config is None or not content.is_dir():
        return None
    return _site("nuxt", root, _joined(text(config, "url"), text(config, "baseURL")), config, (content,))


def vitepress(folder: Path, root: Path) -> Site | None:
    """``.vitepress/config.*``: the sitemap's ``hostname``, ``base`` and ``srcDir``."""
    config = _literals(folder / ".vitepress", "config")
    if config is None:
        return None
    base = _joined(text(config, "hostname"), text(config, "base"))
    return _site("vitepress", root, base, config, (folder / text(config, "srcDir"),))


def nextjs(folder: Path, root: Path) -> Site | None:
    """``next.config.*``: pages come from ``app``, ``pages`` and ``content``, in ``src`` too; Nextra's path of these."""
    config = _literals(folder, "next.config")
    if config is None:
        return None
    site = _site("nextjs", root, "", config, ())
    named = {"app": "", "pages": "", "content": text(config, "contentDirBasePath").strip("/")}
    places = [(folder / above / name, prefix) for above in ("", "src") for name, prefix in named.items()]
    return replace(site, mounts=tuple(Mount(place.resolve().as_posix(), to) for place, to in places if place.is_dir()))


def sphinx(folder: Path, root: Path) -> Site | None:
    """``conf.py`` with an ``index.rst`` or ``index.md`` beside it, or in ``source``: ``html_baseurl``."""
    config = read(folder / "conf.py")
    if not config or not any((folder / f"index.{suffix}").is_file() for suffix in ("rst", "md", "txt")):
        return None
    return _site("sphinx", root, text(config, "html_baseurl"), config, (folder,))


def _literals(folder: Path, stem: str) -> dict[str, object] | None:
    for suffix in _SCRIPTS:
        path = folder / f"{stem}.{suffix}"
        if path.is_file():
            return dict(read(path))
    return None


def _site(kind: str, root: Path, base: str, config: object, folders: tuple[Path, ...], *, anchors: str = "") -> Site:
    mounts = tuple(Mount(folder.resolve().as_posix()) for folder in folders)
    anchors = anchors or ANCHORS.get(kind, "github")
    known = base if base.startswith(("http://", "https://")) else ""
    return Site(
        root=root.as_posix(),
        kind=kind,
        base_url=known,
        anchors=anchors,
        config=config if isinstance(config, dict) else {},
        mounts=mounts,
    )


def _joined(url: str, path: str) -> str:
    return urljoin(url.rstrip("/") + "/", path.strip("/") + "/" if path.strip("/") else "") if url else ""


READERS: tuple[Callable[[Path, Path], Site | None], ...] = (
    antora,
    hugo,
    jekyll,
    mkdocs,
    docusaurus,
    mdbook,
    astro,
    nuxt,
    vitepress,
    nextjs,
    sphinx,
)
"""Each gives the site that the files in a folder configure for the documents in ``root``, None for no site."""
