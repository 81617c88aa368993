"""The LLM's and the embedder's key in Secrets Manager: read through Powertools, kept a while, and never told."""

import json
import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import permits
import pytest
from botocore.client import BaseClient  # type: ignore[import-untyped, unused-ignore]
from botocore.exceptions import EndpointConnectionError  # type: ignore[import-untyped, unused-ignore]
from fakes import forget_secrets
from fakes_dynamodb import EXPIRED, an_hour_ahead, empty_table, silent
from fakes_llm import Exchange, LlmServer, Step, error, reply
from functional.harness import Api, Start, starting
from moto import mock_aws

from rag.adapters import secrets
from rag.adapters.embedding.embedders import remote_embedder
from rag.config.settings import Settings, load
from rag.errors import LlmUnavailable

NAME = "rag/llm-key"
EMBED_SECRET = "rag/embedder-key"
KEY = "sk-live-secret-0123456789"
NEW_KEY = "sk-live-rotated-9876543210"
QUESTION = permits.QUESTION


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(secrets, "REFRESH_S", 60.0)  # a loaded machine is no outage
    secrets.renew_secrets()
    yield
    secrets.renew_secrets()


@pytest.fixture(scope="module")
def aws() -> Iterator[boto3.client]:
    """Secrets Manager, for all tests that need no other: its clients take long to make."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        forget_secrets()
        yield boto3.client("secretsmanager")
    forget_secrets()


@pytest.fixture
def manager(aws: boto3.client) -> Iterator[boto3.client]:
    """Secrets Manager, without a secret so far."""
    yield aws
    for secret in aws.list_secrets()["SecretList"]:
        aws.delete_secret(SecretId=secret["Name"], ForceDeleteWithoutRecovery=True)


@pytest.fixture
def own_client() -> Iterator[None]:
    """For a test that makes another client."""
    forget_secrets()
    yield
    forget_secrets()


@pytest.fixture
def stored(manager: boto3.client) -> boto3.client:
    """Secrets Manager, with the LLM's key in a secret."""
    manager.create_secret(Name=NAME, SecretString=KEY)
    return manager


