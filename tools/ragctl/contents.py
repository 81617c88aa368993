"""ragctl ls, show, rm and forget: list, print and erase the contents of the index and of the store."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urldefrag

import typer
from rich.console import NewLine
from rich.table import Column, Table
from rich.text import Text

from ragctl.console import PIPE_WIDTH, CommandFailed, emit_json, note, print_rich, progress
from ragctl.options import IndexDir, Json, Profile, choose_store, count_cores, read_settings, require_folder

if TYPE_CHECKING:
    from knowledge.model.manifest import SourceRecord
    from knowledge.model.values import Chunk
    from knowledge.open.opened import ChromaIndex

COLUMNS = ("path", "title", "docId", "chunks", "dated", "url")
COMES_BACK = "the next ragctl ingest of the same folder brings them back, unless a .ragignore there names them"
INSTEAD = "Delete the files, or name them with --exclude or in a .ragignore, and run ragctl ingest PATH again"
REMAINING_DATA = (
    "a process that answers may give a kept answer from its own memory for up to a minute",
    "questions asked without a session are not found, as nothing says whose they are; they expire after 30 days,"
    " votes on them after 180",
    "backups of a DynamoDB table hold what was in it for up to 35 days",
    "an LLM's provider may keep what it was sent",
)
"""Notes on the data that ``ragctl forget`` does not reach."""

_ID = re.compile(r"(?:id_)?(\d{1,18})")


def ls(
    text: Annotated[str | None, typer.Argument(help="Only those with this in their path or title.")] = None,
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """List the documents of the index."""
    settings = read_settings(index=index, profile=profile)

    from knowledge.model.manifest import NO_PROVENANCE
    from ragctl.embedders import open_for_questions

    with closing(open_for_questions(settings, warm=False)) as opened:
        made = opened.manifest.made if opened.manifest else NO_PROVENANCE
        head = {
            "index": settings.index_place,
            "profile": made.profile or None,
            "baseUrl": made.base_url or None,
            "paths": list(made.paths),
            "options": dict(made.options),
            "builtAt": opened.built_at,
            "version": opened.version,
        }
        rows = _document_rows(opened)
    wanted = (text or "").casefold()
    rows = [row for row in rows if wanted in row["path"].casefold() or wanted in row["title"].casefold()]
    if as_json:
        emit_json({"documents": rows, **head})
    else:
        _print_documents(head, rows)


def _document_rows(index: ChromaIndex) -> list[dict[str, Any]]:
    """Return a row for each document, ordered by path; documents without chunks come from the manifest."""
    first: dict[str, Chunk] = {}
    counts: dict[str, int] = {}
    for chunk in index.iter_chunks():
        first.setdefault(chunk.doc_id, chunk)
        counts[chunk.doc_id] = counts.get(chunk.doc_id, 0) + 1
    rows = [_document_row(doc_id, chunk.path, counts[doc_id], chunk) for doc_id, chunk in first.items()]
    sources = index.manifest.sources if index.manifest else ()
    rows += [_document_row(source.doc_id, source.path, 0, None) for source in sources if not source.chunks]
    return sorted(rows, key=lambda row: (row["path"], row["docId"]))


def _document_row(doc_id: str, path: str, chunks: int, chunk: Chunk | None) -> dict[str, Any]:
    from knowledge.model.values import OTHER_PATHS

    return {
        "title": chunk.title if chunk else "",
        "path": path,
        "docId": doc_id,
        "chunks": chunks,
        "dated": _format_date(chunk.dated) if chunk and chunk.dated else None,
        "otherPaths": str(chunk.extra.get(OTHER_PATHS, "")).splitlines() if chunk else [],
        "url": (urldefrag(chunk.url).url if chunk else "") or None,  # the page's, not the section's
    }


def _format_date(dated: int) -> str:
    """Format yyyymmdd as far as it is known: 2016, 2016-02 or 2016-02-06."""
    year, month, day = dated // 10_000, dated // 100 % 100, dated % 100
    return "-".join([f"{year:04}", *([f"{month:02}"] if month else []), *([f"{day:02}"] if day else [])])


def _print_documents(head: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    facts = [
        f"profile {head['profile'] or 'unknown'}",
        *([f"base url {head['baseUrl']}"] if head["baseUrl"] else []),
        *([f"made of {' '.join(head['paths'])}"] if head["paths"] else []),
        *(f"{name} {value}" for name, value in head["options"].items() if value not in (None, False, [], "")),
        f"built {head['builtAt'] or 'elsewhere'}",
        f"version {head['version']}",
    ]
    table = Table(*(Column(name, overflow="fold") for name in COLUMNS), box=None, pad_edge=False)
    chars = shutil.get_terminal_size().columns // 3 if sys.stdout.isatty() else PIPE_WIDTH
    for row in rows:
        named = {**row, "path": "\n= ".join([row["path"], *row["otherPaths"]])}
        cells = ("" if named[name] is None else str(named[name]) for name in COLUMNS)
        table.add_row(*("\n".join(shorten(line, chars) for line in cell.split("\n")) for cell in cells))
    counts = f"{len(rows)} documents, {sum(row['chunks'] for row in rows)} chunks"
    print_rich(f"Index {head['index']}: {', '.join(facts)}", table, counts)


def shorten(text: str, chars: int) -> str:
    """Return ``text`` of at most so many ``chars``, without its middle if it has more."""
    return text if len(text) <= chars else f"{text[: chars // 2]}…{text[len(text) - (chars - 1) // 2 :]}"


def show(
    chunk_id: Annotated[str, typer.Argument(metavar="ID", help="The chunk's id as in citations: id_42, or 42.")],
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Print a chunk with its metadata."""
    match = _ID.fullmatch(chunk_id.strip())
    if match is None:
        raise typer.BadParameter(f"{chunk_id!r} is not a chunk's id such as id_42", param_hint="ID")
    settings = read_settings(index=index, profile=profile)

    from ragctl.embedders import open_for_questions

    with closing(open_for_questions(settings)) as opened:
        chunk = opened.chunk(int(match[1]))
    if chunk is None:
        raise CommandFailed(f"The index has no chunk id_{match[1]}", code="unknown_chunk")
    fields = _chunk_fields(chunk)
    if as_json:
        emit_json({**fields, "text": chunk.text})
        return

    table = Table.grid(padding=(0, 2))
    rows = {**fields, **fields["extra"], "sourceUrls": "\n".join(fields["sourceUrls"]), "extra": ""}
    for name, value in rows.items():
        if value != "":
            table.add_row(Text(name, style="bold"), Text(str(value)))
    print_rich(table, NewLine(), Text(chunk.text))


