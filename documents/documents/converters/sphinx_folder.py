"""Look up other files of a page's Sphinx project: titles of documents and labels, and text that the page includes.

Titles come from the given folder alone. No link is followed, and hidden files are passed over.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from posixpath import normpath
from typing import Any

from documents.markup.context import MAX_INCLUDED_BYTES, MAX_NOTES, PageContext, files_below, note_look
from documents.markup.includes import numbered_lines

MAX_INCLUDE_DEPTH = 4

_SUFFIXES = (".rst", ".md", ".txt")
_LABEL = re.compile(r"\s*\.\. _(?!_)(`[^`\n]+`|(?:\\.|[^:\\\n])+):\s*$|\(([^()\n]+)\)=\s*$")
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_ATX = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
_TITLED = re.compile(r"\s*(?:\.\. |[`:]{3,}\{)(?:table|list-table|csv-table)(?:::|\})\s*(\S.*)$")
_FIGURE = re.compile(r"\s*(?:\.\. |[`:]{3,}\{)figure(?:::|\})")
_MARKED = re.compile(
    r":(?:[\w+-]+:)+`(?:([^`<]+?)\s*<[^`>]+>|[!~]?([^`]+))`|\{[\w:+-]+\}`([^`]+)`|`([^`<]+?)\s+<[^`>]+>`_+"
)
_ALWAYS = {"genindex": "Index", "modindex": "Module Index", "search": "Search Page"}


@dataclass(frozen=True)
class Folder:
    """The files around a page; without ``context`` all are unknown."""

    context: PageContext | None = None

    def title(self, document: str) -> str:
        """Return the title of a document (``../guide/x``, ``/usage/x``); ``""`` if unknown."""
        titles, _ = self._titles_and_labels
        return next((titles[path] for path in self._paths(document) if path in titles), "")

    def label(self, name: str) -> str:
        """Return the title below the label ``name``; ``""`` if unknown."""
        _, labels = self._titles_and_labels
        name = _key(name)
        return labels.get(name) or _ALWAYS.get(name, "")

    def matching(self, pattern: str) -> list[str]:
        """Return the documents that match a ``toctree``'s pattern, as paths that ``title`` reads, sorted."""
        titles, _ = self._titles_and_labels
        wanted = next(iter(self._paths(pattern)), "")
        parts = wanted.count("/")
        return [f"/{path}" for path in sorted(titles) if path.count("/") == parts and fnmatch(path, wanted)]

    def included(self, reference: str, within: Sequence[str]) -> str:
        """Return an included file's text; ``""`` if it cannot be read or includes itself.

        ``within`` are the files that are being included.
        """
        if self.context is None or reference in within or len(within) > MAX_INCLUDE_DEPTH:
            return ""
        return self.context.read_include(reference) or ""

    def _paths(self, document: str) -> Iterator[str]:
        """Yield ``document`` as paths without suffix: from the page's folder, else from one above it."""
        if self.context is None:
            return
        folder = Path(os.path.relpath(self.context.file.parent, self.context.root)).as_posix()
        wanted = next((document.removesuffix(end) for end in _SUFFIXES if document.endswith(end)), document)
        if not wanted.startswith("/"):
            yield normpath(f"{folder}/{wanted}")
            return
        above = [part for part in folder.split("/") if part != "."]
        for length in range(len(above), -1, -1):  # the project's top is in the folder, or is it
            yield normpath("/".join([*above[:length], wanted.lstrip("/")]))

    @cached_property
    def _titles_and_labels(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        if self.context is None:
            return {}, {}
        note_look("titles", self.context.root)
        return _titles(self.context.root.as_posix(), tuple(_files(self.context.root)))


def state_of_titles(root: Path) -> str:
    """Return a hash of the titles and labels of the documents in ``root``."""
    return hashlib.sha256(repr(_titles(root.as_posix(), tuple(_files(root)))).encode(errors="replace")).hexdigest()


def _files(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the documents in ``root`` with their modification time, the key of the cached titles."""
    for path in islice(files_below(root, *_SUFFIXES), MAX_NOTES):
        if path.is_symlink() or path.name.startswith("."):
            continue
        found = path.stat()
        if found.st_size <= MAX_INCLUDED_BYTES and path.is_file():
            yield path.relative_to(root).as_posix(), found.st_mtime_ns


@lru_cache(maxsize=4)
def _titles(root: str, files: tuple[tuple[str, int], ...]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return titles by document (path without suffix), and titles by label."""
    titles: dict[str, str] = {}
    labels: dict[str, str] = {}
    for path, _ in files:
        try:
            lines = Path(root, path).read_text(encoding="utf-8-sig", errors="replace").split("\n")
        except OSError:
            continue
        title = next((found for at in range(len(lines)) if (found := _heading(lines, at))), "")
        if title:
            titles.setdefault(path.rpartition(".")[0], title)
        for label, named in _labels(lines):
            labels.setdefault(label, named)
    return titles, labels


def _labels(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    waiting: list[str] = []
    body = False
    for at, line in enumerate(lines):
        if match := _LABEL.match(line):
            waiting.append(_key(match[1] or match[2]))
            continue
        if not waiting or not line.strip() or (body and line[0] in " \t"):
            continue
        named = _heading(lines, at) or _caption(lines, at)
        body = not named and line.startswith(".. ")  # an index entry or a comment may stand between
        if not body:
            yield from ((label, named) for label in waiting if named)
            waiting = []


def _heading(lines: Sequence[str], at: int) -> str:
    """Return the words of the title that begins at a line; ``""`` for none."""
    if match := _ATX.match(lines[at]):
        return _words(match[1])
    over = bool(_UNDERLINE.match(lines[at]))
    title, under = (*lines[at + over : at + over + 2], "", "")[:2]
    if not _UNDERLINE.match(under) or _UNDERLINE.match(title) or not title.strip() or (title[0].isspace() and not over):
        return ""
    return "" if over and under.strip() != lines[at].strip() else _words(title)


def _caption(lines: Sequence[str], at: int) -> str:
    """Return the title of the table, or the caption of the figure, that begins at a line."""
    if match := _TITLED.match(lines[at]):
        return _words(match[1])
    if not _FIGURE.match(lines[at]):
        return ""
    below = (line.strip() for line in lines[at + 1 : at + 20])
    return _words(next((line for line in below if line and not line.startswith((":", "---"))), "").strip("`:"))


def _words(title: str) -> str:
    """Return a title without marks: roles and code by their words."""
    plain = _MARKED.sub(lambda match: next(filter(None, match.groups()), ""), title)
    return re.sub(r"\\\s|\\(\S)|[`*]+", r"\1", plain).strip()


def _key(label: str) -> str:
    return " ".join(label.strip("`").replace("\\", "").lower().split())


def select_lines(text: str, options: Mapping[str, str]) -> str:
    """Return the lines of ``text`` that a directive's ``options`` select; all lines if they select none."""
    lines = text.split("\n")
    if name := options.get("pyobject"):
        lines = _object_lines(text, name)
    if numbers := options.get("lines"):
        lines = [*(numbered_lines(lines, numbers) or lines)]
    stated = {name: value.strip() for name, value in options.items() if name in ("start-line", "end-line")}
    ends = {name: int(value) for name, value in stated.items() if value.lstrip("-").isdecimal()}
    lines = lines[ends.get("start-line") : ends.get("end-line")]

    def find(option: str, beyond: int) -> int | None:
        wanted = options.get(option)
        return next((at + beyond for at, line in enumerate(lines) if wanted in line), None) if wanted else None

    lines = lines[find("start-after", 1) or find("start-at", 0) or 0 :]
    lines = lines[: find("end-before", 0) or find("end-at", 1)]
    return textwrap.dedent("\n".join(lines)) if "dedent" in options else "\n".join(lines)


def _object_lines(text: str, name: str) -> list[str]:
    """Return the lines of the Python class or function ``name`` (``Class.method``)."""
    found: Any = None
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        found = ast.parse(text)
    for wanted in name.split("."):
        found = next((node for node in getattr(found, "body", ()) if getattr(node, "name", "") == wanted), None)
    if found is None:
        return text.split("\n")
    first = min([found.lineno, *(mark.lineno for mark in found.decorator_list)])
    return text.split("\n")[first - 1 : found.end_lineno]
