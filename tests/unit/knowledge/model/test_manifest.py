"""The manifest: what is written is read back, and nothing doubtful is accepted."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifests import MANIFEST, damages, signed

from knowledge.model.errors import IndexDamaged, IndexMismatch
from knowledge.model.manifest import FORMAT, Manifest, SourceRecord, dumps, loads

TEXT = st.text(max_size=20)
COUNT = st.integers(0, 2**53)


MANIFESTS = st.builds(
    replace,
    st.just(MANIFEST),
    model=TEXT,
    **dict.fromkeys(("documents", "chunks", "next_number"), COUNT),
    sources=st.lists(st.builds(SourceRecord, path=TEXT, digest=TEXT, doc_id=TEXT, chunks=COUNT)).map(tuple),
    fields=st.dictionaries(TEXT, st.sampled_from(["str", "int", "float", "bool", "mixed"])),
    lexical=st.dictionaries(TEXT, COUNT | TEXT),
)


@given(manifest=MANIFESTS)
def test_every_manifest_is_read_back_as_it_was_written(manifest: Manifest) -> None:
    assert loads(dumps(manifest).encode()) == manifest


def test_every_damage_is_found() -> None:
    found = 0
    for name, text in damages(dumps(MANIFEST).encode()):
        with pytest.raises((IndexDamaged, IndexMismatch), match="Run: ragctl ingest PATH"):
            pytest.fail(f"{name} opens: {loads(text)}")
        found += 1
    assert found > 500


def test_another_order_of_keys_and_other_spaces_are_no_damage() -> None:
    assert loads(json.dumps(dict(reversed(json.loads(dumps(MANIFEST)).items())))) == MANIFEST


def test_every_truncation_is_damage() -> None:
    text = dumps(MANIFEST).rstrip()
    for length in range(len(text)):
        with pytest.raises(IndexDamaged, match="ragctl ingest"):
            loads(text[:length])


def every_key(body: dict[str, Any], *path: str) -> Iterator[tuple[str, ...]]:
    free = {"fields", "files", "lexical", "calibration", "options"}  # any key is allowed below these
    for key, value in body.items():
        yield (*path, key)
        if isinstance(value, dict) and key not in free:
            yield from every_key(value, *path, key)


@pytest.mark.parametrize("value", ["absent", [[]], True])
def test_a_missing_or_wrong_value_is_damage(value: object) -> None:
    for path in every_key(json.loads(dumps(MANIFEST))):
        body = json.loads(dumps(MANIFEST))
        holder = body
        for key in path[:-1]:
            holder = holder[key]
        if value == "absent":
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
        another_format = path == ("format",) and value != "absent"
        with pytest.raises(IndexMismatch if another_format else IndexDamaged):
            loads(json.dumps(body) if path == ("checksum",) else signed(body))


@pytest.mark.parametrize("version", [0, FORMAT - 1, FORMAT + 1, float(FORMAT), True, str(FORMAT), None])
def test_another_format_is_a_mismatch_that_says_what_to_do(version: object) -> None:
    body = json.loads(dumps(MANIFEST)) | {"format": version}
    with pytest.raises(IndexMismatch, match=rf"reads {FORMAT}\. Run: ragctl ingest PATH"):
        loads(json.dumps(body))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        *((name, "data-00ff", "leads out") for name in ("../secret", "/etc/passwd", "chroma/../../x", "")),
        *(("chroma/x", data, "data folder") for data in ("..", "data-../x", "/tmp", "data-", "DATA-1")),
    ],
)
def test_a_file_or_a_data_folder_elsewhere_is_refused(name: str, data: str, said: str) -> None:
    body = json.loads(dumps(MANIFEST)) | {"data": data, "files": {name: {"sha256": "00", "bytes": 1}}}
    with pytest.raises(IndexDamaged, match=said):
        loads(signed(body))


@pytest.mark.parametrize("text", ["", "[]", "null", '"x"', "\xff"])
def test_what_is_no_object_is_damage(text: str) -> None:
    with pytest.raises(IndexDamaged):
        loads(text.encode("latin-1"))
