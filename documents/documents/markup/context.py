"""A page's surroundings: its file, its site, and the other files of the folder that it may include.

Each look at another file is recorded as a text: ``file:/docs/a.md`` (the file's content, that it is a folder, or its
absence), ``pages:/docs`` (the Markdown files below a folder) or ``titles:/docs`` (the titles of the documents below a
folder: see ``documents.converters.sphinx_folder``).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath

_LOOKS: ContextVar[set[str] | None] = ContextVar("looks", default=None)


@contextmanager
def record_looks() -> Iterator[set[str]]:
    """Yield a set that collects all looks within this block, in this thread."""
    looks: set[str] = set()
    token = _LOOKS.set(looks)
    try:
        yield looks
    finally:
        _LOOKS.reset(token)


def note_look(kind: str, place: Path) -> None:
    """Record a look; ``kind`` is file, pages or titles."""
    looks = _LOOKS.get()
    if looks is not None:
        looks.add(f"{kind}:{place}")


def look_state(noted_look: str) -> str:
    """Return the current state of a look: equal strings mean unchanged; ``""`` if nothing exists."""
    kind, _, place = noted_look.partition(":")
    path = Path(place)
    if kind == "titles":
        from documents.converters.sphinx_folder import state_of_titles

        return state_of_titles(path)
    if kind == "pages":
        return hashlib.sha256(
            "\n".join(map(str, files_below(path, ".md"))).encode(errors="surrogateescape")
        ).hexdigest()
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return "folder" if path.is_dir() else ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def files_below(root: Path, *suffixes: str) -> Iterator[Path]:
    """Yield the files in ``root`` that end in ``suffixes``, in a fixed order, without hidden folders."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(suffixes))


MAX_INCLUDED_BYTES = 1_000_000
MAX_INCLUDED_CHARS = 5_000_000
"""Characters that one page takes in altogether, those of included files with them: a few lines could say gigabytes."""

MAX_BEGINNING_CHARS = 8_000
"""Of a file that is asked for its title."""

MAX_NOTES = 50_000
"""Pages of a wiki that links are looked up in."""

_LEAST_CHARS = 1000  # the least that a file counts
_PAGE_NAMES = ("page", "frontMatter", "$frontmatter")
_BASE_PATH = re.compile(r"'base_path': (\[[^\]]*\]|'[^']*')")
_QUOTED = re.compile(r"'([^']*)'")
_ALIAS = re.compile(r"^(?:@site(?=/)|@|~(?=/))?/*")  # the site's folder, as Docusaurus, VitePress and Vite write it


