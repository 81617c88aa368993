"""Which addresses a crawl connects to: those of the public internet, and no others whatever a name server says."""

from ipaddress import IPv4Address, IPv6Address
from typing import Any

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.crawl.networks import GuardedBackend, PrivateAddress, ReplyDeadline, is_public

# Link-local with the addresses of clouds' metadata, loopback, private, shared, test nets, multicast, reserved.
PRIVATE_4 = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/29"),
    *("192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4"),
    "240.0.0.0/4",
]
PRIVATE_6 = [
    *("::/128", "::1/128", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "2001:db8::/32", "64:ff9b:1::/48"),
    "100::/64",
]


def inside(network: str) -> st.SearchStrategy[str]:
    return st.ip_addresses(network=network).map(str)


private_4 = st.sampled_from(PRIVATE_4).flatmap(inside)


@given(address=st.one_of(private_4, st.sampled_from(PRIVATE_6).flatmap(inside)))
def test_addresses_that_are_not_of_the_public_internet(address: str) -> None:
    assert not is_public(address)


@given(address=private_4)
def test_private_ipv4_address_inside_an_ipv6_one(address: str) -> None:
    number = int(IPv4Address(address))
    mapped, compatible = (0xFFFF << 32) | number, number
    nat64 = int(IPv6Address("64:ff9b::")) | number
    six_to_four = (0x2002 << 112) | (number << 80)
    teredo = (0x20010000 << 96) | (number ^ 0xFFFFFFFF)  # the client's address, inverted
    for carrier in (mapped, compatible, nat64, six_to_four, teredo):
        assert not is_public(str(IPv6Address(carrier)))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", ["fe80::1%eth0", "localhost", "", "1.2.3"])
def test_odd_forms_are_not_public(address: str) -> None:
    assert not is_public(address)


class Recorder(httpcore2.NetworkBackend):
    """Connects to nothing, and remembers to what."""

    def __init__(self, *, dead: frozenset[str] = frozenset()) -> None:
        self.connected: list[str] = []
        self._dead = dead

    def connect_tcp(self, host: str, port: int, *options: Any, **more: Any) -> httpcore2.NetworkStream:
        self.connected.append(host)
        if host in self._dead:
            raise httpcore2.ConnectError
        return httpcore2.NetworkStream()


def guarded(inner: Recorder, answers: list[list[str]], *, allow: frozenset[str] = frozenset()) -> GuardedBackend:
    """A backend whose name server gives ``answers``, one after the other."""
    deadline = ReplyDeadline(lambda: 0.0)
    return GuardedBackend(allow_hosts=allow, deadline=deadline, resolve=lambda host, port: answers.pop(0), inner=inner)


def test_connection_goes_to_the_address_that_was_checked() -> None:
    inner = Recorder()
    guarded(inner, [["93.184.216.34"], ["127.0.0.1"]]).connect_tcp("docs.example.com", 443)
    assert inner.connected == ["93.184.216.34"]


@pytest.mark.parametrize("second", [["169.254.169.254"], ["93.184.216.34", "169.254.169.254"]])
def test_name_that_is_private_the_second_time_is_refused_then(second: list[str]) -> None:
    inner = Recorder()
    backend = guarded(inner, [["93.184.216.34"], second])
    backend.connect_tcp("docs.example.com", 443)
    with pytest.raises(PrivateAddress, match=r"example\.com is 169\.254\.169\.254.*--allow-host docs\.example\.com"):
        backend.connect_tcp("docs.example.com", 443)
    assert inner.connected == ["93.184.216.34"]


@pytest.mark.parametrize("allowed", ["Docs.Internal", "docs.internal"])
def test_host_that_was_allowed_by_name(allowed: str) -> None:
    inner = Recorder(dead=frozenset({"10.0.0.7"}))
    backend = guarded(inner, [["10.0.0.7", "10.0.0.8"], ["10.0.0.9"]], allow=frozenset({allowed}))
    backend.connect_tcp("docs.internal", 80)
    assert inner.connected == ["10.0.0.7", "10.0.0.8"]
    with pytest.raises(PrivateAddress):
        backend.connect_tcp("other.internal", 80)
