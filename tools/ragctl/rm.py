"""ragctl rm: documents out of the index."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.console import emit_json, note, progress, show
from ragctl.failures import CommandFailed
from ragctl.kept_readings import READINGS_NAME
from ragctl.options import IndexDir, Json, Profile, cores, read_settings
from ragctl.report import COUNTS, LABELS_OLDER

if TYPE_CHECKING:
    from knowledge.model.manifest import Source

COMES_BACK = "the next ragctl ingest of the same folder brings them back, unless a .ragignore there names them"

INSTEAD = "Delete the files, or name them with --exclude or in a .ragignore, and run ragctl ingest PATH again"


def rm(
    names: Annotated[
        list[str], typer.Argument(metavar="PATH_OR_DOC_ID...", help="As ragctl ls tells them, or a glob: 'drafts/*'.")
    ],
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Remove documents from the index; the others keep their chunks, and nothing is embedded."""
    settings = read_settings(index=index, profile=profile)

    from knowledge.build.remove import remove
    from knowledge.model.errors import IndexMissing
    from knowledge.open.place import read_manifest
    from ragctl.embedders import for_questions
    from ragctl.places import own_folder

    target = own_folder(settings, instead=INSTEAD)
    manifest = read_manifest(target)
    if manifest is None:
        raise IndexMissing(f"No index is loaded. Run: ragctl ingest PATH (looked in {str(target)!r})")
    matched = _matched(manifest.sources, names)
    embedder = for_questions(settings, threads=cores())
    with progress("Embedding") as on_progress:
        doc_ids = {source.doc_id for source in matched}
        summary = remove(target, doc_ids=doc_ids, embedder=embedder, on_progress=on_progress)
    (target / READINGS_NAME).unlink(missing_ok=True)  # it holds their texts
    notes = [COMES_BACK, *([LABELS_OLDER] if summary.labels_older else [])]
    if as_json:
        removed = [{"path": source.path, "docId": source.doc_id, "chunks": source.chunks} for source in matched]
        counts = {name: getattr(summary, name) for name in COUNTS}
        emit_json({**counts, "removedDocuments": removed, "seconds": round(summary.seconds, 3), "notes": notes})
        return
    for source in matched:
        show(f"Removed {source.path} ({source.doc_id}, chunks: {source.chunks})")
    show(f"Index {settings.index_place}: {summary.documents} documents and {summary.chunks} chunks are left")
    for sentence in notes:
        note(f"Note: {sentence}")


def _matched(sources: Sequence[Source], names: Sequence[str]) -> list[Source]:
    """The documents that ``names`` mean, in the index's order.

    Raises:
        CommandFailed: one of the names means none; then nothing is removed for the others either.
    """
    found: set[str] = set()
    unknown = []
    for name in names:
        these = {s.doc_id for s in sources if name in (s.path, s.doc_id) or fnmatchcase(s.path, name)}
        found |= these
        if not these:
            unknown.append(name)
    if unknown:
        sentence = f"No document in the index is named {', '.join(map(repr, unknown))}: ragctl ls tells the names"
        raise CommandFailed(sentence, code="unknown_document")
    return [source for source in sources if source.doc_id in found]
