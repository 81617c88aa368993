"""From an index's place to a folder that Chroma may open: verified first, then copied or linked to one of its own.

Chroma rewrites ``chroma.sqlite3`` at every open and notices no damage. So checksums are checked on the immutable
source, the database is copied (hashed on the way), and everything else is linked to, or mapped. All is copied where
that is asked for (``apart``), and of a Chroma folder made elsewhere: only our own vectors are known to be flushed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from knowledge.engines.embedded.collection import SQLITE_NAME
from knowledge.model.errors import IndexDamaged, IndexMissing, IndexUnavailable
from knowledge.model.manifest import FileRecord, Manifest
from knowledge.open.place import folder_of as folder_of
from knowledge.open.place import manifest_bytes
from knowledge.open.place import read_manifest as read_manifest
from knowledge.open.scratch import Scratch

CHROMA_FOLDER = "chroma"
COPY_BLOCK_BYTES = 1 << 20

_SQLITE_MAGIC = b"SQLite format 3\0"
_DATABASE = f"{CHROMA_FOLDER}/{SQLITE_NAME}"


class PreparedIndex:
    """An index ready to be opened.

    ``chroma`` is a private, writable Chroma folder; ``data`` holds the texts and is the source itself, or a copy.
    ``manifest`` is None for a Chroma folder that was made elsewhere. ``digest`` is the sha256 (hex) of the database.
    """

    def __init__(self, *, scratch: Scratch, chroma: Path, data: Path, manifest: Manifest | None, digest: str) -> None:
        self.chroma = chroma
        self.data = data
        self.manifest = manifest
        self.digest = digest
        self._scratch = scratch

    def close(self) -> None:
        """Remove the private folder. Closing twice is allowed."""
        self._scratch.close()


def prepare(folder: Path, *, scratch_root: Path | None = None, apart: bool = False) -> PreparedIndex:
    """Verify the index in ``folder`` and lay it out in a fresh folder under ``scratch_root`` (default: the system's).

    With ``apart`` all of it is copied, and the source is not needed any more: a mapped file of a network's file system
    that is removed elsewhere ends the process (SIGBUS).

    Raises:
        IndexMissing: there is neither a manifest nor a Chroma database.
        IndexDamaged: a file is missing, truncated or altered; the message names it.
        IndexMismatch: the manifest has another format.
        IndexUnavailable: the private folder cannot be written.
    """
    before = manifest_bytes(folder)
    try:
        return _prepare(folder, scratch_root, apart)
    except IndexDamaged:
        # A writer that switched twice meanwhile has removed what the first manifest named.
        if manifest_bytes(folder) == before:
            raise
        return _prepare(folder, scratch_root, apart)


def verify(data: Path, files: Mapping[str, FileRecord]) -> None:
    """Compare files under ``data`` with their records.

    Raises:
        IndexDamaged: one is missing, truncated or altered; the message names it.
    """
    for name, record in files.items():
        try:
            size = (data / name).stat().st_size
            digest = file_digest(data / name) if size == record.bytes else ""
        except OSError as exc:
            missing = isinstance(exc, FileNotFoundError | NotADirectoryError)
            raise _damaged(name, "missing" if missing else f"unreadable ({exc.strerror})") from exc
        if digest != record.sha256:
            raise _damaged(name, "altered" if size == record.bytes else f"{size} bytes instead of {record.bytes}")


def file_digest(path: Path) -> str:
    """The sha256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prepare(folder: Path, scratch_root: Path | None, apart: bool) -> PreparedIndex:
    source = folder.resolve()
    manifest = read_manifest(source)
    if manifest is not None and apart:
        return _copied(source / manifest.data, manifest, scratch_root)
    if manifest is None:
        if not (source / SQLITE_NAME).is_file():
            raise IndexMissing(f"No index is loaded. Run: ragctl ingest PATH (looked in {str(folder)!r})")
        data = chroma = source
        folders = sorted(item.name for item in source.iterdir() if item.is_dir())
    else:
        data = source / manifest.data
        chroma = data / CHROMA_FOLDER
        verify(data, {name: record for name, record in manifest.files.items() if name != _DATABASE})
        folders = _folders(manifest.files)
    scratch = _scratch(scratch_root)
    with _closed_on_failure(scratch):
        digest = _copy_database(chroma, scratch.path)
        if manifest is not None and digest != _expected(manifest):
            raise _damaged(_DATABASE, "altered")
        for name in folders:
            if manifest is None:
                _copy_folder(chroma / name, scratch.path / name)
            else:
                (scratch.path / name).symlink_to(chroma / name, target_is_directory=True)
    return PreparedIndex(scratch=scratch, chroma=scratch.path, data=data, manifest=manifest, digest=digest)


def _copied(source: Path, manifest: Manifest, scratch_root: Path | None) -> PreparedIndex:
    """All files of our own index in a private folder, verified there."""
    scratch = _scratch(scratch_root)
    data = scratch.path / source.name
    with _closed_on_failure(scratch):
        for name in manifest.files:
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError, NotADirectoryError):  # said below, with its name
                shutil.copyfile(source / name, data / name)
        verify(data, manifest.files)
    return PreparedIndex(
        scratch=scratch, chroma=data / CHROMA_FOLDER, data=data, manifest=manifest, digest=_expected(manifest)
    )


