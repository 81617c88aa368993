"""The tests of ``documents`` meet no other machine than this one."""

import pytest
from pytest_socket import socket_allow_hosts


@pytest.fixture(autouse=True)
def _this_machine_only() -> None:
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)  # the plugin takes it back after the test
