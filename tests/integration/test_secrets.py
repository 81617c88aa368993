"""The LLM's key in Secrets Manager: read through Powertools, kept for a while, and never told to anybody."""

from __future__ import annotations

import datetime
import json
import logging
import socket
import threading
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
from aws_lambda_powertools.utilities.parameters import base
from botocore.client import BaseClient  # type: ignore[import-untyped, unused-ignore]
from fakes_llm import Exchange, LlmServer, Step, error, reply
from functional.harness import Api, Start, starting
from moto import mock_aws

from knowledge.embedding import MiniLM
from knowledge.ingest import ingest
from knowledge.types import Document
from rag.adapters import secrets
from rag.errors import LlmUnavailable

NAME = "rag/llm-key"
KEY = "sk-live-secret-0123456789"
NEW_KEY = "sk-live-rotated-9876543210"
QUESTION = "How long does an import permit take?"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    secrets.forget_secrets()
    yield
    secrets.forget_secrets()


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.client]:
    """Secrets Manager, without a secret so far."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        yield boto3.client("secretsmanager")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the secrets that were asked for, each time AWS was asked."""
    asked: list[str] = []
    call = BaseClient._make_api_call

    def counted(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
        if operation == "GetSecretValue":
            asked.append(parameters["SecretId"])
        return call(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", counted)
    return asked


class _Wall(datetime.datetime):
    """A wall clock that can be put forward."""

    ahead = datetime.timedelta()

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return datetime.datetime.now(tz) + cls.ahead


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> type[_Wall]:
    """The clock by which Powertools' cache ages."""
    monkeypatch.setattr(_Wall, "ahead", datetime.timedelta())
    monkeypatch.setattr(base, "datetime", _Wall)
    return _Wall


# --- reading


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (KEY, KEY),
        (json.dumps({"LLM_API_KEY": KEY, "other": "x"}), KEY),
        (f'\n {{"LLM_API_KEY": "{KEY}"}}', KEY),
    ],
    ids=["plain", "json", "json after white space"],
)
def test_a_key_is_read_as_it_is_or_out_of_its_field(manager: boto3.client, value: str, key: str) -> None:
    manager.create_secret(Name=NAME, SecretString=value)
    assert secrets.read_secret(NAME) == key


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (json.dumps({"OPENAI_API_KEY": KEY}), "JSON without 'LLM_API_KEY'"),
        (f'{{"LLM_API_KEY": "{KEY}"', "JSON without 'LLM_API_KEY'"),
        (json.dumps({"LLM_API_KEY": None, "old": KEY}), "'LLM_API_KEY' in the secret with the LLM's key is not text"),
        (json.dumps({"LLM_API_KEY": [KEY]}), "'LLM_API_KEY' in the secret with the LLM's key is not text"),
        (KEY.encode(), "not text"),
    ],
    ids=["another field", "cut JSON", "null", "a list", "binary"],
)
def test_what_holds_no_key_is_unavailable_and_nothing_of_it_is_told(
    manager: boto3.client, value: str | bytes, reason: str
) -> None:
    kind = "SecretBinary" if isinstance(value, bytes) else "SecretString"
    manager.create_secret(Name=NAME, **{kind: value})
    with pytest.raises(LlmUnavailable) as caught:
        secrets.read_secret(NAME)
    assert reason in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_missing_secret_is_unavailable_and_asked_for_again(manager: boto3.client, reads: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(LlmUnavailable, match="cannot be read"):
            secrets.read_secret(NAME)
    manager.create_secret(Name=NAME, SecretString=KEY)
    assert secrets.read_secret(NAME) == KEY
    assert reads == [NAME] * 3


def test_without_a_region_it_is_unavailable_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(LlmUnavailable, match="cannot be read") as caught:
        secrets.read_secret(NAME)
    assert type(caught.value.__cause__).__name__ == "NoRegionError"


# --- patience


def test_a_manager_that_never_answers_does_not_outlast_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "READ_TIMEOUT_S", 0.05)
    accepted = 0
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", f"http://127.0.0.1:{server.getsockname()[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        open_: list[socket.socket] = []

        def listen() -> None:
            nonlocal accepted
            while True:
                try:
                    open_.append(server.accept()[0])
                except OSError:
                    return
                accepted += 1

        thread = threading.Thread(target=listen)
        thread.start()
        with pytest.raises(LlmUnavailable, match="cannot be read"):
            secrets.read_secret(NAME)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in open_:
            connection.close()
    assert accepted == secrets.ATTEMPTS == 2


def test_all_attempts_fit_into_a_request() -> None:
    # The default deadline is 27 s, and the LLM has to answer within it too.
    assert (secrets.CONNECT_TIMEOUT_S + secrets.READ_TIMEOUT_S) * secrets.ATTEMPTS <= 27 / 2


# --- keeping


def test_a_secret_is_asked_for_once_and_again_when_it_has_aged(
    manager: boto3.client, reads: list[str], wall: type[_Wall]
) -> None:
    manager.create_secret(Name=NAME, SecretString=KEY)
    assert [secrets.read_secret(NAME) for _ in range(3)] == [KEY] * 3
    assert reads == [NAME]
    manager.put_secret_value(SecretId=NAME, SecretString=NEW_KEY)
    wall.ahead = datetime.timedelta(seconds=secrets.MAX_AGE_S - 5)
    assert secrets.read_secret(NAME) == KEY
    wall.ahead = datetime.timedelta(seconds=secrets.MAX_AGE_S + 5)
    assert secrets.read_secret(NAME) == NEW_KEY
    assert reads == [NAME] * 2


