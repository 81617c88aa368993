"""A manifest as somebody may have made it: with the right checksum, whatever it says; and the harm it may come to."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import reduce
from operator import getitem, setitem
from pathlib import Path
from typing import Any

from knowledge.model.manifest import MANIFEST_NAME, FileRecord, Manifest, Provenance, SourceRecord, checksum

MANIFEST = Manifest(
    version="0123456789ab", built_at="2026-11-20T09:00:00+00:00", data="data-00ff", collection="waypoint_kb",
    model="all-MiniLM-L6-v2", dimensions=384, max_chars=1600, overlap=200, recipe=1, documents=1, chunks=2,
    next_number=7, fields={"title": "str", "year": "int"},
    sources=(
        SourceRecord(path="a/café.md", digest="d1", doc_id="a", chunks=2),
        SourceRecord(path="b.md", digest="d2", doc_id="b", chunks=0),
    ),
    files={"chroma/chroma.sqlite3": FileRecord(sha256="ab" * 32, bytes=10)},
    lexical={"rows": 2},
    made=Provenance(profile="clockify", base_url="https://example.org/", paths=("docs",), options={"exclude": ["*.t"]}),
)  # fmt: skip

TRUNCATED_EVERY_BYTES = 50
BRACKETS = 100_000

OTHER_VALUES: tuple[Any, ...] = (None, True, "", "x", -1, 0, 3, 2.5, [], [[]], {}, {"x": 1})
"""What may stand in the place of a value; the one that it is already is left out."""

FLIPS: dict[str, Callable[[dict[str, Any]], object]] = {
    "fewer chunks": lambda body: body["counts"].update(chunks=body["counts"]["chunks"] - 1),
    "more documents": lambda body: body["counts"].update(documents=body["counts"]["documents"] + 1),
    "another version": lambda body: body.update(version=body["version"][::-1] + "0"),
    "another time": lambda body: body.update(built_at="2001-01-01T00:00:00+00:00"),
    "another data folder": lambda body: body.update(data="data-000000000000"),
    "a number used twice": lambda body: body.update(next_number=1),
    "another type of field": lambda body: body["fields"].update(title="int"),
    "a field more": lambda body: body["fields"].update(more="str"),
    "another bar": lambda body: (body["calibration"] or body["lexical"]).update(bar=-1000.0),
    "a source's chunks": lambda body: body["sources"][0].update(chunks=7),
    "a source's digest": lambda body: body["sources"][0].update(digest="0" * 64),
    "a source less": lambda body: body["sources"].pop(),
    "sources in another order": lambda body: body["sources"].reverse(),
    "a file less": lambda body: body["files"].popitem(),
    "another chunk size": lambda body: body["chunking"].update(max_chars=body["chunking"]["max_chars"] + 1),
    "another profile": lambda body: body.setdefault("made", {}).update(profile="nobody"),
    "another BM25": lambda body: body["lexical"].update({next(iter(body["lexical"])): 5}),
}


def read_body(folder: Path) -> dict[str, Any]:
    """What the manifest in ``folder`` says."""
    body: dict[str, Any] = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    return body


def signed(body: dict[str, Any]) -> str:
    """``body`` as a manifest's text, with the checksum that belongs to it."""
    bare = {key: value for key, value in body.items() if key != "checksum"}
    return json.dumps({**bare, "checksum": checksum(bare)})


def write_body(folder: Path, body: dict[str, Any]) -> None:
    """Put ``body`` into the manifest in ``folder``, with its checksum."""
    (folder / MANIFEST_NAME).write_text(signed(body), encoding="utf-8")


def damages(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Each harm done to ``text``, which is a whole manifest of at least two sources."""
    body = json.loads(text)
    yield "empty", b""
    for length in range(TRUNCATED_EVERY_BYTES, len(text.rstrip()), TRUNCATED_EVERY_BYTES):
        yield f"truncated to {length} bytes", text[:length]
    yield from _of_bytes(text)
    for path in _keys(body):
        name = ".".join(map(str, path))
        yield f"{name} removed", _dumped(_changed(body, path, dict.pop))
        yield f"{name} renamed", _dumped(_changed(body, path, lambda at, key: setitem(at, f"{key}_", at.pop(key))))
        there = _at(body, path)
        for value in OTHER_VALUES:
            if (type(value), value) != (type(there), there):
                yield f"{name} is {value!r}", _dumped(_changed(body, path, _setter(value)))
    for name, flip in FLIPS.items():
        flipped = copy.deepcopy(body)
        flip(flipped)
        yield name, _dumped(flipped)


def _of_bytes(text: bytes) -> Iterator[tuple[str, bytes]]:
    inside = text.rstrip()[:-1]  # without the last bracket
    yield "BOM", b"\xef\xbb\xbf" + text
    yield "UTF-16", text.decode().encode("utf-16")
    yield "invalid UTF-8", text.replace(b'"collection": "', b'"collection": "\xff', 1)
    yield "zeros", b"\0" * len(text)
    yield "a list", b"[" + text + b"]"
    yield "twice", text + text
    yield "a key twice", inside + b',"next_number": 1}'
    yield "a version twice", text.replace(b'"version"', b'"version": "x", "version"', 1)
    yield "nested deeply", b"[" * BRACKETS
    yield "a value nested deeply", inside + b',"more": ' + b"[" * BRACKETS + b"]" * BRACKETS + b"}"
    yield "a value nested a little", inside + b',"more": ' + b"[" * 900 + b"]" * 900 + b"}"
    for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 30, b"9" * 5000, b"-0.0"):
        yield f"next_number is {number[:12].decode()}", _number(text, number)


def _number(text: bytes, number: bytes) -> bytes:
    head, _, tail = text.partition(b'"next_number": ')
    return head + b'"next_number": ' + number + tail[tail.index(b",") :]


def _keys(body: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """The place of every value in ``body``; of a list's items the first counts."""
    items = body.items() if isinstance(body, dict) else list(enumerate(body))[:1] if isinstance(body, list) else ()
    for key, value in items:
        if isinstance(key, str):
            yield (*path, key)
        yield from _keys(value, *path, key)


def _at(body: Any, path: tuple[str | int, ...]) -> Any:
    return reduce(getitem, path, body)


def _changed(body: Any, path: tuple[str | int, ...], change: Callable[[Any, Any], object]) -> Any:
    changed = copy.deepcopy(body)
    change(_at(changed, path[:-1]), path[-1])
    return changed


def _setter(value: Any) -> Callable[[Any, Any], object]:
    return lambda holder, key: setitem(holder, key, value)


def _dumped(body: object) -> bytes:
    return (json.dumps(body, indent=1) + "\n").encode()
