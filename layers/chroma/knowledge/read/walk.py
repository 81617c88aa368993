"""The search for files to read in folders: in a fixed order, each once, none outside the given folders.

The user's gitignore rules, and folders that programs generate, are left out.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from knowledge.model.errors import SourceUnreadable
from knowledge.model.manifest import MANIFEST_NAME

IGNORE_NAME = ".ragignore"
ZIP = ".zip"
WITHOUT_SUFFIX = "without a suffix"
"""The kind of a file that is passed over and has no suffix."""

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
    is_index = os.path.exists(folder / MANIFEST_NAME) and any(folder.glob("data-*/lexical"))  # noqa: PTH110
    return "an index" if is_index else ""


def is_partial_table(name: str, beside: Sequence[str]) -> bool:
    """Return whether the file ``name`` is a view of a Notion table whose whole table is ``beside`` it.

    Of four such pairs of one export each had its rows and columns in the other, two none at all.
    """
    return bool(_SHOWN_TABLE.search(name)) and f"{name.removesuffix('.csv')}_all.csv" in beside


type Unpack = Callable[[Path, str], Path | str]
"""Returns the folder with the files of the zip at a place and path, or the kind that it counts as (``""``: none)."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, the given path that it was found in (``root``), and its path relative to that.

    ``url`` is the address that it was fetched from, ``""`` for a local file. ``part`` are the first byte and the length
    of what is read of it; a length of -1: up to its end. ``archive`` is the folder with its zip's files, whose paths
    begin with the zip's.
    """

    file: Path
    root: Path
    path: str
    explicit: bool
    url: str = ""
    part: tuple[int, int] = (0, -1)
    archive: Path | None = None

    @property
    def within(self) -> Path:
        """The folder that this file may name others in."""
        return self.archive or (self.file.parent if self.explicit else self.root)


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A path that was not read, and the reason; ``lost`` if there may have been a document.

    ``path`` is relative to the given folder, as ``FoundFile.path`` (``""``: the folder itself).
    """

    file: Path
    path: str
    reason: str
    lost: bool


@dataclass(frozen=True, slots=True)
class EmptyFolder:
    """A folder without visible files in it or below it; ``path`` as in ``SkippedPath``."""

    place: Path
    path: str


@dataclass(frozen=True, slots=True)
class IgnoredPath:
    """A file or folder that is not wanted: ``kind`` is a suffix (``".png"``), or the reason in words."""

    kind: str
    place: Path
    path: str


def find_files(
    paths: Sequence[Path],
    *,
    wanted: Callable[[Path], bool],
    selection: Selection = EVERYTHING,
    unpack: Unpack = lambda *_: ZIP,
) -> Iterator[FoundFile | SkippedPath | EmptyFolder | IgnoredPath]:
    """Yield the given files, and the files in the given folders that are ``wanted`` and that ``selection`` takes.

    If a folder without files is below another one, only the upper one is yielded. Hidden files and folders, build
    output and ``.ragignore`` matches are left out. A link is followed unless it leads out of the given folders, back
    up, or to a folder that was read; real files come before linked ones, so that a file keeps its own path.
    SourceUnreadable: one of ``paths`` does not exist or is out of reach.
    """
    for path in paths:
        try:
            path.stat()
        except OSError as exc:
            raise SourceUnreadable(f"Cannot read {str(path)!r}: {exc.strerror}") from exc
    walk = _Walk(wanted, selection, unpack, [Path(os.path.realpath(path)) for path in paths])
    for path in paths:
        name = printable_name(path.name)
        if not walk.is_new(path):
            continue
        unpacked = unpack(path, name) if name.lower().endswith(ZIP) and path.is_file() else ZIP
        if isinstance(unpacked, Path):
            yield from walk.folder(path.parent, _Folder(unpacked, name, IgnoreRules(), archive=unpacked))
        elif path.is_dir():
            yield from walk.folder(path, _Folder(path, "", IgnoreRules()))
        elif unpacked:
            yield FoundFile(path, path, name, explicit=True)


def printable_name(name: str | os.PathLike[str]) -> str:
    """Return a file name as text that can be stored: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(name).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to search and its path, with the rules of the folders above it."""

    place: Path
    path: str
    ignored: IgnoreRules
    archive: Path | None = None


