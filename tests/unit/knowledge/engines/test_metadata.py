"""Chunk <-> Chroma metadata."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.engines.metadata import FIELDS, TEXT_FIELDS, merge_types, to_chunk, to_metadata, with_stated_date
from knowledge.model.values import Chunk

TEXT = st.text(max_size=10)
URL = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=10).map(lambda rest: f"https://{rest}")
CHUNKS = st.builds(
    Chunk,
    number=st.integers(1, 10**6),
    title=TEXT.filter(bool),
    source_urls=st.lists(URL, max_size=3).map(tuple),
    dated=st.integers(1970_00_00, 2099_12_31),
    chunk_index=st.integers(0, 99),
    chunk_count=st.integers(1, 99),
    extra=st.dictionaries(
        st.sampled_from(["year", "internal", "rate", "note"]),
        st.integers(-(2**63), 2**63 - 1)
        | st.booleans()
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXT.filter(bool),
    ),
    **dict.fromkeys({"text", *TEXT_FIELDS} - {"title"}, TEXT),
)


@given(chunk=CHUNKS)
def test_a_chunk_survives_the_way_to_chroma_and_back_and_nothing_empty_is_stored(chunk: Chunk) -> None:
    stored = to_metadata(chunk)
    assert to_chunk(stored, number=chunk.number, text=chunk.text) == chunk
    assert not [name for name, value in stored.items() if value is None or value == ""]


def make(**values: Any) -> Chunk:
    chunk = Chunk(number=1, text="t", title="T", doc_id="d", chunk_index=0, chunk_count=1)
    return replace(chunk, **values)


@pytest.mark.parametrize("name", [*FIELDS, "chunk_number"])
def test_extra_never_overwrites_a_field_of_ours(name: str) -> None:
    assert to_metadata(make(extra={name: "forged"})) == to_metadata(make())


@pytest.mark.parametrize(
    ("key", "value"),
    [("", "x"), ("$and", "x"), ("chroma:document", "x"), ("a", math.nan),
     ("a", 2**63), ("a", ["x"])],
)  # fmt: skip
def test_what_chroma_refuses_or_drops_is_left_out(key: str, value: Any) -> None:
    assert key not in to_metadata(make(extra={key: value}))


def test_urls_are_one_text_and_a_comma_in_a_url_does_not_cut_it() -> None:
    stored = to_metadata(make(source_urls=("https://a/x,y", "https://b")))
    assert stored["source_urls"] == "https://a/x%2Cy,https://b"


def test_foreign_metadata_is_coerced_to_our_types() -> None:
    metadata = {"title": 7, "doc_id": None, "source_urls": ["https://a", 5], "chunk_index": "3", "chunk_count": 4.0,
                "section": ["x"], "year": 2026, "tags": ["a"], "page": 1.5, "ok": True}  # fmt: skip

    chunk = to_chunk(metadata, number=9, text="body")

    assert (chunk.title, chunk.doc_id, chunk.section) == ("7", "", "")
    assert chunk.source_urls == ("https://a", "5")
    assert (chunk.chunk_index, chunk.chunk_count) == (3, 4)
    assert chunk.extra == {"year": 2026, "page": 1.5, "ok": True}
    bare = to_chunk({}, number=1, text="t")
    assert (bare.title, bare.chunk_index, bare.chunk_count) == ("Untitled", 0, 1)


def test_a_date_is_a_number_to_filter_by_and_read_from_what_a_foreign_chunk_has() -> None:
    assert to_metadata(make(dated=20240307))["dated"] == 20240307
    assert "dated" not in to_metadata(make())
    assert with_stated_date(to_chunk({"date": "2024-03-07"}, number=1, text="t")).dated == 20240307
    chunk = to_chunk({"dated": "soon", "path": "a/2023_plan.md"}, number=1, text="t")
    assert with_stated_date(chunk).dated == 20230000


def test_field_types_widen() -> None:
    fields: dict[str, str] = {}
    for metadata in ({"a": 1, "b": "x", "c": True, "e": 1}, {"a": 1.5, "b": 2, "c": False, "d": 2.0}, {"e": True}):
        fields = merge_types(fields, metadata)
    assert fields == {"a": "float", "b": "mixed", "c": "bool", "d": "float", "e": "mixed"}