class Reads(list[str]):
    """The names of the secrets that were asked for, each time AWS was asked; ``trouble`` is what comes in between."""

    trouble: Callable[[], object] | None = None


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    asked = Reads()
    call = BaseClient._make_api_call

    def counted(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
        if operation == "GetSecretValue":
            asked.append(parameters["SecretId"])
            if asked.trouble:
                asked.trouble()
        return call(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", counted)
    return asked


def out_of_reach() -> None:
    raise EndpointConnectionError(endpoint_url="https://secretsmanager.example")


class Wall:
    """The clock by which keys age, which can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    clock = Wall()
    monkeypatch.setattr(secrets, "time", clock)
    return clock


@pytest.mark.parametrize(
    "value", [KEY, f'\n {{"LLM_API_KEY": "{KEY}", "other": "x"}}'], ids=["plain", "json after white space"]
)
def test_a_key_is_read_as_it_is_or_out_of_its_field(manager: boto3.client, value: str) -> None:
    manager.create_secret(Name=NAME, SecretString=value)
    assert secrets.read_secret(NAME, secrets.LLM) == KEY


NO_FIELD = "The secret with the {}'s key is JSON without '{}'"


@pytest.mark.parametrize(
    ("value", "field", "reason"),
    [
        (json.dumps({"OPENAI_API_KEY": KEY}), secrets.LLM, NO_FIELD.format("LLM", "LLM_API_KEY")),
        (f'{{"LLM_API_KEY": "{KEY}"', secrets.LLM, NO_FIELD.format("LLM", "LLM_API_KEY")),
        (json.dumps({"LLM_API_KEY": KEY}), secrets.EMBEDDER, NO_FIELD.format("embedder", "EMBED_API_KEY")),
        (json.dumps({"LLM_API_KEY": [KEY]}), secrets.LLM, "'LLM_API_KEY' in the secret with the LLM's key is not text"),
        (KEY.encode(), secrets.LLM, "The secret with the LLM's key is not text"),
    ],
    ids=["another field", "cut JSON", "the other's field", "a list", "binary"],
)
def test_what_holds_no_key_is_unavailable_and_nothing_of_it_is_told(
    manager: boto3.client, value: str | bytes, field: str, reason: str
) -> None:
    manager.create_secret(Name=NAME, **{"SecretBinary" if isinstance(value, bytes) else "SecretString": value})
    with pytest.raises(LlmUnavailable) as caught:
        secrets.read_secret(NAME, field)
    assert str(caught.value) == reason
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_missing_secret_is_unavailable_and_asked_for_again(manager: boto3.client, reads: Reads) -> None:
    for _ in range(2):
        with pytest.raises(LlmUnavailable, match="cannot be read"):
            secrets.read_secret(NAME, secrets.LLM)
    manager.create_secret(Name=NAME, SecretString=KEY)
    assert secrets.read_secret(NAME, secrets.LLM) == KEY
    assert reads == [NAME] * 3


def test_without_a_region_it_is_unavailable_too(
    own_client: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(LlmUnavailable, match="cannot be read") as caught:
        secrets.read_secret(NAME, secrets.LLM)
    assert type(caught.value.__cause__).__name__ == "NoRegionError"


@pytest.fixture
def credentials(own_client: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with which a server in place of AWS is asked."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


def test_a_manager_that_never_answers_does_not_outlast_the_request(
    credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "READ_TIMEOUT_S", 0.1)
    with empty_table(silent) as aws:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", aws.url)
        with pytest.raises(LlmUnavailable, match="cannot be read"):
            secrets.read_secret(NAME, secrets.LLM)
    assert aws.connections == secrets.ATTEMPTS == 2


def test_all_attempts_fit_into_a_request() -> None:
    # The default deadline is 27 s, and the LLM has to answer within it too.
    assert (secrets.CONNECT_TIMEOUT_S + secrets.READ_TIMEOUT_S) * secrets.ATTEMPTS <= 27 / 2


def test_a_secret_is_asked_for_once_and_again_when_it_has_aged(stored: boto3.client, reads: Reads, wall: Wall) -> None:
    assert [secrets.read_secret(NAME, secrets.LLM) for _ in range(3)] == [KEY] * 3
    assert reads == [NAME]
    stored.put_secret_value(SecretId=NAME, SecretString=NEW_KEY)
    wall.ahead = secrets.MAX_AGE_S - 60
    assert secrets.read_secret(NAME, secrets.LLM) == KEY
    wall.ahead = secrets.MAX_AGE_S
    assert secrets.read_secret(NAME, secrets.LLM) == NEW_KEY
    assert reads == [NAME] * 2


def test_a_clock_that_is_set_back_keeps_no_key_for_longer(stored: boto3.client, reads: Reads, wall: Wall) -> None:
    secrets.read_secret(NAME, secrets.LLM)
    stored.put_secret_value(SecretId=NAME, SecretString=NEW_KEY)
    wall.ahead = -3600
    assert [secrets.read_secret(NAME, secrets.LLM) for _ in range(2)] == [NEW_KEY] * 2
    assert reads == [NAME] * 2


@pytest.mark.parametrize(
    ("value", "trouble", "reason"),
    [
        (NEW_KEY, out_of_reach, "The secret with the LLM's key cannot be read"),
        (json.dumps({"WRONG": NEW_KEY}), None, "The secret with the LLM's key is JSON without 'LLM_API_KEY'"),
        (b"\xff", None, "The secret with the LLM's key is not text"),
    ],
    ids=["out of reach", "another field", "binary"],
)
def test_while_no_new_key_can_be_read_the_one_of_before_serves(
    stored: boto3.client,
    reads: Reads,
    wall: Wall,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    value: str | bytes,
    trouble: Callable[[], object] | None,
    reason: str,
) -> None:
    monkeypatch.setattr(logging.getLogger("rag"), "propagate", True)  # the function's telemetry switches it off
    secrets.read_secret(NAME, secrets.LLM)
    stored.put_secret_value(SecretId=NAME, **{"SecretBinary" if isinstance(value, bytes) else "SecretString": value})
    reads.trouble = trouble

    # It has aged and no other one can be had: it is asked for once, then not for a while
    wall.ahead = secrets.MAX_AGE_S
    assert [secrets.read_secret(NAME, secrets.LLM) for _ in range(3)] == [KEY] * 3
    assert reads == [NAME] * 2
    assert f"{reason}; the LLM's key of before goes on being used" in caplog.text

    # Mended: the new one is in use after that while
    reads.trouble = None
    stored.put_secret_value(SecretId=NAME, SecretString=NEW_KEY)
    wall.ahead += secrets.RETRY_AFTER_S
    assert secrets.read_secret(NAME, secrets.LLM) == NEW_KEY
    assert NEW_KEY not in caplog.text
    assert KEY not in caplog.text


def test_a_manager_that_is_silent_does_not_hold_up_who_has_a_key(
    stored: boto3.client, reads: Reads, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets.read_secret(NAME, secrets.LLM)
    monkeypatch.setattr(secrets, "REFRESH_S", 0.05)
    over = threading.Event()

    def silent() -> None:
        over.wait()
        out_of_reach()  # the thread that was left behind asks nobody once the test has ended

    reads.trouble = silent
    wall.ahead = secrets.MAX_AGE_S
    try:
        assert secrets.read_secret(NAME, secrets.LLM) == KEY
    finally:
        over.set()


def test_renewing_drops_the_value_and_keeps_the_client(stored: boto3.client, reads: Reads) -> None:
    secrets.read_secret(NAME, secrets.LLM)
    client = secrets._provider().client
    secrets.renew_secrets()
    assert KEY not in repr(vars(secrets._provider()))
    assert secrets.read_secret(NAME, secrets.LLM) == KEY
    assert secrets._provider().client is client
    assert reads == [NAME] * 2


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts the function on an index that answers QUESTION."""
    with starting(permits.indexed(tmp_path_factory)) as start:
        yield start


def only_key(*keys: str) -> Step:
    """A server that takes these keys and refuses others, repeating them in its refusal as some proxies do."""

    def step(exchange: Exchange) -> None:
        sent = exchange.request.headers["authorization"]
        known = sent.removeprefix("Bearer ") in keys
        (reply("25 dollars a year.") if known else error(401, message=f"wrong header {sent}"))(exchange)

    return step


def with_secret(start: Start, server: LlmServer, **settings: str) -> Api:
    return start(LLM_BASE_URL=server.url, LLM_SECRET_NAME=NAME, LLM_MAX_RETRIES="0", **settings)


def test_the_embedder_s_rotated_key_is_in_use_too_and_never_the_llm_s(stored: boto3.client, wall: Wall) -> None:
    stored.create_secret(Name=EMBED_SECRET, SecretString="sk-embed")
    with LlmServer(embed=[]) as server:
        variables = {"EMBED_MODEL": "house", "EMBED_BASE_URL": server.url, "EMBED_SECRET_NAME": EMBED_SECRET}
        embedder = remote_embedder(load(Settings, {**variables, "LLM_SECRET_NAME": NAME}), side="question")
        assert embedder is not None
        for ahead in (0, secrets.MAX_AGE_S - 60, secrets.MAX_AGE_S):
            wall.ahead = ahead
            embedder.embed([QUESTION])
            stored.put_secret_value(SecretId=EMBED_SECRET, SecretString=NEW_KEY)
        sent = [request.headers["authorization"] for request in server.embed_requests]
        assert sent == ["Bearer sk-embed", "Bearer sk-embed", f"Bearer {NEW_KEY}"]


def test_a_rotated_key_is_used_after_a_refusal_once_the_old_one_has_aged(
    start: Start, manager: boto3.client, reads: Reads, wall: Wall
) -> None:
    manager.create_secret(Name=NAME, SecretString=json.dumps({"LLM_API_KEY": KEY}))
    # The vendor takes the first key once, then it is revoked.
    with LlmServer([only_key(KEY), only_key(NEW_KEY)]) as server:
        api = with_secret(start, server, EMBED_SECRET_NAME=EMBED_SECRET, POWERTOOLS_LOG_LEVEL="DEBUG")
        assert api.health().status == 200
        assert reads == [], "neither at its start nor for health"
        assert api.ask(QUESTION).status == 200
        manager.put_secret_value(SecretId=NAME, SecretString=json.dumps({"LLM_API_KEY": NEW_KEY}))
        refused = [api.ask(QUESTION) for _ in range(2)]
        assert [(each.status, each.json["code"]) for each in refused] == [(503, "llm_unavailable")] * 2
        assert reads == [NAME], "the secret is not asked for with every refusal"
        wall.ahead = secrets.MAX_AGE_S
        assert api.ask(QUESTION).status == 200
        assert reads == [NAME] * 2
        assert len(server.requests) == 4
    told = api.output + "".join(each.text for each in refused)
    assert KEY not in told
    assert NEW_KEY not in told


@pytest.mark.parametrize("fallback", ["", "extractive"])
def test_a_manager_whose_clock_is_an_hour_ahead_of_the_function_s(
    start: Start, credentials: None, monkeypatch: pytest.MonkeyPatch, fallback: str
) -> None:
    """AWS refuses each request then, and botocore does not correct what it signs with."""
    with LlmServer([reply("never asked")]) as server, empty_table(an_hour_ahead) as aws:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", aws.url)
        api = with_secret(start, server, **({"LLM_FALLBACK": fallback} if fallback else {}))
        result = api.ask(QUESTION)
        assert (aws.calls, server.requests) == (["GetSecretValue"], [])
    if fallback:
        assert (result.status, result.json["metadata"]["degraded"]) == (200, True)
    else:
        assert result.status == 503
        assert result.json == {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"}
    assert "The secret with the LLM's key cannot be read" in api.output
    assert EXPIRED not in result.text
    assert NAME not in result.text
    assert KEY not in api.output


def test_where_the_embedders_key_comes_from(manager: boto3.client) -> None:
    for name, value in {
        NAME: "sk-llm",
        EMBED_SECRET: "sk-embed",
        "rag/both": json.dumps({"LLM_API_KEY": "sk-l", "EMBED_API_KEY": "sk-e"}),
    }.items():
        manager.create_secret(Name=name, SecretString=value)

    def key(**variables: str) -> str:
        return secrets.embedder_key(load(Settings, variables))()

    assert key() == ""
    assert key(LLM_API_KEY="llm") == "llm"
    assert key(LLM_API_KEY="llm", LLM_SECRET_NAME=NAME) == "sk-llm"
    assert key(LLM_SECRET_NAME=NAME, EMBED_API_KEY="own") == "own"
    assert key(LLM_SECRET_NAME=NAME, EMBED_API_KEY="own", EMBED_SECRET_NAME=EMBED_SECRET) == "sk-embed"
    assert key(EMBED_SECRET_NAME=EMBED_SECRET) == "sk-embed"
    both = {"LLM_SECRET_NAME": "rag/both", "EMBED_SECRET_NAME": "rag/both"}
    assert (secrets.llm_key(load(Settings, both))(), key(**both)) == ("sk-l", "sk-e")
