"""What a power cut may leave of a folder: of all that was written without a sync, any part.

The folder is looked at before and after each call of Python's that changes a disk. What os.fsync was told of a file
is kept: its content then. What it was told of a folder is kept too: the names in it then. Everything else may be lost,
each part by itself: POSIX promises no order among writes that were not synced. File systems with a journal lose less.

What a library syncs by calls of its own counts as not synced. A change that it makes and takes back between two calls
of Python's is not seen.
"""

import builtins
import io
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

CHANGES: list[tuple[Any, str]] = [
    (builtins, "open"), (io, "open"), (sqlite3, "connect"),
    *((os, name) for name in ("open", "replace", "rename", "mkdir", "symlink", "unlink", "rmdir")),
]  # fmt: skip
"""The calls of Python's that change a disk, or give what changes it."""

type Tree = Mapping[str, bytes | str | None]
"""By path below the folder: a file's content, a link's target, or None for a folder."""

KEPT: Mapping[str, Callable[[bytes, bytes], bytes]] = {
    "all": lambda now, synced: now,
    "what was synced": lambda now, synced: synced,
    "nothing": lambda now, synced: b"",
    "half": lambda now, synced: now[: len(now) // 2],
    "zeros": lambda now, synced: bytes(len(now)),
}
"""What may be left of a file's content that was not synced."""

DRAWN = 4
"""So many times a moment's names and contents are drawn, each by itself."""

WAYS = [*product((True, False), [*KEPT][:3]), *((None, str(number)) for number in range(DRAWN))]
"""Of every cut: whether names that were not synced are there, and which content; or the seed of a draw."""

_open, _fsync, _scandir = os.open, os.fsync, os.scandir


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder's nodes by inode: the names in each folder, the content of each file, the target of each link."""

    names: Mapping[int, Mapping[str, int]]
    contents: Mapping[int, bytes]
    links: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Moment:
    """A folder before ``call``, the ``number``th: as programs see it, and what of it a cut is sure to leave."""

    number: int
    call: str
    root: int
    now: Kept
    synced: Kept

    def left(self, way: tuple[bool | None, str]) -> Tree:
        """What a cut at this moment leaves in one of ``WAYS``."""
        applied, how = way
        draw = Random(f"{how} of {self.number}")
        tree: dict[str, bytes | str | None] = {}

        def folder(number: int, at: str) -> None:
            now, synced = self.now.names.get(number, {}), self.synced.names.get(number, {})
            for name in sorted({*now, *synced}):
                there = draw.random() < 0.5 if applied is None else applied
                if (child := (now if there else synced).get(name)) is not None:
                    node(child, f"{at}{name}")

        def node(number: int, path: str) -> None:
            if number in self.now.names:
                tree[path] = None
                folder(number, f"{path}/")
            elif number in self.now.links:
                tree[path] = self.now.links[number]
            else:
                now, synced = self.now.contents[number], self.synced.contents.get(number)
                kept = draw.choice([*KEPT]) if applied is None else how
                tree[path] = now if now == synced else KEPT[kept](now, synced or b"")

        folder(self.root, "")
        return tree


@dataclass
class Volume:
    """The folder ``root``, on the disk with all that is in it; what changes from here on is lost unless it is synced.

    Every file stays open, so that no inode is given to another one.
    """

    root: Path
    moments: list[Moment] = field(default_factory=list)
    """Those in which something differed from the one before."""

    def __post_init__(self) -> None:
        self._held: dict[int, int] = {}
        self._links: dict[int, str] = {}
        self._same: dict[bytes, bytes] = {}
        descriptor = _open(self.root, os.O_RDONLY)
        self._root = os.fstat(descriptor).st_ino
        self._held[self._root] = descriptor
        now = self._now()
        self._names, self._contents = dict(now.names), dict(now.contents)

    @contextmanager
    def watched(self, *more: tuple[Any, str]) -> Iterator[None]:
        """Look at the folder before each of ``CHANGES`` and of ``more`` (an object and a method's name), and after."""
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in [*CHANGES, *more]:
                patch.setattr(owner, name, self._wrapped(getattr(owner, name), name))
            patch.setattr(os, "fsync", self._synced)
            yield
        self.look("the end")

    def close(self) -> None:
        for descriptor in self._held.values():
            os.close(descriptor)

    def _wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.look(name)
            return function(*args, **options)

        return call

    def _synced(self, descriptor: int) -> None:
        self.look("fsync")
        _fsync(descriptor)
        number, now = os.fstat(descriptor).st_ino, self.moments[-1].now
        if number in now.names:
            self._names[number] = now.names[number]
        elif number in now.contents:
            self._contents[number] = now.contents[number]

    def look(self, call: str) -> None:
        """Keep this moment, before ``call``, if anything differs from the one before."""
        synced = Kept(dict(self._names), dict(self._contents), {})
        moment = Moment(len(self.moments), call, self._root, self._now(), synced)
        if not self.moments or (moment.now, synced) != (self.moments[-1].now, self.moments[-1].synced):
            self.moments.append(moment)

    def _now(self) -> Kept:
        names: dict[int, dict[str, int]] = {}
        todo = [self._root]
        while todo:
            number = todo.pop()
            with _scandir(self._held[number]) as entries:
                names[number] = {entry.name: self._hold(number, entry) for entry in entries}
            todo += [child for child in names[number].values() if self._is_folder(child) and child not in names]
        contents = {}
        for number, descriptor in self._held.items():
            if self._is_folder(number):
                names.setdefault(number, {})
            else:
                content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
                contents[number] = self._same.setdefault(content, content)
        return Kept(names, contents, dict(self._links))

    def _hold(self, folder: int, entry: os.DirEntry[str]) -> int:
        number = entry.inode()
        if number not in self._held and entry.is_symlink():
            self._links[number] = os.readlink(entry.name, dir_fd=self._held[folder])
        elif number not in self._held:
            self._held[number] = _open(entry.name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._held[folder])
        return number

    def _is_folder(self, number: int) -> bool:
        return number in self._held and stat.S_ISDIR(os.fstat(self._held[number]).st_mode)


def put(tree: Tree, root: Path) -> None:
    """Make ``tree`` in the empty folder ``root``."""
    for path, content in tree.items():
        if content is None:
            (root / path).mkdir()
        elif isinstance(content, str):
            (root / path).symlink_to(content)
        else:
            (root / path).write_bytes(content)
