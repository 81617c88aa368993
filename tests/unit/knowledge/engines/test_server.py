"""Chroma's server: chunks as its records, and addresses of an index on it."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.cut.units import COLUMNS
from knowledge.engines.server.address import ServerAddress, is_server
from knowledge.engines.server.records import StoredChunk, from_record, to_record, token_stores
from knowledge.model.errors import IndexMissing, SearchFailed
from knowledge.model.values import Chunk
from knowledge.search.tokens import BITS, ChunkTokens

DIMENSIONS = 64
CHUNK = Chunk(number=7, text="t", title="Permits", doc_id="d", chunk_index=0, chunk_count=1)
LIMIT = 4096
"""Bytes that Chroma Cloud takes in a value."""
EXTRA = st.dictionaries(
    st.sampled_from(["year", "late", "late_fee", "late_", "latest_0"]),
    st.integers(-(2**63), 2**63 - 1) | st.sampled_from(["a", "b", "a" * 4000, "ü" * 2001, '"ü" ' * 3000]),
)


def tokens_of(draw: Any, seed: int) -> ChunkTokens:
    """Of any sizes; the values are drawn by ``seed``."""
    rng = np.random.default_rng(seed)
    windows, pieces, order, units = (draw(st.integers(low, 120)) for low in (1, 0, 0, 0))
    return ChunkTokens(
        windows=rng.integers(0, 256, (windows, DIMENSIONS // 2), dtype=np.uint8),
        scales=rng.random(windows, dtype=np.float32),
        pieces=rng.integers(0, 1 << 16, pieces, dtype=np.uint16),
        codes=rng.integers(0, 256, (pieces, BITS // 8), dtype=np.uint8),
        order=rng.integers(0, 1 << 16, order, dtype=np.uint16),
        title_tokens=draw(st.integers(0, 65535)),
        units=rng.integers(0, 1 << 16, (units, COLUMNS), dtype=np.uint16),
    )


@st.composite
def stored(draw: Any) -> StoredChunk:
    seed = draw(st.integers(0, 2**32 - 1))
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    extra = {key: value for key, value in draw(EXTRA).items() if value != ""}
    chunk = replace(CHUNK, number=draw(st.integers(1, 10**9)), text=draw(st.text(max_size=20)), extra=extra)
    tokens = tokens_of(draw, seed) if draw(st.booleans()) else None
    return StoredChunk(chunk, vector / np.linalg.norm(vector), tokens)


@given(one=stored())
def test_a_chunk_and_its_tokens_survive_the_way_to_the_server_and_back(one: StoredChunk) -> None:
    record = to_record(one.chunk, one.vector, one.tokens)
    back = from_record(one.chunk.id, record, one.chunk.text)

    assert max(len(str(value).encode()) for value in record.values()) <= LIMIT
    assert back.chunk == one.chunk
    assert back.vector == pytest.approx(one.vector, abs=float(np.abs(one.vector).max()) / 127 / 2 + 1e-6)
    assert (back.tokens is None) == (one.tokens is None)
    if one.tokens is not None and back.tokens is not None:
        for name in (field.name for field in fields(ChunkTokens)):
            assert np.array_equal(getattr(back.tokens, name), getattr(one.tokens, name)), name


@given(one=stored(), data=st.data())
def test_a_record_that_is_not_whole_is_told(one: StoredChunk, data: Any) -> None:
    record = to_record(one.chunk, one.vector, one.tokens)
    pieces = sorted(key for key in record if key.removeprefix("late_").isdecimal())
    piece = data.draw(st.sampled_from(pieces))
    held = str(record[piece])
    changes = [{piece: held[: len(held) // 8 * 4]}, {piece: held + "AAAA"}, {piece: "not base64!"},
               {f"late_{len(pieces)}": "AAAA"}]  # fmt: skip
    without: dict[str, Any] = {key: value for key, value in record.items() if key != piece}
    damaged = data.draw(st.sampled_from([without, *({**record, **change} for change in changes)]))
    with pytest.raises(SearchFailed, match=rf"'{one.chunk.id}' on Chroma's server is not whole.*ragctl ingest PATH"):
        from_record(one.chunk.id, damaged, one.chunk.text)


@pytest.mark.parametrize("piece", ["late_text_0", "late_text_1"])
def test_a_long_field_that_is_not_whole_is_told(piece: str) -> None:
    chunk = replace(CHUNK, section="long " * 900, extra={"note": "é" * 900})
    record = to_record(chunk, np.ones(DIMENSIONS, dtype=np.float32), None)
    assert {"note", "late_text_0", "late_text_1"} <= record.keys()
    assert "section" not in record
    del record[piece]
    with pytest.raises(SearchFailed, match="'id_7' on Chroma's server is not whole"):
        from_record("id_7", record, "t")


@pytest.mark.parametrize("metadata", [None, {}, {"title": "Somebody else's"}, {"late_x": "AAAA"}, {"late_1": "AAAA"}])
def test_a_record_of_somebody_else_is_told(metadata: dict[str, object] | None) -> None:
    for record_id in ("id_7", "another"):
        with pytest.raises(SearchFailed, match="is not whole"):
            from_record(record_id, metadata, "text")


def test_a_chunk_without_tokens_cannot_be_compared() -> None:
    one = StoredChunk(CHUNK, np.full(DIMENSIONS, 0.125, dtype=np.float32), None)
    with pytest.raises(SearchFailed, match="no token vectors"):
        token_stores([one], DIMENSIONS)
    assert token_stores([], DIMENSIONS).rows.tolist() == []


# Addresses


NAMES = st.text(min_size=1, max_size=12)
HOSTS = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z]{2,5})?", fullmatch=True) | st.sampled_from(["::1", "10.0.0.7"])


@given(
    address=st.builds(
        ServerAddress,
        host=HOSTS,
        port=st.integers(1, 65535),
        tls=st.booleans(),
        tenant=NAMES,
        database=NAMES,
        version=st.just("") | st.from_regex(r"[0-9a-f]{12}", fullmatch=True),
    )
)
def test_an_address_is_read_as_it_is_written(address: ServerAddress) -> None:
    assert ServerAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("chroma://localhost/t/d", ServerAddress("localhost", 8000, False, "t", "d")),
        ("chroma://10.0.0.7:9000/t/d/", ServerAddress("10.0.0.7", 9000, False, "t", "d")),
        ("https://api.trychroma.com/a%20b/d", ServerAddress("api.trychroma.com", 443, True, "a b", "d")),
        ("chroma://h/t/d?version=0123456789ab", ServerAddress("h", 8000, False, "t", "d", "0123456789ab")),
    ],
)
def test_addresses_that_are_accepted(uri: str, address: ServerAddress) -> None:
    assert ServerAddress.parse(uri) == address


@pytest.mark.parametrize(
    "uri",
    [
        "http://host/t/d",
        "chroma://host/t",
        "chroma://host/t/d/e",
        "chroma:///t/d",
        "chroma://host:70000/t/d",
        "chroma://host:0/t/d",
        "chroma://host/t/d#part",
        "chroma://host/t/d?version=0123456789AB",
        "chroma://host/t/d?other=1",
        "chroma://host/t/d?version",
    ],
)
def test_addresses_that_are_refused(uri: str) -> None:
    with pytest.raises(IndexMissing, match=r"cannot be used: write chroma://HOST:PORT/TENANT/DATABASE"):
        ServerAddress.parse(uri)


@pytest.mark.parametrize("uri", ["chroma://user:s3cret@host/t/d", "https://s3cret@host/t/d", "http://:s3cret@host"])
def test_a_password_is_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(IndexMissing) as caught:
        ServerAddress.parse(uri)
    assert "s3cret" not in str(caught.value)


def test_a_folder_is_no_server_and_a_place_can_be_pinned_to_a_version() -> None:
    servers = ["chroma://h/t/d", "https://h/t/d"]
    assert [uri for uri in (*servers, "file:///a", "/a", "chroma", None) if is_server(uri)] == servers
    pinned = ServerAddress.parse("https://h/t/d").at_version("0123456789ab")
    assert str(pinned) == "https://h:443/t/d?version=0123456789ab"