@dataclass(slots=True, kw_only=True)
class PageContext:
    """A page's file, folder and site. Everything is plain data, so that it can be sent to another process.

    Attributes:
        file: the page's own file.
        root: the folder that was given to ingest.
        top: the folder of the site or repository around it. No file outside of it is ever read.
        kind: the site generator (hugo, jekyll, mkdocs, docusaurus, mdbook, nuxt, vitepress, sphinx, antora, astro)
            found beside the documents; ``""`` if unknown.
        page: the page's front matter.
        site: the site's configuration, as in its file. May be empty.
        alone: whether the file was given alone, without its folder.
        allowance: characters that the page may still include.
        notes: paths in ``root`` by name, filled at the first link of a wiki.
        caveats: sentences about what was left out of the page, filled while it is read.
        missing: included files that were not found, as the page names them.
        included: what the page includes, part by part: as read, until the page says which lines it takes.
        taken: folders of the files that were included, which may name files beside them.
    """

    file: Path
    root: Path
    top: Path
    kind: str
    page: Mapping[str, object]
    site: Mapping[str, object]
    alone: bool = False
    allowance: int = MAX_INCLUDED_CHARS
    notes: dict[str, str] = field(default_factory=dict)
    caveats: list[str] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)
    included: list[str] = field(default_factory=list)
    taken: dict[Path, None] = field(default_factory=dict)

    @property
    def all_caveats(self) -> tuple[str, ...]:
        """All sentences about what was left out, with the one about included files that were not found."""
        first, count = next(iter(self.missing), ""), len(self.missing)
        told = f"{count} included files were not found, e.g. {first}: give the folder that holds them"
        if count == 1:
            told = f"the included file {first} was not found: give the folder that holds it"
        return (*self.caveats, told) if count else tuple(self.caveats)

    @property
    def is_vault(self) -> bool:
        """Whether ``root`` is a vault of Obsidian."""
        note_look("file", self.root / ".obsidian")
        return (self.root / ".obsidian").is_dir()

    def value(self, name: str) -> str:
        """Return the plain value of ``name`` (``page.title``, ``site.data.ruby.version``); ``""`` if there is none."""
        first, _, rest = name.partition(".")
        found: object = self.site if first == "site" else self.page if first in _PAGE_NAMES else None
        for key in filter(None, rest.split(".")):
            found = found.get(key) if isinstance(found, Mapping) else None
        return str(found) if rest and isinstance(found, str | int | float) and not isinstance(found, bool) else ""

    def param(self, name: str) -> str:
        """Return Hugo's ``param``: the page's value, else the site's."""
        return self.value(f"page.params.{name}") or self.value(f"page.{name}") or self.value(f"site.params.{name}")

    def read_include(self, *references: str) -> str | None:
        """Return the text of the first file of ``references`` in the page's folder or one above it, within ``top``.

        None if there is no such file, if it is outside of ``top`` (after following links) or hidden, larger than
        ``MAX_INCLUDED_BYTES`` or the rest of the allowance, not UTF-8, or the page itself. ``missing`` then names it.
        """
        for reference in references:
            try:
                file = self.find_file(reference)
                if file is None or file.stat().st_size > MAX_INCLUDED_BYTES:
                    continue
                text = file.read_text(encoding="utf-8-sig")
            except (OSError, ValueError, RuntimeError):  # RuntimeError: a link that leads to itself
                continue
            if len(text) <= self.allowance:
                self.allowance -= max(len(text), _LEAST_CHARS)
                self.taken[file.parent] = None
                self.included.append(text.replace("\r\n", "\n"))
                return self.included[-1]
        if PurePosixPath(references[0]).name != self.file.name:  # a page that includes itself lacks nothing
            self.missing[references[0]] = None
        return None

    def read_beginning(self, reference: str) -> str:
        """Return the beginning of the file ``reference``, with its title; ``""`` if there is no such file."""
        try:
            file = self.find_file(reference)
            with file.open(encoding="utf-8-sig", errors="replace") if file else io.StringIO() as text:
                return text.read(MAX_BEGINNING_CHARS)
        except (OSError, ValueError, RuntimeError):
            return ""

    def find_file(self, reference: str) -> Path | None:
        """Return the file ``reference`` in the page's folder, one above it or one of ``taken``; None if there is none.

        Links are followed before a file is compared with ``top``.
        """
        roots, page = (self.root.resolve(), self.top.resolve()), self.file.resolve()
        places = [*(place for place in page.parents if place.is_relative_to(roots[1])), *self.taken]
        wanted = _ALIAS.sub("", reference)
        for place in places if wanted and "\0" not in wanted else ():
            for base in self._bases:
                file = (place / base / wanted).resolve()
                if file == page or not any(_is_visible(file, root) for root in roots):
                    continue
                note_look("file", place / base / wanted)
                if file.is_file():
                    return file
        return None

    @property
    def _bases(self) -> Iterator[str]:
        """The folders that the site's tool finds included files in, from the folder of its configuration."""
        yield ""
        if self.kind == "jekyll":
            yield str(self.site.get("includes_dir") or "_includes")
        for paths in _BASE_PATH.findall(str(self.site.get("markdown_extensions"))):  # one, or a list
            yield from _QUOTED.findall(paths)

    def note_path(self, name: str) -> str | None:
        """Return the path in ``root`` of a wiki's page ``name``, found as Obsidian finds it; None if there is none.

        ``name`` may have folders before it and ``.md`` behind it; GitHub's wikis have hyphens in place of blanks.
        """
        note_look("pages", self.root)
        for file in islice(files_below(self.root, ".md"), 0 if self.notes else MAX_NOTES):
            path = file.relative_to(self.root).as_posix()
            self.notes[_note_key(path)] = path
            self.notes.setdefault(_note_key(file.name), path)  # the first of equal names counts
        self.notes.setdefault("", "")
        wanted = PurePosixPath(_note_key(name))
        return self.notes.get(wanted.as_posix()) or self.notes.get(wanted.name)


def _note_key(name: str) -> str:
    return name.strip().lower().removesuffix(".md").replace("-", " ")


def _is_visible(file: Path, root: Path) -> bool:
    """Return whether ``file`` is in ``root`` and not hidden: ``.git/config`` may hold a password."""
    return file.is_relative_to(root) and not any(part.startswith(".") for part in file.relative_to(root).parts)
