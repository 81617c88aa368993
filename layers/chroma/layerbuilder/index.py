"""The index layer: one index alone, checked before it is shipped."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from knowledge.embedding import MiniLM
from knowledge.model.manifest import MANIFEST_NAME, Manifest
from knowledge.model.values import Embedder
from knowledge.open.index import DEFAULT_COLLECTION, open_index
from knowledge.open.place import read_manifest
from knowledge.open.source import prepare, verify


def build(out: Path, *, index: Path, collection: str = DEFAULT_COLLECTION, embedder: Embedder | None = None) -> None:
    """Copy the current state of ``index`` to ``out``/index: no lock, no earlier state.

    ``collection`` names the one to deploy of a Chroma folder that was made elsewhere; such a folder is opened as the
    function will open it, with ``embedder`` (default: the layer's own model).

    Raises:
        IndexUnavailable: there is no index, it is damaged, or the function could not use it.
    """
    manifest = read_manifest(index)
    if manifest is None:
        _copy_foreign(index, out / "index", collection, embedder or MiniLM())
    else:
        _copy_own(index, out / "index", manifest)


def _copy_own(index: Path, target: Path, manifest: Manifest) -> None:
    verify(index / manifest.data, manifest.files)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(index / manifest.data, target / manifest.data)
    shutil.copy(index / MANIFEST_NAME, target / MANIFEST_NAME)


def _copy_foreign(index: Path, target: Path, collection: str, embedder: Embedder) -> None:
    open_index(index, embedder=embedder, collection=collection, warm=False).close()
    # Chroma's own files and no others, as they are when nobody has them open.
    with closing(prepare(index)) as prepared:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(prepared.chroma, target)
