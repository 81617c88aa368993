"""A table over TLS in fresh environments: what a first question costs, and whom the client trusts.

Counted, not timed: bundles parsed and connections opened, which are the cost.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fakes_dynamodb import EmptyTable, empty_table, prompt

from rag.config.settings import Settings, load
from rag.errors import StoreOutOfReach
from rag.wiring.stores import OpenStores, build_stores

pytestmark = pytest.mark.slow

ENVIRONMENTS = 20


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


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The authority that the client is told to trust."""
    authority = Authority(tmp_path / "ours")
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "eu-central-1")
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


def before_a_snapshot(table: EmptyTable) -> OpenStores:
    made = build_stores(load(Settings, {"TABLE_NAME": "rag", "TABLE_ENDPOINT": table.url, "STORE_WAIT_S": "60"}))
    assert made is not None
    made.warm()
    return made


def test_the_first_question_of_no_environment_parses_a_bundle_or_opens_a_connection(
    ours: Authority, parsed: list[object]
) -> None:
    with empty_table(prompt, tls=ours.server("localhost")) as table:
        made = before_a_snapshot(table)
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
        made = before_a_snapshot(table)
        made.renew()
        with pytest.raises(StoreOutOfReach):
            made.stores.memory.recall("s" * 22, limit=5)
        assert table.calls == []
