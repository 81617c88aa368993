"""The guard of tests/unit/conftest.py itself."""

import socket

import pytest
from pytest_socket import SocketBlockedError


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_unit_test_cannot_open_a_network_socket(family: socket.AddressFamily) -> None:
    with pytest.raises(SocketBlockedError), pytest.warns(UserWarning, match="socket"):
        socket.socket(family)


def test_a_unit_test_cannot_resolve_a_name() -> None:
    with pytest.raises(SocketBlockedError), pytest.warns(UserWarning, match="getaddrinfo"):
        socket.getaddrinfo("localhost", 80)
