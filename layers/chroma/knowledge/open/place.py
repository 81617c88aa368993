"""The folder of an index and its manifest, read before the index is opened; cheap to import."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from knowledge.engines.server.address import is_server
from knowledge.model.errors import IndexDamaged, IndexMissing, IndexUnavailable
from knowledge.model.manifest import MANIFEST_NAME, NO_PROVENANCE, Manifest, Provenance, loads


def folder_of(uri: str | Path) -> Path:
    """Return the local folder that ``uri`` (a path or ``file://`` URI) names; IndexMissing: it is another URI."""
    if is_server(uri):
        raise IndexMissing(f"This needs an index in a folder, and {uri} is on Chroma's server")
    if isinstance(uri, Path) or "://" not in uri:
        return Path(uri)
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise IndexMissing(f"The index address {uri!r} cannot be opened: give a folder or a file:/// URI")
    return Path(unquote(parts.path))


def manifest_bytes(folder: Path) -> bytes | None:
    """Return the bytes of the manifest in ``folder``, None when there is none; IndexDamaged: it cannot be read."""
    try:
        return (folder / MANIFEST_NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        raise IndexDamaged(f"{MANIFEST_NAME} cannot be read: {exc.strerror}") from exc


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest in ``folder``, None when there is none.

    Raises:
        IndexDamaged, IndexMismatch: it cannot be used (see ``manifest.loads``).
    """
    text = manifest_bytes(folder)
    return None if text is None else loads(text)


def read_provenance(uri: str | Path) -> Provenance:
    """Return the provenance of the index at ``uri``, ``NO_PROVENANCE`` if it is absent, damaged or made elsewhere."""
    try:
        manifest = read_manifest(folder_of(uri))
    except (IndexUnavailable, ValueError, OSError):  # such as a NUL in the path
        return NO_PROVENANCE
    return manifest.made if manifest else NO_PROVENANCE
