"""Find the site that a folder of documents belongs to, by a configuration or by typical files, and its title."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from documents.sites import Site
from documents.sites.antora import read_antora
from documents.sites.configuration import get_setting, get_text, join_base, list_folders, make_site, read_config
from documents.sites.hugo_jekyll import read_hugo, read_jekyll
from documents.sites.javascript import read_astro, read_docusaurus, read_nextjs, read_nuxt, read_vitepress

MAX_FOLDERS_UP = 6
"""Folders above the given one that are searched; not beyond a repository's top."""
MAX_FOLDERS_INSIDE = 100
"""Folders inside each of these that are searched."""
MAX_SIGN_FOLDERS = 50
MAX_TITLE_CHARS = 100
_GITBOOK = (".gitbook", ".gitbook.yaml")  # which has a SUMMARY.md too
_NUXT_FOLDER = re.compile(r"\d+\.[a-z]")
_TOP_SIGNS = (
    (".git",),
    (".github", ".gitlab-ci.yml"),
    ("package.json", "pyproject.toml", "Cargo.toml", "go.mod"),
    ("mkdocs.yml", "mkdocs.yaml", "book.toml", "conf.py", "_config.yml", "antora.yml"),
)
"""Files at the top of a repository, the surest first: a copy without ``.git`` often has the next."""
_TITLE_SETTINGS = (("title",), ("site_name",), ("book", "title"), ("project",), ("site", "name"))
"""Of Hugo, Jekyll, Docusaurus and VitePress; of MkDocs; of mdBook; of Sphinx; of Nuxt."""
_TITLE_PAGES = 3
"""Pages that are searched for the site's name, which each of them may have."""
_HEAD_BYTES = 200_000


def find_site(root: Path) -> Site:
    """Return the site of the documents in the folder ``root``; its kind is ``""`` if it is unknown.

    Configurations are looked for in the folder, in those above it and one level below each of them; the nearest counts
    whose pages are in ``root`` or around it. Files with code are searched, never run.
    """
    root = root.resolve()
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - Path.home() fails where there is none
    folders = [folder for folder in (root, *root.parents[:MAX_FOLDERS_UP]) if not home.is_relative_to(folder)]
    tops = (folder for names in _TOP_SIGNS for folder in folders if any((folder / name).exists() for name in names))
    top = next(tops, root).as_posix()  # never the user's whole home
    for folder in _config_folders(root):
        for site in filter(None, (read(folder, root) for read in READERS)):
            mounted = (Path(mount.folder) for mount in site.mounts)
            if any(root.is_relative_to(pages) or pages.is_relative_to(root) for pages in mounted):
                return replace(site, top=top)
    kind = _guess_kind(root)
    return replace(make_site(kind, root, "", {}, [(root, "")] if kind else []), top=top)


def _config_folders(root: Path) -> Iterator[Path]:
    folder = root
    for _ in range(MAX_FOLDERS_UP + 1):
        yield folder
        yield from [inner for inner in list_folders(folder) if not inner.name.startswith(".")][:MAX_FOLDERS_INSIDE]
        if (folder / ".git").exists() or folder.parent == folder:
            return
        folder = folder.parent


def _guess_kind(root: Path) -> str:
    """Return the tool that typical names show; ``""`` if there are none. Only names that no other tool has count.

    ``hugo`` for ``_index.md``, ``jekyll`` for ``_posts`` and ``_docs``, ``mdbook`` for ``SUMMARY.md``, ``nuxt`` for
    folders like ``1.guide``, ``wiki`` (GitHub's) for ``Home.md``, ``sphinx`` for a tree of contents in ``index.rst``.
    """
    folders = [root, *list_folders(root)[:MAX_SIGN_FOLDERS]]
    if any((folder / "_index.md").is_file() for folder in folders):
        return "hugo"
    if any(folder.name in ("_posts", "_docs") for folder in folders[1:]):
        return "jekyll"
    if (root / "SUMMARY.md").is_file() and not any((root / name).exists() for name in _GITBOOK):
        return "mdbook"
    inner = (below for folder in folders for below in list_folders(folder)[:MAX_SIGN_FOLDERS])
    if any(_NUXT_FOLDER.match(folder.name) for folder in inner):
        return "nuxt"
    try:
        if root / "Home.md" in root.iterdir():  # not is_file: some file systems ignore case
            return "wiki"
        return "sphinx" if _has_toctree(root / "index.rst") else ""
    except OSError:
        return ""


def _has_toctree(index: Path) -> bool:
    if not index.is_file():  # opening a pipe would wait for its writer
        return False
    with index.open(encoding="utf-8", errors="replace") as file:
        return ".. toctree::" in file.read(64 * 1024)


def find_title(sites: Iterable[Site], pages: Sequence[Path] = ()) -> str:
    """Return the title of the first site with one, else ``og:site_name`` of the first ``pages`` (HTML), or ``""``."""
    configured = (get_text(site.config, *names) for site in sites for names in _TITLE_SETTINGS)
    titles = (*configured, *map(_read_site_name, pages[:_TITLE_PAGES]))
    return next((words for title in titles if (words := " ".join(title.split()))), "")[:MAX_TITLE_CHARS]


def _read_site_name(page: Path) -> str:
    from bs4 import BeautifulSoup
    from bs4.filter import SoupStrainer

    with page.open("rb") as file:
        head = BeautifulSoup(file.read(_HEAD_BYTES), "lxml", parse_only=SoupStrainer("meta"))
    meta = head.find("meta", property="og:site_name")
    return str(meta.get("content") or "") if meta is not None and hasattr(meta, "get") else ""


def _read_mkdocs(folder: Path, root: Path) -> Site | None:
    """Read ``site_url`` and ``docs_dir`` of ``mkdocs.yml``."""
    config = read_config(folder / "mkdocs.yml") or read_config(folder / "mkdocs.yaml")
    if not config:
        return None
    slugs = str(get_setting(config, "markdown_extensions", default=""))
    anchors = "pymdownx" if "slugify" in slugs and "case" in slugs else ""
    mounts = [(folder / get_text(config, "docs_dir", default="docs"), "")]
    return make_site("mkdocs", root, get_text(config, "site_url"), config, mounts, anchors=anchors)


def _read_mdbook(folder: Path, root: Path) -> Site | None:
    """Read ``book.src`` of ``book.toml``, and the front page's address if it has a ``cname``."""
    config = read_config(folder / "book.toml")
    if not config:
        return None
    host, path = get_text(config, "output", "html", "cname"), get_text(config, "output", "html", "site-url")
    base_url = join_base(f"https://{host}" if host else "", path)
    mounts = [(folder / get_text(config, "book", "src", default="src"), "")]
    return make_site("mdbook", root, base_url, config, mounts)


def _read_sphinx(folder: Path, root: Path) -> Site | None:
    """Read ``html_baseurl`` of ``conf.py`` if an ``index.rst`` or ``index.md`` is beside it."""
    config = read_config(folder / "conf.py")
    if not config or not any((folder / f"index.{suffix}").is_file() for suffix in ("rst", "md", "txt")):
        return None
    return make_site("sphinx", root, get_text(config, "html_baseurl"), config, [(folder, "")])


READERS = (
    read_antora,
    read_hugo,
    read_jekyll,
    _read_mkdocs,
    read_docusaurus,
    _read_mdbook,
    read_astro,
    read_nuxt,
    read_vitepress,
    read_nextjs,
    _read_sphinx,
)
"""Each returns the site that a configuration in a folder describes for the documents in ``root``, or None."""
