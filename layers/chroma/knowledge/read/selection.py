"""The selection of files in a folder: the user's gitignore rules, and folders that programs generate."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_NAME = ".ragignore"

BUILD_OUTPUT = {
    "node_modules": ("",),
    "bower_components": ("",),
    "__pycache__": ("",),
    "site-packages": ("",),
    "_site": ("_config.yml", "_config.yaml"),
    "_build": ("conf.py", "Makefile"),
    "site": ("mkdocs.yml", "mkdocs.yaml"),
    "book": ("book.toml",),
    "public": ("hugo.toml", "hugo.yaml", "hugo.json", "config.toml", "gatsby-config.js"),
    "dist": ("package.json", "pyproject.toml", "setup.py"),
    "build": ("package.json", "pyproject.toml", "setup.py", "docusaurus.config.js", "docusaurus.config.ts"),
    "target": ("Cargo.toml", "pom.xml"),
}
"""Names of folders that programs generate, with files of which one must be beside the folder (``""``: none needed).

Without these files ``public``, ``build`` and ``site`` may be folders with the user's own documents.
"""

SITE_TEMPLATES = frozenset({"layouts", "archetypes", "themes"})
SITE_CONFIGURATIONS = frozenset({"hugo.toml", "hugo.yaml", "hugo.json", "config.toml", "config.yaml"})
"""Hugo's folders of templates count only beside one of these: 29 of 185 documents of grpc.io's repository."""

TEMPLATES = frozenset({"_includes", "_layouts", "_templates", "_themes"})
"""Folders of the pieces that site generators (Jekyll, Eleventy, Sphinx) make pages of. They are no pages: on Jekyll's
own site 30 of 37 HTML files, half of them navigation, in Sphinx's documentation both."""

_SHOWN_TABLE = re.compile(r"[0-9a-f]{32}\.csv$")
ANTORA_PARTS = frozenset({"examples", "partials"})
"""Folders of what Antora's pages include, beside ``pages`` in a module: 55 of the 584 texts of Couchbase's server."""

ENVIRONMENT_MARKS = ("pyvenv.cfg", "CACHEDIR.TAG")
"""A folder that holds one of these is a Python environment or a cache."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The user's choice of files, in gitignore patterns relative to each given folder.

    ``include``: only paths that match one of these (empty: all). ``exclude``: no path that matches one of these.
    ``follow_links``: links may lead out of the given folders.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    follow_links: bool = False

    def takes(self, path: str) -> bool:
        """Return whether the file at ``path``, relative and with forward slashes, is selected."""
        return not self._excluded.match_file(path) and (not self.include or self._included.match_file(path))

    def enters(self, path: str) -> bool:
        """Return whether the folder at ``path`` is searched."""
        return not self._excluded.match_file(f"{path}/")

    @cached_property
    def _included(self) -> GitIgnoreSpec:
        return GitIgnoreSpec.from_lines(self.include)

    @cached_property
    def _excluded(self) -> GitIgnoreSpec:
        return GitIgnoreSpec.from_lines(self.exclude)


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of the ``.ragignore`` files from the given folder down to one folder.

    Each rule has the folder of its file, as a path relative to the given one (``""``: itself).
    """

    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def below(self, folder: Path, path: str) -> IgnoreRules:
        """Return the rules for ``folder``, whose relative path is ``path``.

        OSError: its ``.ragignore`` cannot be read. ValueError: it is a pipe, or has an invalid pattern.
        """
        if (folder / IGNORE_NAME).is_fifo():  # it would be waited for
            raise ValueError("is a pipe")
        try:
            lines = (folder / IGNORE_NAME).read_text(encoding="utf-8-sig", errors="replace").splitlines()
        except FileNotFoundError:
            return self
        return IgnoreRules((*self.rules, (path, GitIgnoreSpec.from_lines(lines))))

    def __contains__(self, path: str) -> bool:
        """Whether ``path`` (a folder's with a slash behind it) is ignored; the innermost file that names it decides."""
        for base, spec in reversed(self.rules):
            verdict = spec.check_file(path.removeprefix(f"{base}/") if base else path).include
            if verdict is not None:
                return verdict
        return False


def generated_folder_reason(folder: Path, beside: Sequence[str]) -> str:
    """Return why ``folder`` is a program's, by its name, the names ``beside`` it or its content; else ``""``."""
    if folder.name in ANTORA_PARTS and "pages" in beside and folder.parent.parent.name == "modules":
        return "templates"
    if folder.name in TEMPLATES or (folder.name in SITE_TEMPLATES and not SITE_CONFIGURATIONS.isdisjoint(beside)):
        return "templates"
    marks = BUILD_OUTPUT.get(folder.name, ())
    by_name = "" in marks or not set(marks).isdisjoint(beside)
    if by_name or any(os.path.exists(folder / name) for name in ENVIRONMENT_MARKS):  # noqa: PTH110 (Path's raises)
        return "build output"
    return ""


def is_partial_table(name: str, beside: Sequence[str]) -> bool:
    """Return whether the file ``name`` is a view of a Notion table whose whole table is ``beside`` it.

    Of four such pairs of one export each had its rows and columns in the other, two none at all.
    """
    return bool(_SHOWN_TABLE.search(name)) and f"{name.removesuffix('.csv')}_all.csv" in beside
