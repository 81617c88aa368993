"""A page's surroundings: its file, its site, and the other files of the folder that it may include.

Each look at another file is recorded as a text: ``file:/docs/a.md`` (the file's content, or its absence),
``pages:/docs`` (the Markdown files below a folder), ``folder:/docs/.obsidian`` (whether the folder exists) or
``titles:/docs`` (the titles of the documents below a folder: see ``documents.converters.sphinx_folder``).
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath

_LOOKS: ContextVar[set[str] | None] = ContextVar("looks", default=None)


@contextmanager
def record_looks() -> Iterator[set[str]]:
    """The looks of all that is read within this block, in this thread."""
    looks: set[str] = set()
    token = _LOOKS.set(looks)
    try:
        yield looks
    finally:
        _LOOKS.reset(token)


def note_look(kind: str, place: Path) -> None:
    """Note a look; ``kind`` is file, pages, folder or titles."""
    looks = _LOOKS.get()
    if looks is not None:
        looks.add(f"{kind}:{place}")


def look_state(noted_look: str) -> str:
    """What there is to see now: equal where it is the same; ``""`` where there is nothing."""
    kind, _, place = noted_look.partition(":")
    path = Path(place)
    if kind == "folder":
        return "there" if path.is_dir() else ""
    if kind == "pages":
        return hashlib.sha256("\n".join(pages_below(path)).encode(errors="surrogateescape")).hexdigest()
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def pages_below(root: Path) -> Iterator[str]:
    """The paths of Markdown files in ``root``, hidden folders aside, in a fixed order."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".md"):
                yield Path(folder, name).relative_to(root).as_posix()


MAX_INCLUDED_BYTES = 1_000_000
MAX_TAKEN_IN_CHARS = 5_000_000
"""Characters that one page takes in altogether, those of included files with them: a few lines could say gigabytes."""

MAX_BEGINNING_CHARS = 8_000
"""Of a file that is asked for its title."""

MAX_NOTES = 50_000
"""Pages of a wiki that links are looked up in."""

_LEAST_CHARS = 1000  # what a file counts at least


@dataclass(slots=True)
class _Allowance:
    """How many characters a page may still take in."""

    chars: int = MAX_TAKEN_IN_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """Where a page stands. Everything is plain data, so it can be sent to another process.

    Attributes:
        file: the page's own file.
        root: the folder that was given to ingest. Nothing outside of it is ever read.
        kind: the site generator found beside the documents (hugo, jekyll, mkdocs, docusaurus, mdbook, nuxt, vitepress,
            sphinx, antora, astro); ``""`` where none is known.
        page: the page's front matter.
        site: the site's configuration, as its file has it. May be empty.
        alone: whether the file was given by itself, and not the folder that it is in.
        allowance: what is left of ``MAX_TAKEN_IN_CHARS``.
        notes: paths in ``root`` by name, filled when a wiki's link is first met.
    """

    file: Path
    root: Path
    kind: str
    page: Mapping[str, object]
    site: Mapping[str, object]
    alone: bool = False
    allowance: _Allowance = field(default_factory=_Allowance, compare=False)
    notes: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def is_vault(self) -> bool:
        """Whether ``root`` is Obsidian's."""
        note_look("folder", self.root / ".obsidian")
        return (self.root / ".obsidian").is_dir()

    def value(self, name: str) -> str:
        """What ``name`` (as ``page.title``, ``site.data.ruby.version``) stands for; ``""`` for no or no plain value."""
        first, _, rest = name.partition(".")
        found: object = {"page": self.page, "frontMatter": self.page, "$frontmatter": self.page, "site": self.site}.get(
            first
        )
        for key in filter(None, rest.split(".")):
            found = found.get(key) if isinstance(found, Mapping) else None
        return str(found) if rest and isinstance(found, str | int | float) and not isinstance(found, bool) else ""

    def param(self, name: str) -> str:
        """Hugo's ``param``: the page's own value, else the site's."""
        return self.value(f"page.params.{name}") or self.value(f"page.{name}") or self.value(f"site.params.{name}")

    def read_include(self, reference: str) -> str | None:
        """The text of the file that ``reference`` names, seen from the page's folder or one above it, in ``root``.

        ``None`` when there is none, when it lies outside of ``root`` (links are followed first) or is hidden there, is
        larger than ``MAX_INCLUDED_BYTES`` or what is left of the allowance, is no UTF-8 or is the page itself.
        """
        try:
            file = self._file(reference)
            return self._allowed(_read_text(file)) if file else None
        except (OSError, ValueError, RuntimeError):  # RuntimeError: a link that leads to itself
            return None

    def read_beginning(self, reference: str) -> str:
        """What the file that ``reference`` names begins with, where its title is; ``""`` for no such file."""
        try:
            file = self._file(reference)
            with file.open(encoding="utf-8-sig", errors="replace") if file else io.StringIO() as text:
                return text.read(MAX_BEGINNING_CHARS)
        except (OSError, ValueError, RuntimeError):
            return ""

    def _file(self, reference: str) -> Path | None:
        root, page = self.root.resolve(), self.file.resolve()
        places = [place for place in page.parents if place.is_relative_to(root)]
        wanted = reference.removeprefix("@").lstrip("/")
        for place in places if wanted and "\0" not in wanted else ():
            file = (place / wanted).resolve()
            if file == page or not _is_visible(file, root):
                continue
            note_look("file", place / wanted)
            if file.is_file():
                return file
        return None

    def note_path(self, name: str) -> str | None:
        """The path in ``root`` of the wiki's page ``name``, wherever it is, as Obsidian finds it; ``None`` for none.

        ``name`` may have folders before it and ``.md`` behind it; GitHub's wikis have hyphens for its blanks.
        """
        note_look("pages", self.root)
        if not self.notes:
            self.notes.update(_note_paths(self.root))
        wanted = PurePosixPath(_note_key(name))
        return self.notes.get(wanted.as_posix()) or self.notes.get(wanted.name)

    def _allowed(self, text: str | None) -> str | None:
        if text is None or len(text) > self.allowance.chars:
            return None
        self.allowance.chars -= max(len(text), _LEAST_CHARS)
        return text


def _note_paths(root: Path) -> dict[str, str]:
    """The paths of Markdown files in ``root``, by path and by name; of equal names the first counts."""
    found: dict[str, str] = {"": ""}
    for path in islice(pages_below(root), MAX_NOTES):
        found[_note_key(path)] = path
        found.setdefault(_note_key(PurePosixPath(path).name), path)
    return found


def _note_key(name: str) -> str:
    return name.strip().lower().removesuffix(".md").replace("-", " ")


def _is_visible(file: Path, root: Path) -> bool:
    """Whether ``file`` is in ``root`` and not hidden there: ``.git/config`` may hold a password."""
    return file.is_relative_to(root) and not any(part.startswith(".") for part in file.relative_to(root).parts)


def _read_text(file: Path) -> str | None:
    return None if file.stat().st_size > MAX_INCLUDED_BYTES else file.read_text(encoding="utf-8-sig")
