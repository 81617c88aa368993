"""The client of the table that the settings name: kept when a snapshot is restored."""

from __future__ import annotations

import sys

import pytest

from rag.adapters.dynamodb.store import DynamoDbStore
from rag.config.settings import Settings, load
from rag.wiring.stores import build_stores


def test_a_renewed_table_keeps_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "eu-central-1")
    made = build_stores(load(Settings, {"TABLE_NAME": "rag", "TABLE_ENDPOINT": "http://127.0.0.1:9"}))
    assert made is not None
    assert isinstance(made.store, DynamoDbStore)
    made.warm()
    assert "boto3" in sys.modules
    client = made.store.table._client
    before = client._client()
    made.renew()
    assert client._client() is before