def _chunk_fields(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk's metadata under the names of the HTTP contract."""
    return {
        "id": chunk.id,
        "docId": chunk.doc_id,
        "title": chunk.title,
        "section": chunk.section,
        "category": chunk.category,
        "sourceOrg": chunk.source_org,
        "sourceUrls": list(chunk.source_urls),
        "sourceType": chunk.source_type,
        "jurisdiction": chunk.jurisdiction,
        "lastUpdated": chunk.last_updated,
        "chunkIndex": chunk.chunk_index,
        "chunkCount": chunk.chunk_count,
        "path": chunk.path,
        "url": chunk.url,
        "extra": dict(chunk.extra),
    }


def rm(
    names: Annotated[
        list[str],
        typer.Argument(metavar="PATH_OR_DOC_ID...", help="As ragctl ls prints them, a folder, or a glob: 'drafts/*'."),
    ],
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Remove documents from the index; the others keep their chunks, and nothing is embedded."""
    settings = read_settings(index=index, profile=profile)

    from knowledge.build.ingest import remove
    from knowledge.model.errors import IndexMissing
    from knowledge.open.place import read_manifest
    from ragctl.embedders import for_questions
    from ragctl.ingest_job import COUNTS, LABELS_OLDER
    from ragctl.reading_cache import READINGS_NAME

    target = require_folder(settings, instead=INSTEAD)
    manifest = read_manifest(target)
    if manifest is None:
        raise IndexMissing(f"No index is loaded. Run: ragctl ingest PATH (looked in {str(target)!r})")
    matched = _match_documents(manifest.sources, names)
    embedder = for_questions(settings, threads=count_cores())
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
        print_rich(f"Removed {source.path} ({source.doc_id}, chunks: {source.chunks})")
    print_rich(f"Index {settings.index_place}: {summary.documents} documents and {summary.chunks} chunks are left")
    for sentence in notes:
        note(f"Note: {sentence}")


def _match_documents(sources: Sequence[SourceRecord], names: Sequence[str]) -> list[SourceRecord]:
    """Return the documents that match ``names``, in the index's order.

    Raises:
        CommandFailed: a name matches no document; then nothing is removed for the others either.
    """
    matched: set[str] = set()
    unknown = []
    for name in names:
        doc_ids = {s.doc_id for s in sources if name in (s.path, s.doc_id) or _is_in(s.path, name)}
        matched |= doc_ids
        if not doc_ids:
            unknown.append(name)
    if unknown:
        sentence = f"No document in the index is named {', '.join(map(repr, unknown))}: ragctl ls tells the names"
        raise CommandFailed(sentence, code="unknown_document")
    return [source for source in sources if source.doc_id in matched]


def _is_in(path: str, name: str) -> bool:
    """Return whether ``path`` matches a glob, or is below a folder or a mailbox of that ``name``."""
    return fnmatchcase(path, name) or path.startswith(f"{name}/")


def forget(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The sessionId of the conversation.")],
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Erase a session's turns, questions, votes and kept answers from the store.

    The store is that of TABLE_NAME, else of STORE_PATH, else the one beside the index.
    """
    from rag.adapters.stores.sessions import forget_session
    from rag.adapters.vendors import open_table
    from rag.http.requests import parse_session

    session = parse_session(session)
    settings, _ = choose_store(read_settings(index=index, profile=profile))
    table = open_table(settings)
    forgotten = forget_session(table, session) if table else None
    if forgotten is None:
        sentence = "There is no store: name the index (--index), its SQLite file (STORE_PATH) or the table (TABLE_NAME)"
        raise CommandFailed(sentence, code="no_store")
    if as_json:
        emit_json({"sessionId": session, **asdict(forgotten), "notes": list(REMAINING_DATA)})
        return
    counts = (f"{name} {count}" for name, count in asdict(forgotten).items())
    print_rich(f"Forgotten of {session}: {', '.join(counts)}")
    for sentence in REMAINING_DATA:
        note(f"Note: {sentence}")
