"""ragctl ls: the documents of the index, and what it was made for and of."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urldefrag

import typer

from ragctl.console import emit_json, show
from ragctl.options import IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from knowledge.model.values import Chunk
    from knowledge.open.anywhere import AnyIndex

COLUMNS = ("path", "title", "docId", "chunks", "dated", "url")


def ls(
    text: Annotated[str | None, typer.Argument(help="Only those with this in their path or title.")] = None,
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """List the documents of the index."""
    settings = read_settings(index=index, profile=profile)

    from ragctl.embedders import open_for_questions

    with closing(open_for_questions(settings, warm=False)) as opened:
        made = opened.manifest.made if opened.manifest else None
        head = {
            "index": settings.index_place,
            "profile": (made.profile if made else "") or None,
            "baseUrl": (made.base_url if made else "") or None,
            "paths": list(made.paths) if made else [],
            "options": dict(made.options) if made else {},
            "builtAt": opened.built_at,
            "version": opened.version,
        }
        rows = _rows(opened)
    wanted = (text or "").casefold()
    rows = [row for row in rows if wanted in row["path"].casefold() or wanted in row["title"].casefold()]
    if as_json:
        emit_json({"documents": rows, **head})
    else:
        _print(head, rows)


def _rows(index: AnyIndex) -> list[dict[str, Any]]:
    """A row for each document, by path, those without text too; of a folder made elsewhere what its chunks say."""
    first: dict[str, Chunk] = {}
    counts: dict[str, int] = {}
    for chunk in index.iter_chunks():
        first.setdefault(chunk.doc_id, chunk)
        counts[chunk.doc_id] = counts.get(chunk.doc_id, 0) + 1
    rows = [_row(doc_id, chunk.path, counts[doc_id], chunk) for doc_id, chunk in first.items()]
    sources = index.manifest.sources if index.manifest else ()
    rows += [_row(source.doc_id, source.path, 0, None) for source in sources if not source.chunks]
    return sorted(rows, key=lambda row: (row["path"], row["docId"]))


def _row(doc_id: str, path: str, chunks: int, chunk: Chunk | None) -> dict[str, Any]:
    return {
        "title": chunk.title if chunk else "",
        "path": path,
        "docId": doc_id,
        "chunks": chunks,
        "dated": _day(chunk.dated) if chunk and chunk.dated else None,
        "url": (urldefrag(chunk.url).url if chunk else "") or None,  # the page's, not the section's
    }


def _day(dated: int) -> str:
    """A date as far as it is known: 2016, 2016-02 or 2016-02-06 of yyyymmdd."""
    year, month, day = dated // 10_000, dated // 100 % 100, dated % 100
    return "-".join([f"{year:04}", *([f"{month:02}"] if month else []), *([f"{day:02}"] if day else [])])


def _print(head: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    facts = [
        f"profile {head['profile'] or 'unknown'}",
        *([f"base url {head['baseUrl']}"] if head["baseUrl"] else []),
        *([f"made of {' '.join(head['paths'])}"] if head["paths"] else []),
        *(f"{name} {value}" for name, value in head["options"].items() if value not in (None, False, [], "")),
        f"built {head['builtAt'] or 'elsewhere'}",
        f"version {head['version']}",
    ]
    show(f"Index {head['index']}: {', '.join(facts)}")
    table = Table(*COLUMNS, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*("" if row[name] is None else str(row[name]) for name in COLUMNS))
    show(table, f"{len(rows)} documents, {sum(row['chunks'] for row in rows)} chunks")