class _Walk:
    def __init__(
        self, wanted: Callable[[Path], bool], selection: Selection, unpack: Unpack, given: Sequence[Path]
    ) -> None:
        self._wanted = wanted
        self._selection = selection
        self._unpack = unpack
        self._given = given
        self._seen: set[str] = set()
        self._bare: dict[Path, str | None] = {}  # the paths of folders without a file so far

    def is_new(self, path: Path) -> bool:
        real = os.path.realpath(path)
        new = real not in self._seen
        self._seen.add(real)
        return new

    def folder(self, root: Path, first: _Folder) -> Iterator[FoundFile | SkippedPath | EmptyFolder | IgnoredPath]:
        folders = [first]
        links: list[_Folder] = []
        self._bare = {}
        while folders or links:
            if not folders:
                link = links.pop(0)
                found = self._linked(link, root)
                if isinstance(found, _Folder):
                    folders.append(found)
                elif found:
                    yield found
                continue
            folder = folders.pop()
            try:
                below, linked, files = self._look_into(folder, root)
            except (OSError, ValueError) as exc:  # a pattern that gitignore does not know is a ValueError
                reason = f"cannot be looked into: {getattr(exc, 'strerror', None) or f'{IGNORE_NAME}: {exc}'}"
                yield SkippedPath(folder.place, folder.path, reason, lost=True)
                self._fill(folder.place)
                continue
            links += linked
            folders += reversed(below)
            yield from files
        for place, path in self._bare.items():
            if path is not None and self._bare.get(place.parent) is None:
                yield EmptyFolder(place, path)

    def _fill(self, place: Path) -> None:
        """Note that the folder ``place`` may have a file: no folder above it is bare."""
        for folder in (place, *place.parents):
            if folder != place and self._bare.get(folder) is None:
                break
            self._bare[folder] = None

    def _look_into(
        self, folder: _Folder, root: Path
    ) -> tuple[list[_Folder], list[_Folder], list[FoundFile | IgnoredPath]]:
        """Return the folders and the links in ``folder``, and its files with those to report."""
        ignored = folder.ignored.below(folder.place, folder.path)
        with os.scandir(folder.place) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        names = [entry.name for entry in entries]
        below: list[_Folder] = []
        links: list[_Folder] = []
        files: list[FoundFile | IgnoredPath] = []
        for entry in entries:
            found = self._look_at(entry, replace(folder, ignored=ignored), root, names)
            if isinstance(found, _Folder):
                (links if entry.is_symlink() else below).append(found)
            elif found:
                files.append(found)
        self._bare[folder.place] = None if folder.archive else folder.path
        if sum(not name.startswith(".") for name in names) > sum(one.archive == folder.archive for one in below):
            self._fill(folder.place)
        return below, links, files

    def _look_at(
        self, entry: os.DirEntry[str], folder: _Folder, root: Path, names: Sequence[str]
    ) -> _Folder | FoundFile | IgnoredPath | None:
        """Return what ``entry`` of ``folder`` is, None for nothing new; ``names`` are those in it."""
        place, path = folder.place / entry.name, f"{folder.path}/{printable_name(entry.name)}".lstrip("/")
        is_link, is_folder = entry.is_symlink(), place.is_dir()  # that of an entry fails for a link to itself
        is_zip = path.lower().endswith(ZIP) and not (is_link or is_folder or folder.archive)
        is_entered = is_folder or is_zip
        if reason := self._left_out(place, path, names, folder.ignored, is_folder=is_entered):
            return IgnoredPath(reason, place, path)
        if is_link:
            return _Folder(place, path, folder.ignored)
        if not (is_entered or self._wanted(Path(entry.path))):
            return IgnoredPath(PurePosixPath(path).suffix.lower() or WITHOUT_SUFFIX, place, path)
        if not self.is_new(place):
            return None
        if is_folder:
            return replace(folder, place=place, path=path)
        if not is_zip:
            return FoundFile(place, root, path, explicit=False, archive=folder.archive)
        kind = self._unpack(place, path)
        if isinstance(kind, Path):
            return _Folder(kind, path, folder.ignored, archive=kind)
        return IgnoredPath(kind, place, path) if kind else None

    def _left_out(self, place: Path, path: str, beside: Sequence[str], ignored: IgnoreRules, *, is_folder: bool) -> str:
        """Return why ``place`` is left out, ``""`` if it is not."""
        if place.name.startswith("."):
            return "hidden"
        if (f"{path}/" if is_folder else path) in ignored:
            return "in .ragignore"
        if not (self._selection.enters(path) if is_folder else self._selection.takes(path)):
            return "excluded"
        if is_folder:
            return generated_folder_reason(place, beside)
        if place.name.lower() in ("robots.txt", "archive_browser.html"):  # the second: Google's list of an export
            return "for programs"
        return "part of a table that is beside it" if is_partial_table(place.name, beside) else ""

    def _linked(self, link: _Folder, root: Path) -> _Folder | FoundFile | SkippedPath | None:
        """Return the target of a link: a folder (under the link's name), a file, or None for nothing new."""
        place, path = link.place, link.path
        try:
            target = Path(os.path.realpath(place, strict=True))
            is_folder = target.is_dir()
        except OSError as exc:
            # Without a suffix it may be a folder's: of a disk that is not there now.
            lost = self._wanted(place) or (not place.suffix and exc.errno != errno.ELOOP)
            return SkippedPath(place, path, "is a link that leads nowhere", lost=lost)
        if not is_folder and not self._wanted(place):
            return None
        if is_folder and Path(os.path.realpath(root)).is_relative_to(target):
            return SkippedPath(place, path, "is a link back to a folder that it is in: not followed", lost=False)
        if not self._selection.follow_links and not any(target.is_relative_to(given) for given in self._given):
            reason = "is a link that leads out of the folder: not followed (--follow-links follows it)"
            return SkippedPath(place, path, reason, lost=False)
        if not is_folder:
            return FoundFile(place, root, path, explicit=False) if self.is_new(target) else None
        if not self.is_new(target):
            return SkippedPath(place, path, "is a link to a folder that is read already", lost=False)
        return link
