"""The manifest of an index: what is in it, how it was made, and the checksum of every file.

``manifest.json`` is also the switch: it names the data folder in use and is replaced in one step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from knowledge.errors import IndexDamaged, IndexMismatch

MANIFEST_NAME = "manifest.json"
FORMAT = 1
SPACE = "cosine"

_DATA_NAME = re.compile(r"data-[0-9a-z]+")
_FIELD_TYPES = frozenset({"str", "int", "float", "bool", "mixed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One document of the index: ``digest`` is ``Document.digest``, ``chunks`` may be 0 (it held no text)."""

    path: str
    digest: str
    doc_id: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """What a data file must be: its sha256 (hex) and its size."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an index holds.

    ``version`` is a hash of the content and of what its owner's labels gave (equal ones, equal version, whenever it was
    built). ``built_at`` is
    ISO 8601 in UTC. ``data`` is the folder beside the manifest that ``files`` are relative to. ``recipe`` numbers
    the way in which a chunk becomes the text that is embedded. ``documents`` counts those that gave chunks.
    ``next_number`` is the first chunk number never used. ``fields`` gives each metadata field's type.
    ``lexical``, ``tokens`` (token vectors) and ``calibration`` are None until something fills them.
    """

    version: str
    built_at: str
    data: str
    collection: str
    model: str
    dimensions: int
    space: str = SPACE
    max_chars: int
    overlap: int
    recipe: int
    documents: int
    chunks: int
    next_number: int
    fields: Mapping[str, str]
    sources: tuple[Source, ...]
    files: Mapping[str, FileRecord]
    lexical: Mapping[str, object] | None = None
    tokens: Mapping[str, object] | None = None
    calibration: Mapping[str, object] | None = None


def dumps(manifest: Manifest) -> str:
    """The manifest as the text of ``manifest.json``."""
    m = manifest
    body = {
        "format": FORMAT,
        "version": m.version,
        "built_at": m.built_at,
        "data": m.data,
        "collection": m.collection,
        "embedding": {"model": m.model, "dimensions": m.dimensions, "space": m.space},
        "chunking": {"max_chars": m.max_chars, "overlap": m.overlap, "recipe": m.recipe},
        "counts": {"documents": m.documents, "chunks": m.chunks},
        "next_number": m.next_number,
        "fields": dict(sorted(m.fields.items())),
        "lexical": m.lexical,
        "tokens": m.tokens,
        "calibration": m.calibration,
        "files": {name: {"sha256": f.sha256, "bytes": f.bytes} for name, f in sorted(m.files.items())},
        "sources": [{"path": s.path, "digest": s.digest, "doc_id": s.doc_id, "chunks": s.chunks} for s in m.sources],
    }
    return json.dumps(body, indent=1) + "\n"


def loads(text: str | bytes) -> Manifest:
    """Read ``manifest.json``'s text.

    Raises:
        IndexDamaged: it is truncated, or a value is missing or of the wrong kind.
        IndexMismatch: it is of another format than this program reads.
    """
    try:
        body = json.loads(text)
    except ValueError as exc:
        raise IndexDamaged(f"{MANIFEST_NAME} is not complete JSON. Run: ragctl ingest PATH") from exc
    if not isinstance(body, dict):
        raise IndexDamaged(f"{MANIFEST_NAME} is not a JSON object. Run: ragctl ingest PATH")
    if "format" not in body:
        raise _damaged("format is missing")
    if isinstance(body["format"], bool) or body["format"] != FORMAT:
        raise IndexMismatch(
            f"The index has format {body['format']!r}, this program reads {FORMAT}. Run: ragctl ingest PATH"
        )
    embedding, chunking, counts = (_object(body, key) for key in ("embedding", "chunking", "counts"))
    fields = {name: _text(_object(body, "fields"), name) for name in _object(body, "fields")}
    if unknown := set(fields.values()) - _FIELD_TYPES:
        raise _damaged(f"fields has the unknown type {sorted(unknown)[0]!r}")
    data = _text(body, "data")
    if not _DATA_NAME.fullmatch(data):
        raise _damaged(f"data is {data!r}, not the name of a data folder")
    return Manifest(
        version=_text(body, "version"),
        built_at=_moment(body, "built_at"),
        data=data,
        collection=_text(body, "collection"),
        model=_text(embedding, "model"),
        dimensions=_count(embedding, "dimensions"),
        space=_text(embedding, "space"),
        max_chars=_count(chunking, "max_chars"),
        overlap=_count(chunking, "overlap"),
        recipe=_count(chunking, "recipe"),
        documents=_count(counts, "documents"),
        chunks=_count(counts, "chunks"),
        next_number=_count(body, "next_number"),
        fields=fields,
        sources=tuple(_source(item) for item in _list(body, "sources")),
        files={_relative(name): _file(_object(body, "files"), name) for name in _object(body, "files")},
        lexical=_object_or_null(body, "lexical"),
        tokens=_object(body, "tokens") if body.get("tokens") is not None else None,
        calibration=_object_or_null(body, "calibration"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """What a rebuild needs of a manifest, however damaged: numbers are never reused, and the data folder is kept."""

    next_number: int = 1
    data: str | None = None


def salvage(text: str | bytes) -> Salvage:
    """Look for the first unused chunk number (1 when it is lost) and the data folder's name in a manifest's text."""
    readable = text if isinstance(text, str) else text.decode("utf-8", "replace")
    number = re.search(r'"next_number":\s*(\d{1,18})\b', readable)
    data = re.search(rf'"data":\s*"({_DATA_NAME.pattern})"', readable)
    return Salvage(next_number=max(1, int(number[1])) if number else 1, data=data[1] if data else None)


def _source(item: object) -> Source:
    if not isinstance(item, dict):
        raise _damaged("a source is not an object")
    return Source(
        path=_text(item, "path"),
        digest=_text(item, "digest"),
        doc_id=_text(item, "doc_id"),
        chunks=_count(item, "chunks"),
    )


def _file(files: Mapping[str, object], name: str) -> FileRecord:
    record = _object(files, name)
    return FileRecord(sha256=_text(record, "sha256"), bytes=_count(record, "bytes"))


def _relative(name: str) -> str:
    """A file's name may not lead out of the data folder: the opener links and hashes what it names."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise _damaged(f"the file name {name!r} leads out of the data folder")
    return name


def _object(body: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = body.get(key)
    if not isinstance(value, dict):
        raise _damaged(f"{key} is {_said(value)}, not an object")
    return value


def _object_or_null(body: Mapping[str, object], key: str) -> Mapping[str, object] | None:
    if key not in body:
        raise _damaged(f"{key} is missing")
    return None if body[key] is None else _object(body, key)


def _list(body: Mapping[str, object], key: str) -> list[object]:
    value = body.get(key)
    if not isinstance(value, list):
        raise _damaged(f"{key} is {_said(value)}, not a list")
    return value


def _text(body: Mapping[str, object], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise _damaged(f"{key} is {_said(value)}, not text")
    return value


def _count(body: Mapping[str, object], key: str) -> int:
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _damaged(f"{key} is {_said(value)}, not a count")
    return value


def _moment(body: Mapping[str, object], key: str) -> str:
    value = _text(body, key)
    try:
        datetime.fromisoformat(value)
    except ValueError as exc:
        raise _damaged(f"{key} is {value!r}, not a time") from exc
    return value


def _said(value: object) -> str:
    return "missing" if value is None else repr(value)[:40]


def _damaged(what: str) -> IndexDamaged:
    return IndexDamaged(f"{MANIFEST_NAME}: {what}. Run: ragctl ingest PATH")
