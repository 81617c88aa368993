"""The embedder's key in a secret of its own, beside or without the LLM's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
from fakes import forget_secrets
from fakes_llm import LlmServer, error, reply
from functional.harness import starting
from moto import mock_aws

from rag.adapters import secrets
from rag.config.settings import Settings, load
from rag.errors import LlmUnavailable
from ragctl import cli

LLM_SECRET = "rag/llm-key"
EMBED_SECRET = "rag/embedder-key"
QUESTION = "How much is demurrage for each day?"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    forget_secrets()
    yield
    forget_secrets()


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.client]:
    """Secrets Manager with both secrets."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name=LLM_SECRET, SecretString="sk-llm")
        client.create_secret(Name=EMBED_SECRET, SecretString="sk-embed")
        yield client


@pytest.mark.parametrize(
    ("variables", "key"),
    [
        ({}, ""),
        ({"LLM_API_KEY": "llm"}, "llm"),
        ({"LLM_API_KEY": "llm", "LLM_SECRET_NAME": LLM_SECRET}, "sk-llm"),
        ({"LLM_SECRET_NAME": LLM_SECRET, "EMBED_API_KEY": "own"}, "own"),
        ({"LLM_SECRET_NAME": LLM_SECRET, "EMBED_API_KEY": "own", "EMBED_SECRET_NAME": EMBED_SECRET}, "sk-embed"),
        ({"EMBED_SECRET_NAME": EMBED_SECRET}, "sk-embed"),
    ],
)
def test_where_the_embedders_key_comes_from(manager: boto3.client, variables: dict[str, str], key: str) -> None:
    assert secrets.embedder_key(load(Settings, variables))() == key


def test_one_secret_may_hold_both_keys(manager: boto3.client) -> None:
    both = json.dumps({"LLM_API_KEY": "sk-l", "EMBED_API_KEY": "sk-e"})
    manager.create_secret(Name="rag/keys", SecretString=both)
    settings = load(Settings, {"LLM_SECRET_NAME": "rag/keys", "EMBED_SECRET_NAME": "rag/keys"})

    assert (secrets.llm_key(settings)(), secrets.embedder_key(settings)()) == ("sk-l", "sk-e")


def test_what_is_wrong_with_its_secret_is_said_of_the_embedder(manager: boto3.client) -> None:
    manager.put_secret_value(SecretId=EMBED_SECRET, SecretString=json.dumps({"LLM_API_KEY": "sk-l"}))

    with pytest.raises(LlmUnavailable, match=r"^The secret with the embedder's key is JSON without 'EMBED_API_KEY'$"):
        secrets.embedder_key(load(Settings, {"EMBED_SECRET_NAME": EMBED_SECRET}))()


@pytest.mark.parametrize("with_llm", [True, False], ids=["beside the LLM's", "without an LLM"])
def test_each_server_sees_its_own_key(
    manager: boto3.client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_llm: bool
) -> None:
    (tmp_path / "fees.md").write_text("# Fees\n\nDemurrage is 90 dollars for each day.\n", encoding="utf-8")
    with (
        LlmServer([reply("It is 90 dollars. [Fees]")]) as llm,
        LlmServer([error(500)], embed=[]) as embedder,
        starting(tmp_path / "index") as start,
    ):
        place = {"EMBED_MODEL": "house-embedding", "EMBED_BASE_URL": embedder.url, "EMBED_SECRET_NAME": EMBED_SECRET}
        for name, value in place.items():
            monkeypatch.setenv(name, value)
        assert cli.run(["ingest", str(tmp_path / "fees.md"), "--index", str(tmp_path / "index")]) == 0

        writer = {"LLM_BASE_URL": llm.url, "LLM_SECRET_NAME": LLM_SECRET} if with_llm else {}
        body = start(**place, **writer, RELEVANCE_THRESHOLD="-1").ask(QUESTION).json

        keys = [{call.headers["authorization"] for call in calls} for calls in (llm.requests, embedder.embed_requests)]
    assert keys == [{"Bearer sk-llm"} if with_llm else set(), {"Bearer sk-embed"}]
    assert "90 dollars" in body["answer"]
    assert body["metadata"]["model"] == ("served-model" if with_llm else "extractive")
