"""Addresses of an index on Chroma's server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.engines.server.address import ServerAddress, is_server
from knowledge.model.errors import IndexMissing

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
        ("chroma://[::1]:9000/t/d", ServerAddress("::1", 9000, False, "t", "d")),
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
        "chroma://host",
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


def test_a_folder_is_no_server() -> None:
    assert [is_server(uri) for uri in ("chroma://h/t/d", "https://h/t/d", "file:///a", "/a", "chroma", None)] == [
        True, True, False, False, False, False,
    ]  # fmt: skip


def test_a_place_can_be_pinned_to_a_version() -> None:
    address = ServerAddress.parse("https://h/t/d")
    assert str(address.pinned("0123456789ab")) == "https://h:443/t/d?version=0123456789ab"
