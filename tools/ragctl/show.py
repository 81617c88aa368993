"""ragctl show: one chunk as the index holds it."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragctl import console
from ragctl.failures import CommandFailed
from ragctl.options import IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from knowledge.model.values import Chunk

_ID = re.compile(r"(?:id_)?(\d{1,18})")


def show(
    chunk_id: Annotated[str, typer.Argument(metavar="ID", help="The chunk, as citations name it: id_42, or 42.")],
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
    fields = chunk_fields(chunk)
    if as_json:
        console.emit_json({**fields, "text": chunk.text})
    else:
        console.show(*_for_people(fields, chunk.text))


def chunk_fields(chunk: Chunk) -> dict[str, Any]:
    """A chunk's metadata in the names of the HTTP contract."""
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


def _for_people(fields: dict[str, Any], text: str) -> list[Any]:
    from rich.console import NewLine
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    rows = {**fields, **fields["extra"], "sourceUrls": "\n".join(fields["sourceUrls"]), "extra": ""}
    for name, value in rows.items():
        if value != "":
            table.add_row(Text(name, style="bold"), Text(str(value)))
    return [table, NewLine(), Text(text)]
