"""The manifest of an index: its content, its settings, and the checksum of every file and of itself.

``manifest.json`` is also the switch: it names the data folder in use and is replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, NoReturn

from knowledge.model.errors import IndexDamaged, IndexMismatch

type Object = Mapping[str, object]


class WrongValue(ValueError):
    """A JSON value that the manifest may not have; the message describes it."""


def _parse_object(text: str | bytes) -> Object:
    """Parse ``text``, one JSON object in UTF-8 without a byte order mark.

    Raises:
        WrongValue: it is not such an object.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode()  # json would take UTF-16, UTF-32 and a BOM too
        body = json.loads(decoded, object_pairs_hook=_unique_keys, parse_constant=_refuse)
    except WrongValue:
        raise
    except (ValueError, RecursionError) as exc:
        raise WrongValue("it is not complete JSON") from exc
    if not isinstance(body, dict):
        raise WrongValue("it is not a JSON object")
    return body


def checksum(body: Object) -> str:
    """Return the sha256 (hex) of ``body`` in a canonical form: keys sorted, no spaces.

    Raises:
        WrongValue: a number is not finite.
    """
    try:
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as exc:
        raise WrongValue("a value is out of range") from exc
    return hashlib.sha256(canonical.encode()).hexdigest()


def _value[T](body: Object, key: str, kind: type[T], noun: str) -> T:
    """Return the value at ``key``, which is of this ``kind``."""
    value = body.get(key)
    if not isinstance(value, kind):
        raise WrongValue(f"{key} is {_describe(value)}, not {noun}")
    return value


def _object(body: Object, key: str) -> Object:
    return _value(body, key, dict, "an object")


def _object_or_null(body: Object, key: str) -> Object | None:
    """Return the object at ``key``, which may be null but not missing."""
    if key not in body:
        raise WrongValue(f"{key} is missing")
    return None if body[key] is None else _object(body, key)


def _list[T](body: Object, key: str, kind: type[T], noun: str) -> list[T]:
    """Return the list at ``key``, whose items are of this ``kind``."""
    found: list[T] = _value(body, key, list, "a list")
    if not all(isinstance(item, kind) for item in found):
        raise WrongValue(f"an item of {key} is not {noun}")
    return found


def _text(body: Object, key: str) -> str:
    return _value(body, key, str, "text")


def _count(body: Object, key: str) -> int:
    """Return the whole number >= 0 at ``key``."""
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise WrongValue(f"{key} is {_describe(value)}, not a count")
    return value


