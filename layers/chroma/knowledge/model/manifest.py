"""The manifest of an index: what is in it, how it was made, and the checksum of every file and of itself.

``manifest.json`` is also the switch: it names the data folder in use and is replaced in one step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from knowledge.model import strict
from knowledge.model.errors import IndexDamaged, IndexMismatch
from knowledge.model.strict import Object, WrongValue

MANIFEST_NAME = "manifest.json"
FORMAT = 4
"""Raise it when anything changes that an index stores or that is measured on it: how documents are cut, the text that
is embedded, terms, arrays, signals and their weights (those of the service's confidence too), background questions. An
index of another format is refused, and the next ingest builds it anew."""
SPACE = "cosine"
RECIPE, SEED_RECIPE = 1, 2
"""Ways to cut documents: by ``knowledge.cut.chunking``, or as Clockify's seed does (``knowledge.cut.seed``)."""
DATA_NAME = re.compile(r"data-[0-9a-z]+")
"""The name of a data folder."""

_CHECKSUM = "checksum"
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
class Provenance:
    """What an index was made for and of; nothing that it holds depends on it.

    ``profile`` is "" when nobody said. ``paths`` and ``options`` are those of the last ingest; an option's value is a
    scalar or a list of them, as JSON has it. ``tables`` are the texts of its owner's acronyms and filter rules by name
    (``acronyms.json``). ``title`` is what the documents' site is called, as they say.
    """

    profile: str = ""
    title: str = ""
    base_url: str = ""
    paths: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)


UNKNOWN = Provenance()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an index holds.

    ``version`` is a hash of the content and of what its owner's labels gave (equal ones, equal version, whenever it was
    built). ``built_at`` is ISO 8601 in UTC. ``data`` is the folder beside the manifest that ``files`` are relative to.
    ``recipe`` is the way in which documents were cut. ``documents`` counts those that gave chunks.
    ``next_number`` is the first chunk number never used. ``fields`` gives each metadata field's type.
    ``updated`` counts the chunks that were changed since the index was made anew (``knowledge.build.update``).
    ``lexical`` is the record of BM25. ``tokens`` (token vectors) and ``calibration`` are None where a remote model
    embedded the chunks.
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
    lexical: Mapping[str, object] = field(default_factory=dict)
    tokens: Mapping[str, object] | None = None
    calibration: Mapping[str, object] | None = None
    made: Provenance = UNKNOWN
    updated: int = 0


def dumps(manifest: Manifest) -> str:
    """The manifest as the text of ``manifest.json``, with the checksum of all that it says."""
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
    return json.dumps({**body, _CHECKSUM: strict.checksum(body)}, indent=1) + "\n"


def loads(text: str | bytes) -> Manifest:
    """Read ``manifest.json``'s text.

    Raises:
        IndexDamaged: it is truncated or altered, or a value is missing or of the wrong kind.
        IndexMismatch: it is of another format than this program reads.
    """
    try:
        body = strict.parse(text)
        if "format" not in body:
            raise WrongValue("format is missing")
        number = body["format"]
        if type(number) is not int or number != FORMAT:
            raise IndexMismatch(
                f"The index has format {number!r}, this program reads {FORMAT}. Run: ragctl ingest PATH"
            )
        if strict.text(body, _CHECKSUM) != strict.checksum({key: body[key] for key in body if key != _CHECKSUM}):
            raise WrongValue("it was altered: its checksum is of another content")
        return _manifest(body)
    except WrongValue as exc:
        raise IndexDamaged(f"{MANIFEST_NAME}: {exc}. Run: ragctl ingest PATH") from exc


def _manifest(body: Object) -> Manifest:
    embedding, chunking, counts = (strict.an_object(body, key) for key in ("embedding", "chunking", "counts"))
    fields = {name: strict.text(strict.an_object(body, "fields"), name) for name in strict.an_object(body, "fields")}
    if unknown := set(fields.values()) - _FIELD_TYPES:
        raise WrongValue(f"fields has the unknown type {sorted(unknown)[0]!r}")
    data = strict.text(body, "data")
    if not DATA_NAME.fullmatch(data):
        raise WrongValue(f"data is {data!r}, not the name of a data folder")
    files = strict.an_object(body, "files")
    return Manifest(
        version=strict.text(body, "version"),
        built_at=strict.moment(body, "built_at"),
        data=data,
        collection=strict.text(body, "collection"),
        model=strict.text(embedding, "model"),
        dimensions=strict.count(embedding, "dimensions"),
        space=strict.text(embedding, "space"),
        max_chars=strict.count(chunking, "max_chars"),
        overlap=strict.count(chunking, "overlap"),
        recipe=strict.count(chunking, "recipe"),
        documents=strict.count(counts, "documents"),
        chunks=strict.count(counts, "chunks"),
        next_number=strict.count(body, "next_number"),
        fields=fields,
        sources=tuple(_source(item) for item in strict.objects(body, "sources")),
        files={_relative(name): _file(strict.an_object(files, name)) for name in files},
        lexical=strict.an_object(body, "lexical"),
        tokens=strict.object_or_null(body, "tokens"),
        calibration=strict.object_or_null(body, "calibration"),
        made=_made(strict.an_object(body, "made")),
        updated=strict.count(counts, "updated"),
    )


def _made(made: Object) -> Provenance:
    tables = strict.an_object(made, "tables")
    return Provenance(
        profile=strict.text(made, "profile"),
        title=strict.text(made, "title"),
        base_url=strict.text(made, "base_url"),
        paths=strict.texts(made, "paths"),
        options=strict.an_object(made, "options"),
        tables={name: strict.text(tables, name) for name in tables},
    )


def _source(item: Object) -> Source:
    return Source(
        path=strict.text(item, "path"),
        digest=strict.text(item, "digest"),
        doc_id=strict.text(item, "doc_id"),
        chunks=strict.count(item, "chunks"),
    )


def _file(record: Object) -> FileRecord:
    return FileRecord(sha256=strict.text(record, "sha256"), bytes=strict.count(record, "bytes"))


def _relative(name: str) -> str:
    """A file's name may not lead out of the data folder: the opener links and hashes what it names."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise WrongValue(f"the file name {name!r} leads out of the data folder")
    return name