def _scratch(root: Path | None) -> Scratch:
    try:
        return Scratch(root)
    except OSError as exc:
        raise IndexUnavailable(f"No place to open the index in: {exc}") from exc


@contextmanager
def _closed_on_failure(scratch: Scratch) -> Iterator[None]:
    """Closes ``scratch`` where this block, which fills it, fails."""
    try:
        yield
    except OSError as exc:
        scratch.close()
        raise IndexUnavailable(f"The index cannot be copied to {str(scratch.path)!r}: {exc}") from exc
    except IndexUnavailable:
        scratch.close()
        raise


def _copy_database(chroma: Path, scratch: Path) -> str:
    """Copy the database (and the write-ahead log that a live foreign one may have); returns the sha256."""
    digest = hashlib.sha256()
    for name in (SQLITE_NAME, f"{SQLITE_NAME}-wal"):
        try:
            source = (chroma / name).open("rb")
        except FileNotFoundError as exc:
            if name == SQLITE_NAME:
                raise _damaged(_DATABASE, "missing") from exc
            continue
        with source, (scratch / name).open("xb") as copy:  # a new file: the source's mode is not copied
            while block := source.read(COPY_BLOCK_BYTES):
                digest.update(block)
                copy.write(block)
    with (scratch / SQLITE_NAME).open("rb") as copied:
        if copied.read(len(_SQLITE_MAGIC)) != _SQLITE_MAGIC:
            raise _damaged(SQLITE_NAME, "not a database")
    return digest.hexdigest()


def _copy_folder(source: Path, copy: Path) -> None:
    """Copy a foreign folder of vectors: what Chroma has not flushed to it, it replays and writes at the first query."""
    copy.mkdir()
    for item in source.iterdir():
        if item.is_file():
            shutil.copyfile(item, copy / item.name)  # contents only: a read-only mode is not copied


def _expected(manifest: Manifest) -> str:
    record = manifest.files.get(_DATABASE)
    return record.sha256 if record else ""


def _folders(files: Iterable[str]) -> list[str]:
    """The names of the folders that hold Chroma's vectors, from the manifest: nothing unverified is linked."""
    paths = [PurePosixPath(name).parts for name in files]
    return sorted({parts[1] for parts in paths if len(parts) > 2 and parts[0] == CHROMA_FOLDER})


def _damaged(name: str, how: str) -> IndexDamaged:
    return IndexDamaged(f"The index is damaged: {name} is {how}. Run: ragctl ingest PATH")
