"""Find the files to read in folders: in a fixed order, each once, whatever the links between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from knowledge.errors import SourceUnreadable


@dataclass(frozen=True, slots=True)
class Found:
    """A file: where it is, the given path that it was found in, and its path relative to that."""

    file: Path
    root: Path
    path: str
    explicit: bool


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not looked into, and why; ``lost`` when there may have been something to read."""

    file: Path
    reason: str
    lost: bool


def find(paths: Sequence[Path], *, wanted: Callable[[str], bool]) -> Iterator[Found | Skipped]:
    """The files given, and those in the folders given whose name is ``wanted``.

    Hidden files and folders are left out. A link to a folder is followed unless it leads back up or to a folder that
    was read; real files come before linked ones, so that a file keeps its own path.

    Raises:
        SourceUnreadable: one of ``paths`` does not exist or is out of reach.
    """
    for path in paths:
        try:
            path.stat()
        except OSError as exc:
            raise SourceUnreadable(f"Cannot read {str(path)!r}: {exc.strerror}") from exc
    walk = _Walk(wanted)
    for path in paths:
        if path.is_dir():
            yield from walk.folder(path)
        elif walk.is_new(path):
            yield Found(path, path, readable(path.name), explicit=True)


def readable(name: str | os.PathLike[str]) -> str:
    """A file name as text that can be stored: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(name).decode(errors="replace")


class _Walk:
    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._seen: set[str] = set()

    def is_new(self, path: Path) -> bool:
        real = os.path.realpath(path)
        new = real not in self._seen
        self._seen.add(real)
        return new

    def folder(self, root: Path) -> Iterator[Found | Skipped]:
        folders = [root] if self.is_new(root) else []
        links: list[Path] = []
        while folders or links:
            if not folders:
                found = self._linked(links.pop(0), root)
                if isinstance(found, Path):
                    folders.append(found)
                elif found:
                    yield found
                continue
            folder = folders.pop()
            try:
                entries = sorted((e for e in os.scandir(folder) if not e.name.startswith(".")), key=lambda e: e.name)
            except OSError as exc:
                yield Skipped(folder, f"cannot be looked into: {exc.strerror}", lost=True)
                continue
            below: list[Path] = []
            for entry in entries:
                path = folder / entry.name
                if entry.is_symlink():
                    links.append(path)
                elif entry.is_dir():
                    below += [path] if self.is_new(path) else []
                elif self._wanted(entry.name) and self.is_new(path):
                    yield self._found(path, root)
            folders += reversed(below)

    def _linked(self, link: Path, root: Path) -> Path | Found | Skipped | None:
        """What a link leads to: a folder to look into (under the link's name), a file, or nothing new."""
        try:
            target = Path(os.path.realpath(link, strict=True))
        except OSError:
            return Skipped(link, "is a link that leads nowhere", lost=self._wanted(link.name))
        if target.is_dir():
            if Path(os.path.realpath(root)).is_relative_to(target):
                return Skipped(link, "is a link back to a folder that it is in: not followed", lost=False)
            if not self.is_new(target):
                return Skipped(link, "is a link to a folder that is read already", lost=False)
            return link
        return self._found(link, root) if self._wanted(link.name) and self.is_new(target) else None

    @staticmethod
    def _found(file: Path, root: Path) -> Found:
        return Found(file, root, readable(file.relative_to(root).as_posix()), explicit=False)