def _time(body: Object, key: str) -> str:
    """Return the time at ``key``, ISO 8601."""
    value = _text(body, key)
    try:
        datetime.fromisoformat(value)
    except ValueError as exc:
        raise WrongValue(f"{key} is {value!r}, not a time") from exc
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise WrongValue("a key stands there twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise WrongValue(f"{constant} is no number")


def _describe(value: object) -> str:
    return "missing" if value is None else repr(value)[:40]


MANIFEST_NAME = "manifest.json"
FORMAT = 4
"""Raise it with every change of what an index stores or of what is measured on it: chunking, embedded text, terms,
arrays, signals and their weights (those of the service's confidence too), background questions. An index of another
format is refused, and the next ingest builds it anew."""
SPACE = "cosine"
RECIPE, SEED_RECIPE = 1, 2
"""Ways to cut documents: ``split_text`` and ``split_seed`` of ``knowledge.cut.chunking``."""
DATA_NAME = re.compile(r"data-[0-9a-z]+")
"""The name of a data folder."""

_CHECKSUM = "checksum"
_FIELD_TYPES = frozenset({"str", "int", "float", "bool", "mixed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """One document of the index: ``digest`` is ``Document.digest``, ``chunks`` may be 0 (it held no text)."""

    path: str
    digest: str
    doc_id: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """The expected sha256 (hex) and size of a data file."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The purpose and the sources of an index; its content does not depend on them.

    ``profile`` is "" if none was given. ``paths`` and ``options`` are those of the last ingest; an option's value is a
    scalar or a list of them, as JSON has it. ``tables`` are the texts of its owner's acronyms and filter rules by name
    (``acronyms.json``). ``title`` is the name of the documents' site, as they give it.
    """

    profile: str = ""
    title: str = ""
    base_url: str = ""
    paths: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)


NO_PROVENANCE = Provenance()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content and the settings of an index.

    ``version`` is a hash of the content and of the calibration by its owner's labels, not of the time. ``built_at`` is
    ISO 8601 in UTC. ``data`` is the folder beside the manifest that ``files`` are relative to. ``recipe`` is the way in
    which documents were cut. ``documents`` counts those that gave chunks. ``next_number`` is the first chunk number
    never used. ``fields`` gives each metadata field's type. ``updated`` counts the chunks that were changed since the
    index was made anew. ``lexical`` is the record of BM25. ``tokens`` (token vectors) and ``calibration`` are None if a
    remote model embedded the chunks.
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
    sources: tuple[SourceRecord, ...]
    files: Mapping[str, FileRecord]
    lexical: Mapping[str, object] = field(default_factory=dict)
    tokens: Mapping[str, object] | None = None
    calibration: Mapping[str, object] | None = None
    made: Provenance = NO_PROVENANCE
    updated: int = 0


def dumps(manifest: Manifest) -> str:
    """Return the text of ``manifest.json``, with its own checksum."""
    m = manifest
    body = {
        "format": FORMAT,
        "version": m.version,
        "built_at": m.built_at,
        "data": m.data,
        "collection": m.collection,
        "made": {
            "profile": m.made.profile,
            "title": m.made.title,
            "base_url": m.made.base_url,
            "paths": m.made.paths,
            "options": dict(m.made.options),
            "tables": dict(m.made.tables),
        },
        "embedding": {"model": m.model, "dimensions": m.dimensions, "space": m.space},
        "chunking": {"max_chars": m.max_chars, "overlap": m.overlap, "recipe": m.recipe},
        "counts": {"documents": m.documents, "chunks": m.chunks, "updated": m.updated},
        "next_number": m.next_number,
        "fields": dict(sorted(m.fields.items())),
        "lexical": m.lexical,
        "tokens": m.tokens,
        "calibration": m.calibration,
        "files": {name: {"sha256": f.sha256, "bytes": f.bytes} for name, f in sorted(m.files.items())},
        "sources": [{"path": s.path, "digest": s.digest, "doc_id": s.doc_id, "chunks": s.chunks} for s in m.sources],
    }
    return json.dumps({**body, _CHECKSUM: checksum(body)}, indent=1) + "\n"


def loads(text: str | bytes) -> Manifest:
    """Parse the text of ``manifest.json``.

    Raises:
        IndexDamaged: it is truncated or altered, or a value is missing or of the wrong kind.
        IndexMismatch: it is of another format than this program reads.
    """
    try:
        body = _parse_object(text)
        if "format" not in body:
            raise WrongValue("format is missing")
        number = body["format"]
        if type(number) is not int or number != FORMAT:
            raise IndexMismatch(
                f"The index has format {number!r}, this program reads {FORMAT}. Run: ragctl ingest PATH"
            )
        if _text(body, _CHECKSUM) != checksum({key: body[key] for key in body if key != _CHECKSUM}):
            raise WrongValue("it was altered: its checksum is of another content")
        return _manifest(body)
    except WrongValue as exc:
        raise IndexDamaged(f"{MANIFEST_NAME}: {exc}. Run: ragctl ingest PATH") from exc


def _manifest(body: Object) -> Manifest:
    embedding, chunking, counts = (_object(body, key) for key in ("embedding", "chunking", "counts"))
    fields = {name: _text(_object(body, "fields"), name) for name in _object(body, "fields")}
    if unknown := set(fields.values()) - _FIELD_TYPES:
        raise WrongValue(f"fields has the unknown type {sorted(unknown)[0]!r}")
    data = _text(body, "data")
    if not DATA_NAME.fullmatch(data):
        raise WrongValue(f"data is {data!r}, not the name of a data folder")
    files = _object(body, "files")
    return Manifest(
        version=_text(body, "version"),
        built_at=_time(body, "built_at"),
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
        sources=tuple(_source(item) for item in _list(body, "sources", dict, "an object")),
        files={_relative(name): _file(_object(files, name)) for name in files},
        lexical=_object(body, "lexical"),
        tokens=_object_or_null(body, "tokens"),
        calibration=_object_or_null(body, "calibration"),
        made=_provenance(_object(body, "made")),
        updated=_count(counts, "updated"),
    )


def _provenance(made: Object) -> Provenance:
    tables = _object(made, "tables")
    return Provenance(
        profile=_text(made, "profile"),
        title=_text(made, "title"),
        base_url=_text(made, "base_url"),
        paths=tuple(_list(made, "paths", str, "text")),
        options=_object(made, "options"),
        tables={name: _text(tables, name) for name in tables},
    )


def _source(item: Object) -> SourceRecord:
    return SourceRecord(
        path=_text(item, "path"),
        digest=_text(item, "digest"),
        doc_id=_text(item, "doc_id"),
        chunks=_count(item, "chunks"),
    )


def _file(record: Object) -> FileRecord:
    return FileRecord(sha256=_text(record, "sha256"), bytes=_count(record, "bytes"))


def _relative(name: str) -> str:
    path = PurePosixPath(name)  # the opener links and hashes the file: it must be in the data folder
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise WrongValue(f"the file name {name!r} leads out of the data folder")
    return name