def test_forgetting_drops_the_value_and_the_client(manager: boto3.client, reads: list[str]) -> None:
    manager.create_secret(Name=NAME, SecretString=KEY)
    secrets.read_secret(NAME)
    client = secrets._provider().client
    secrets.forget_secrets()
    assert secrets.read_secret(NAME) == KEY
    assert secrets._provider().client is not client
    assert reads == [NAME] * 2


# --- in the function


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of one document that answers QUESTION."""
    target = tmp_path_factory.mktemp("secrets") / "index"
    text = "An import permit takes five working days. " * 3
    document = Document(doc_id="p", title="Import permits", text=text, digest="0" * 64, path="p.md")
    ingest([document], target=target, embedder=MiniLM())
    return target


@pytest.fixture
def start(index: Path) -> Iterator[Start]:
    """Starts the function on that index."""
    with starting(index) as start:
        yield start


def only_key(*keys: str) -> Step:
    """A server that takes these keys and refuses others, repeating them in its refusal as some proxies do."""

    def step(exchange: Exchange) -> None:
        sent = exchange.request.headers["authorization"]
        known = sent.removeprefix("Bearer ") in keys
        (reply("Five working days.") if known else error(401, message=f"wrong header {sent}"))(exchange)

    return step


def with_secret(start: Start, server: LlmServer, **settings: str) -> Api:
    return start(LLM_BASE_URL=server.url, LLM_SECRET_NAME=NAME, LLM_MAX_RETRIES="0", **settings)


def test_a_rotated_key_is_used_after_a_refusal_once_the_old_one_has_aged(
    start: Start, manager: boto3.client, reads: list[str], wall: type[_Wall]
) -> None:
    manager.create_secret(Name=NAME, SecretString=json.dumps({"LLM_API_KEY": KEY}))
    # The vendor takes the first key once, then it is revoked.
    with LlmServer([only_key(KEY), only_key(NEW_KEY)]) as server:
        api = with_secret(start, server)
        assert api.ask(QUESTION).status == 200
        manager.put_secret_value(SecretId=NAME, SecretString=json.dumps({"LLM_API_KEY": NEW_KEY}))
        refused = [api.ask(QUESTION) for _ in range(2)]
        assert [(each.status, each.json["code"]) for each in refused] == [(503, "llm_unavailable")] * 2
        assert reads == [NAME], "the secret is not asked for with every refusal"
        wall.ahead = datetime.timedelta(seconds=secrets.MAX_AGE_S + 1)
        assert api.ask(QUESTION).status == 200
        assert reads == [NAME] * 2
        assert len(server.requests) == 4
    told = api.output + "".join(each.text for each in refused)
    assert KEY not in told
    assert NEW_KEY not in told


def test_at_the_most_talkative_log_level_no_library_tells_the_key(
    start: Start, manager: boto3.client, caplog: pytest.LogCaptureFixture
) -> None:
    # LogLevel=DEBUG of the template is the root logger's level on Lambda, and so every library's.
    manager.create_secret(Name=NAME, SecretString=KEY)
    caplog.set_level(logging.DEBUG)
    with LlmServer([only_key(KEY), only_key()]) as server:
        api = with_secret(start, server, POWERTOOLS_LOG_LEVEL="DEBUG")
        assert [api.ask(QUESTION).status for _ in range(2)] == [200, 503]
    assert any(record.name.startswith("openai") for record in caplog.records), "the libraries did speak"
    assert KEY not in caplog.text
    assert KEY not in api.output


def test_a_warm_function_does_not_ask_for_the_secret_again(
    start: Start, manager: boto3.client, reads: list[str], wall: type[_Wall]
) -> None:
    manager.create_secret(Name=NAME, SecretString=KEY)
    with LlmServer([only_key(KEY)]) as server:
        api = with_secret(start, server)
        assert reads == [], "nor at its start"
        assert api.health().status == 200
        assert reads == [], "nor for health"
        for _ in range(3):
            assert api.ask(QUESTION).status == 200
            wall.ahead += datetime.timedelta(hours=1)
        assert reads == [NAME]
        assert server.connections == 1


@pytest.mark.parametrize(
    "value",
    [None, json.dumps({"WRONG": KEY}), f'{{"LLM_API_KEY": {KEY}}}', KEY.encode()],
    ids=["missing", "another field", "no JSON", "binary"],
)
def test_without_a_usable_secret_a_question_is_503_and_the_log_says_why(
    start: Start, manager: boto3.client, value: str | bytes | None
) -> None:
    if value is not None:
        manager.create_secret(Name=NAME, **{"SecretBinary" if isinstance(value, bytes) else "SecretString": value})
    with LlmServer([reply("never asked")]) as server:
        api = with_secret(start, server, POWERTOOLS_LOG_LEVEL="DEBUG")
        result = api.ask(QUESTION)
        assert server.requests == []
    assert (result.status, result.json) == (
        503,
        {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"},
    )
    [line] = [line for line in result.logs if line["level"] == "ERROR"]
    assert "The secret with the LLM's key" in line["exception"]
    assert KEY not in api.output
    assert NAME not in result.text


def test_with_the_extractive_fallback_a_missing_secret_degrades(start: Start, manager: boto3.client) -> None:
    with LlmServer([reply("never asked")]) as server:
        result = with_secret(start, server, LLM_FALLBACK="extractive").ask(QUESTION)
    assert result.status == 200
    assert result.json["metadata"]["degraded"] is True
