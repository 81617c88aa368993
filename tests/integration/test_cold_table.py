"""One table for many environments: what a first question costs, whom the client trusts, and clocks that differ.

The cost is counted, not timed: bundles parsed and connections opened.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fakes import FakeClock
from fakes_dynamodb import empty_table, prompt
from moto import mock_aws
from store_contract import KEY, SESSION, START, make_answer, make_turn

from rag.adapters.dynamodb.cache import DynamoDbAnswerCache
from rag.adapters.dynamodb.memory import DynamoDbMemory
from rag.adapters.dynamodb.store import DynamoDbStore
from rag.adapters.dynamodb.table import DynamoDbTable
from rag.adapters.layered_cache import MAX_AGE_S, LayeredCache
from rag.config.settings import Settings, load
from rag.errors import StoreOutOfReach
from rag.wiring.stores import OpenStores, build_stores

pytestmark = pytest.mark.slow

ENVIRONMENTS = 20
HOUR_S = 3600
REGION = "eu-central-1"


class Authority:
    """A certificate authority of this test's own, in the file ``bundle``."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, folder.name)])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        certificate = self._certificate(self._name, self._key, basic)
        self.bundle = folder / "bundle.pem"
        self.bundle.write_bytes(certificate)

    def server(self, host: str) -> ssl.SSLContext:
        """What a server shows that is called ``host``."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        shown = self._folder / "shown.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        shown.write_bytes(self._certificate(name, key, x509.SubjectAlternativeName([x509.DNSName(host)])) + private)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(shown)
        return context

    def _certificate(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> bytes:
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self._key, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, REGION)


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The authority that the client is told to trust."""
    authority = Authority(tmp_path / "ours")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.bundle))
    return authority


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The bundles that were parsed."""
    found: list[object] = []
    load_locations = ssl.SSLContext.load_verify_locations

    def noted(context: ssl.SSLContext, cafile: Any = None, *rest: Any, **named: Any) -> None:
        found.append(cafile)
        load_locations(context, cafile, *rest, **named)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", noted)
    return found


def before_a_snapshot(url: str) -> OpenStores:
    made = build_stores(load(Settings, {"TABLE_NAME": "rag", "TABLE_ENDPOINT": url, "STORE_WAIT_S": "60"}))
    assert made is not None
    made.warm()
    return made


def test_the_first_question_of_no_environment_parses_a_bundle_or_opens_a_connection(
    ours: Authority, parsed: list[object]
) -> None:
    with empty_table(prompt, tls=ours.server("localhost")) as table:
        made = before_a_snapshot(table.url)
        assert (parsed, table.connections) == ([str(ours.bundle)], 0)
        for restored in range(1, ENVIRONMENTS + 1):
            made.renew()
            table.calls.clear()
            with made.guard.question():
                assert made.stores.memory.recall("s" * 22, limit=5) == ()
                assert made.stores.cache.get("key") is None
            assert table.calls == ["GetItem", "Query", "GetItem"], "the first is that of the restore"
            assert (len(parsed), table.connections) == (1, restored), "once in all, and one a restore"


@pytest.mark.parametrize("fault", ["another authority's", "another host's"])
def test_a_certificate_that_is_not_the_table_s_is_refused(ours: Authority, tmp_path: Path, fault: str) -> None:
    shown = Authority(tmp_path / "theirs").server("localhost") if "authority" in fault else ours.server("example.org")
    with empty_table(prompt, tls=shown) as table:
        made = before_a_snapshot(table.url)
        made.renew()
        with pytest.raises(StoreOutOfReach):
            made.stores.memory.recall("s" * 22, limit=5)
        assert table.calls == []


def test_a_renewed_table_keeps_its_client() -> None:
    made = before_a_snapshot("http://127.0.0.1:9")
    assert isinstance(made.store, DynamoDbStore)
    assert "boto3" in sys.modules
    client = made.store.table._client
    before = client._client()
    made.renew()
    assert client._client() is before


# Processes whose clocks differ by an hour


@pytest.fixture
def table(clock: FakeClock) -> Iterator[DynamoDbTable]:
    with mock_aws():
        boto3.client("dynamodb", region_name=REGION).create_table(
            TableName="table",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        )
        yield DynamoDbTable("table", region=REGION, clock=clock)


@pytest.fixture
def ahead(table: DynamoDbTable) -> DynamoDbTable:
    """The same table for a process whose clock is an hour ahead."""
    return DynamoDbTable("table", region=REGION, clock=FakeClock(now=START + HOUR_S))


def test_an_answer_outlives_its_time_by_no_more_than_the_clocks_differ(
    table: DynamoDbTable, ahead: DynamoDbTable, clock: FakeClock
) -> None:
    DynamoDbAnswerCache(table).put(KEY, make_answer(), ttl_s=60)
    assert DynamoDbAnswerCache(ahead).get(KEY) is None
    DynamoDbAnswerCache(ahead).put(KEY, make_answer(), ttl_s=60)
    clock.now = START + HOUR_S + 60
    assert DynamoDbAnswerCache(table).get(KEY)
    clock.now += 1
    assert DynamoDbAnswerCache(table).get(KEY) is None


def test_a_process_asks_again_for_an_answer_of_the_future_after_a_minute(
    table: DynamoDbTable, ahead: DynamoDbTable, clock: FakeClock
) -> None:
    """So that one that was evicted elsewhere is gone here too."""
    cache = LayeredCache(DynamoDbAnswerCache(table), clock=clock)
    DynamoDbAnswerCache(ahead).put(KEY, make_answer(), ttl_s=HOUR_S)
    assert cache.get(KEY)
    DynamoDbAnswerCache(ahead).evict(KEY)
    assert cache.get(KEY)
    clock.now += MAX_AGE_S
    assert cache.get(KEY) is None


def test_after_a_clock_is_set_back_an_answer_is_asked_for_again(table: DynamoDbTable, clock: FakeClock) -> None:
    cache = LayeredCache(DynamoDbAnswerCache(table), clock=clock)
    cache.put(KEY, make_answer(), ttl_s=HOUR_S)
    DynamoDbAnswerCache(table).evict(KEY)
    clock.now -= HOUR_S
    assert cache.get(KEY) is None


def test_no_turn_is_lost_between_clocks_and_their_order_is_that_of_the_clocks(
    table: DynamoDbTable, ahead: DynamoDbTable
) -> None:
    DynamoDbMemory(ahead).remember(SESSION, make_turn(HOUR_S))
    DynamoDbMemory(table).remember(SESSION, make_turn(1))
    for one in (table, ahead):
        assert DynamoDbMemory(one).recall(SESSION, limit=5) == (make_turn(1), make_turn(HOUR_S))
