"""Zip files among the documents, unpacked beside the index, so that each is read as a folder.

Nothing is written elsewhere, and a document that is left out is named. A zip in a zip becomes a folder in its folder.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import re
import shutil
import stat
import unicodedata
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from zipfile import BadZipFile, ZipFile, ZipInfo

import documents
from knowledge.model.values import Failure
from knowledge.read.file_names import suffix
from knowledge.read.remedies import REMEDIES
from ragctl.reading_cache import program_digest

MAX_DEPTH, MAX_FILES, MAX_BYTES = 3, 20_000, 4 * 2**30
MAX_RATIO, SMALL_BYTES = 100, 256 * 2**20
"""A zip may unpack to so many times its size, and to the second in any case."""
MAX_OTHERS = 0.5
"""Other files for each document: of 77 public repositories, zipped, 52 have more, of 15 exports none."""
SOFTWARE = "of software"
"""The kind of a zip with more: one among downloads would give the documents of a program."""
MARK = ".git"
"""A file above each unpacked folder, with the zip's state. By its name no site or included file is searched above."""
_MEDIUM = re.compile(r"(?:image|audio|video|font)/")
_ASIDE = re.compile(rf"{_MEDIUM.pattern}|text/css|application/json")  # what exporters put beside documents
_UTF_8, _ENCRYPTED = 0x800, 0x1  # flags of a member
_UNREADABLE = (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ValueError, zlib.error)


@dataclass(slots=True)
class Archives:
    """The zips of an ingest, in folders of ``cache``; the ``sites`` in them are added by folder.

    ``wanted`` tells the names of documents. ``given`` are zips to read even if they are software. ``failed`` are zips
    and documents in them that cannot be read, ``lost`` their paths.
    """

    cache: Path
    wanted: Callable[[str], object]
    given: Collection[Path]
    sites: dict[Path, documents.Site]
    failed: list[Failure] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    _used: set[Path] = field(default_factory=set)

    def unpack(self, place: Path, path: str) -> Path | str:
        """Return the folder with the files of the zip at ``place``; see ``knowledge.read.walk.Unpack``."""
        home = self.cache / hashlib.sha256(str(place.resolve()).encode(errors="replace")).hexdigest()[:16]
        folder, mark = home / place.name, home / MARK
        self._used.add(home)
        try:
            with ZipFile(place) as zipped:
                if place not in self.given and (kind := self._kind(zipped)):
                    return kind
                members = [(name, info.CRC, info.file_size) for name, info in _members(zipped).items()]
                state = hashlib.sha256(repr((program_digest(), members)).encode(errors="replace")).hexdigest()
                last, problems = json.loads(mark.read_text(encoding="utf-8")) if mark.exists() else ("", [])
                if last != state:
                    shutil.rmtree(home, ignore_errors=True)
                    limit = min(MAX_BYTES, max(MAX_RATIO * place.stat().st_size, SMALL_BYTES))
                    problems = list(self._fill(zipped, folder, "", [MAX_FILES, limit]))
                    mark.write_text(json.dumps([state, problems]), encoding="utf-8")
            self.sites[folder] = documents.find_site(folder)
        except _UNREADABLE as exc:
            problems = [("", _describe(exc))]
        self.failed += [Failure(f"{place}/{name}".rstrip("/"), reason) for name, reason in problems]
        self.lost |= {f"{path}/{name}".rstrip("/") for name, _ in problems}
        return folder if folder in self.sites else ""

    def prune(self) -> None:
        """Remove the folders of zips that are gone."""
        for home in {*self.cache.iterdir()} - self._used if self.cache.is_dir() else ():
            shutil.rmtree(home, ignore_errors=True)

    def _kind(self, zipped: ZipFile) -> str:
        """Return the kind that ``zipped`` is passed over as, ``""`` if it is read."""
        names = [name for name in _members(zipped) if not re.search(r"(?:^|/)\.(?!\./)", name)]
        read = {name for name in names if self._is_document(name)}
        texts = [name for name in read if not _MEDIUM.match(_type(name))]
        programs = [name for name in names if name not in read and suffix(name) and not _ASIDE.match(_type(name))]
        return ".zip" if not read else SOFTWARE if len(programs) > MAX_OTHERS * len(texts) else ""

    def _is_document(self, name: str) -> bool:
        """Whether a member is read, is a zip, or is named with its remedy."""
        has_remedy = suffix(name) in REMEDIES and not _MEDIUM.match(_type(name))
        return has_remedy or suffix(name) == ".zip" or bool(self.wanted(name.rpartition("/")[2]))

    def _is_written(self, name: str) -> bool:
        """Whether more than the name of a member counts."""
        return self._is_document(name) or not _MEDIUM.match(_type(name))

    def _fill(self, zipped: ZipFile, folder: Path, above: str, budget: list[int]) -> Iterator[tuple[str, str]]:
        """Unpack into ``folder``, which is ``above`` in the outer zip; yield documents that are left out, and why.

        ``budget`` holds the files and bytes that it may still have.
        """
        members = _members(zipped)
        budget[0] -= len(members)
        budget[1] -= sum(info.file_size for name, info in members.items() if self._is_written(name))
        if min(budget) < 0:
            raise ValueError(f"it has over {MAX_FILES:,} files, or unpacks to {MAX_RATIO} times its size")
        folder.mkdir(parents=True)
        for name, info in members.items():
            try:
                self._write(zipped, name, info, folder)
                if suffix(name) == ".zip":
                    yield from self._unpack_inner(folder / name, f"{above}{name}/", budget)
            except _UNREADABLE as exc:
                if self._is_document(name):
                    yield f"{above}{name}", _describe(exc)

    def _write(self, zipped: ZipFile, name: str, info: ZipInfo, folder: Path) -> None:
        if PureWindowsPath(name).anchor or ".." in name.split("/"):
            raise ValueError("its name is of a place outside of the zip")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError("it is a link, which is not followed")
        if info.flag_bits & _ENCRYPTED:
            raise ValueError("it is locked by a password")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with zipped.open(info) as source, (folder / name).open("xb") as target:
            try:
                if self._is_written(name):
                    shutil.copyfileobj(source, target)
            except BaseException:
                (folder / name).unlink()
                raise

    def _unpack_inner(self, place: Path, above: str, budget: list[int]) -> Iterator[tuple[str, str]]:
        """Replace the zip at ``place`` by a folder, unless it counts as a file."""
        folder = place.with_name(f"{place.name}~")
        with ZipFile(place) as zipped:
            if self._kind(zipped):
                return
            if above.lower().count(".zip/") >= MAX_DEPTH:
                raise ValueError(f"it is in {MAX_DEPTH} other zips")
            yield from self._fill(zipped, folder, above, budget)
        place.unlink()
        folder.rename(place)


def _describe(error: Exception) -> str:
    damaged = "it is empty or damaged: download or save the zip again" if isinstance(error, BadZipFile) else ""
    return f"cannot be unpacked: {damaged or getattr(error, 'strerror', None) or error}"


def _members(zipped: ZipFile) -> dict[str, ZipInfo]:
    """Return the files by path, without what macOS adds.

    A name without a mark of its encoding is UTF-8 if it can be, else in DOS's.
    """
    members = {}
    for info in zipped.infolist():
        name = info.filename
        if not info.flag_bits & _UTF_8:
            with suppress(ValueError):
                name = name.encode("cp437").decode()
        if not info.is_dir() and "__MACOSX/" not in name:
            members[unicodedata.normalize("NFC", name.replace("\\", "/"))] = info
    return members


def _type(name: str) -> str:
    return mimetypes.guess_type(f"x{suffix(name)}")[0] or ""
