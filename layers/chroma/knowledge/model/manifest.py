"""The manifest of an index: its content, its settings, and the checksum of every file and of itself.

``manifest.json`` is also the switch: it names the data folder in use and is replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from knowledge.model.errors import IndexDamaged, IndexMismatch

MANIFEST_NAME = "manifest.json"
FORMAT = 5
"""Raise it with every change of what an index stores or of what is measured on it: chunking, embedded text, terms,
arrays, signals and their weights (those of the service's confidence too), background questions. An index of another
format is refused, and the next ingest builds it anew."""
SPACE = "cosine"
RECIPE, SEED_RECIPE = 1, 2
"""Ways to cut documents: ``split_text`` and ``split_seed`` of ``knowledge.cut.chunking``."""
DATA_NAME = re.compile(r"data-[0-9a-z]+")
"""The name of a data folder."""

_CHECKSUM = "checksum"
_SECTIONS = {
    **dict.fromkeys(("model", "dimensions", "space"), "embedding"),
    **dict.fromkeys(("max_chars", "overlap", "recipe"), "chunking"),
    **dict.fromkeys(("documents", "chunks", "updated"), "counts"),
}
"""The JSON objects that hold fields of a manifest; the other fields stand beside them."""


class WrongValue(ValueError):
    """A JSON value that the manifest may not have; the message describes it."""


def _check_time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError as exc:
        raise WrongValue(f"{text!r} is not a time") from exc
    return text


def _check_data(name: str) -> str:
    if not DATA_NAME.fullmatch(name):
        raise WrongValue(f"{name!r} is not the name of a data folder")
    return name


def _check_path(name: str) -> str:
    path = PurePosixPath(name)  # the opener links and hashes the file: it must be in the data folder
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise WrongValue(f"the file name {name!r} leads out of the data folder")
    return name


type Count = Annotated[int, Field(strict=True, ge=0)]
type FieldType = Annotated[str, Field(pattern="^(str|int|float|bool|mixed)$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """One document of the index: ``digest`` is ``Document.digest``, ``chunks`` may be 0 (it held no text)."""

    path: str
    digest: str
    doc_id: str
    chunks: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """The expected sha256 (hex) and size of a data file."""

    sha256: str
    bytes: Count


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
    built_at: Annotated[str, AfterValidator(_check_time)]
    data: Annotated[str, AfterValidator(_check_data)]
    collection: str
    model: str
    dimensions: Count
    space: str = SPACE
    max_chars: Count
    overlap: Count
    recipe: Count
    documents: Count
    chunks: Count
    next_number: Count
    fields: Mapping[str, FieldType]
    sources: tuple[SourceRecord, ...]
    files: Mapping[Annotated[str, AfterValidator(_check_path)], FileRecord]
    lexical: Mapping[str, object] = field(default_factory=dict)
    tokens: Mapping[str, object] | None = None
    calibration: Mapping[str, object] | None = None
    made: Provenance = NO_PROVENANCE
    updated: Count = 0


_VALIDATOR = TypeAdapter(Manifest)


def dumps(manifest: Manifest) -> str:
    """Return the text of ``manifest.json``, with its own checksum."""
    body: dict[str, Any] = {"format": FORMAT}
    for name, value in asdict(manifest).items():
        section = body.setdefault(_SECTIONS[name], {}) if name in _SECTIONS else body
        section[name] = value
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
        if body.get(_CHECKSUM) != checksum({key: body[key] for key in body if key != _CHECKSUM}):
            raise WrongValue("it was altered: its checksum is of another content")
        return _manifest(body)
    except WrongValue as exc:
        raise IndexDamaged(f"{MANIFEST_NAME}: {exc}. Run: ragctl ingest PATH") from exc


def checksum(body: Mapping[str, object]) -> str:
    """Return the sha256 (hex) of ``body`` in a canonical form: keys sorted, no spaces.

    Raises:
        WrongValue: a number is not finite.
    """
    try:
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as exc:
        raise WrongValue("a value is out of range") from exc
    return hashlib.sha256(canonical.encode()).hexdigest()


def _parse_object(text: str | bytes) -> Mapping[str, object]:
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


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise WrongValue("a key stands there twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise WrongValue(f"{constant} is no number")


def _manifest(body: Mapping[str, object]) -> Manifest:
    values: dict[str, object] = {}
    for name in (one.name for one in fields(Manifest)):
        section = body.get(_SECTIONS[name]) if name in _SECTIONS else body
        values[name] = _value(section, name)
    for name in (one.name for one in fields(Provenance)):
        _value(values["made"], name)
    try:
        return _VALIDATOR.validate_python(values)
    except ValidationError as exc:
        wrong = exc.errors(include_url=False)[0]
        raise WrongValue(f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from exc


def _value(section: object, name: str) -> object:
    if not isinstance(section, dict) or name not in section:
        raise WrongValue(f"{name} is missing")
    return section[name]
