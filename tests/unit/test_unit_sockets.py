"""The guard of tests/unit/conftest.py itself."""

import socket

import pytest
from pytest_socket import SocketBlockedError


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_unit_test_can_neither_open_a_network_socket_nor_resolve_a_name(family: socket.AddressFamily) -> None:
    with pytest.raises(SocketBlockedError), pytest.warns(UserWarning, match="socket"):
        socket.socket(family)
    with pytest.raises(SocketBlockedError), pytest.warns(UserWarning, match="getaddrinfo"):
        socket.getaddrinfo("localhost", 80, family)
