"""An index's folder as one that Chroma may open: verified first, then copied or linked to a private folder.

Chroma rewrites ``chroma.sqlite3`` at every open and notices no damage. So checksums are checked on the immutable
source, the database is copied (hashed on the way), and everything else is linked to, or mapped. With ``copy_first``
all is copied, and so is a Chroma folder made elsewhere: only our own vectors are known to be flushed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from knowledge.engines.collection import SQLITE_NAME
from knowledge.model.errors import IndexDamaged, IndexMissing, IndexUnavailable
from knowledge.model.manifest import FileRecord, Manifest
from knowledge.open.place import manifest_bytes, read_manifest
from knowledge.open.scratch import Scratch, make_scratch

CHROMA_FOLDER = "chroma"
COPY_BLOCK_BYTES = 1 << 20

_SQLITE_MAGIC = b"SQLite format 3\0"
_DATABASE = f"{CHROMA_FOLDER}/{SQLITE_NAME}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedIndex:
    """An index ready to be opened.

    ``chroma`` is a private, writable Chroma folder; ``data`` holds the texts and is the source itself, or a copy.
    ``manifest`` is None for a Chroma folder that was made elsewhere. ``digest`` is the sha256 (hex) of the database.
    """

    chroma: Path
    data: Path
    manifest: Manifest | None
    digest: str
    scratch: Scratch

    def close(self) -> None:
        """Remove the private folder. Closing twice is allowed."""
        self.scratch.close()


def prepare(folder: Path, *, scratch_root: Path | None = None, copy_first: bool = False) -> PreparedIndex:
    """Verify the index in ``folder`` and lay it out in a fresh folder under ``scratch_root`` (default: the system's).

    With ``copy_first`` all of it is copied, and the source is not needed any more: a mapped file of a network's file
    system that is removed elsewhere ends the process (SIGBUS).

    Raises:
        IndexMissing: there is neither a manifest nor a Chroma database.
        IndexDamaged: a file is missing, truncated or altered; the message names it.
        IndexMismatch: the manifest has another format.
        IndexUnavailable: the private folder cannot be written.
    """
    before = manifest_bytes(folder)
    try:
        return _prepare(folder, scratch_root, copy_first)
    except IndexDamaged:
        # A writer that switched twice meanwhile has removed what the first manifest named.
        if manifest_bytes(folder) == before:
            raise
        return _prepare(folder, scratch_root, copy_first)


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
    """Return the sha256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prepare(folder: Path, scratch_root: Path | None, copy_first: bool) -> PreparedIndex:
    source = folder.resolve()
    manifest = read_manifest(source)
    if manifest is None:
        return _prepare_foreign(folder, source, scratch_root)
    record = manifest.files.get(_DATABASE)
    digest = record.sha256 if record else ""
    data = source / manifest.data
    if copy_first:
        return _copy_all(data, manifest, digest, scratch_root)
    chroma = data / CHROMA_FOLDER
    verify(data, {name: record for name, record in manifest.files.items() if name != _DATABASE})
    with _filled_scratch(scratch_root) as scratch:
        if _copy_database(chroma, scratch.path) != digest:
            raise _damaged(_DATABASE, "altered")
        # The folders of Chroma's vectors, as the manifest names them: nothing unverified is linked.
        paths = [PurePosixPath(name).parts for name in manifest.files]
        for name in sorted({parts[1] for parts in paths if len(parts) > 2 and parts[0] == CHROMA_FOLDER}):
            (scratch.path / name).symlink_to(chroma / name, target_is_directory=True)
    return PreparedIndex(scratch=scratch, chroma=scratch.path, data=data, manifest=manifest, digest=digest)


def _prepare_foreign(folder: Path, source: Path, scratch_root: Path | None) -> PreparedIndex:
    if not (source / SQLITE_NAME).is_file():
        raise IndexMissing(f"No index is loaded. Run: ragctl ingest PATH (looked in {str(folder)!r})")
    folders = sorted(item.name for item in source.iterdir() if item.is_dir())
    with _filled_scratch(scratch_root) as scratch:
        digest = _copy_database(source, scratch.path)
        for name in folders:
            # Copied, not linked: what Chroma has not flushed to it, it replays and writes at the first query.
            (scratch.path / name).mkdir()
            for item in (source / name).iterdir():
                if item.is_file():
                    shutil.copyfile(item, scratch.path / name / item.name)  # contents only: no read-only mode
    return PreparedIndex(scratch=scratch, chroma=scratch.path, data=source, manifest=None, digest=digest)


def _copy_all(source: Path, manifest: Manifest, digest: str, scratch_root: Path | None) -> PreparedIndex:
    """Copy all files of our own index to a private folder, and verify them there."""
    with _filled_scratch(scratch_root) as scratch:
        data = scratch.path / source.name
        for name in manifest.files:
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError, NotADirectoryError):  # reported by verify, with its name
                shutil.copyfile(source / name, data / name)
        verify(data, manifest.files)
    return PreparedIndex(scratch=scratch, chroma=data / CHROMA_FOLDER, data=data, manifest=manifest, digest=digest)


@contextmanager
def _filled_scratch(root: Path | None) -> Iterator[Scratch]:
    """Make a private folder, which the block fills; remove it where the block fails."""
    scratch = make_scratch(root)
    try:
        yield scratch
    except OSError as exc:
        scratch.close()
        raise IndexUnavailable(f"The index cannot be copied to {str(scratch.path)!r}: {exc}") from exc
    except IndexUnavailable:
        scratch.close()
        raise


def _copy_database(chroma: Path, scratch: Path) -> str:
    """Copy the database (and the write-ahead log that a live foreign one may have); return the sha256."""
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


def _damaged(name: str, how: str) -> IndexDamaged:
    return IndexDamaged(f"The index is damaged: {name} is {how}. Run: ragctl ingest PATH")
