"""Unit tests run without the network: a socket of any kind but a Unix one fails the test that asks for it."""

from collections.abc import Generator, Iterator

import pytest
from pytest_socket import SocketBlockedError, disable_socket, enable_socket


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    # Event loops talk to themselves over Unix sockets.
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    try:
        return (yield)
    except SocketBlockedError as exc:
        pytest.fail(f"{item.name} opened a socket ({exc}). Unit tests use no network: move it to tests/integration")
