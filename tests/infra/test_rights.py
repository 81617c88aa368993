"""What the function asks of AWS while it serves is what its role allows it: each action, on that resource alone."""

import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
import real_model
import snapshot_restore_py
from awslambdaric.lambda_runtime_hooks_runner import run_after_restore, run_before_snapshot
from botocore.client import BaseClient  # type: ignore[import-untyped, unused-ignore]
from cloudformation import rights
from fakes import forget_secrets
from fakes_llm import LlmServer
from faults.tally import tally
from functional.gacounts_service import COLORS, MEALS, gacounts, model
from functional.harness import starting
from moto import mock_aws
from scripted_dynamodb import REGION, create_table

from rag.adapters import secrets
from rag.adapters.embedding.embedders import remote_embedder
from rag.config.settings import Settings, load

pytestmark = pytest.mark.slow

type Right = tuple[str, str]
"""An action, and the ARN that it is for."""

TABLE = f"arn:aws:dynamodb:{REGION}:123456789012:table/rag"
SECRETS = {"LlmSecretName": "rag/llm", "EmbedSecretName": "rag/embedder"}
PARTS = {"Put": "PutItem", "Delete": "DeleteItem", "Update": "UpdateItem", "ConditionCheck": "ConditionCheckItem"}
"""What a part of a transaction needs; the transaction itself needs nothing."""


def of_table(operation: str, parameters: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The actions of a call to DynamoDB, and the tables that they are for."""
    if operation == "TransactWriteItems":
        for part in parameters["TransactItems"]:
            [(kind, told)] = part.items()
            yield PARTS[kind], told["TableName"]
    else:
        for name in [parameters["TableName"]] if "TableName" in parameters else parameters["RequestItems"]:
            yield operation, name


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[Right]]:
    """What boto3 was asked for, by any client of this process; an account with the table and the secrets."""
    seen: set[Right] = set()
    arns: dict[str, str] = {}
    call = BaseClient._make_api_call

    def noted(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
        service = client.meta.service_model.signing_name
        if service == "dynamodb":
            for action, name in of_table(operation, parameters):
                seen.add((f"dynamodb:{action}", TABLE.removesuffix("rag") + name))
        else:
            named = parameters.get("SecretId", "")
            seen.add((f"{service}:{operation}", arns.get(named, named)))
        return call(client, operation, parameters)

    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    forget_secrets()
    with mock_aws():
        manager = boto3.client("secretsmanager")
        arns |= {name: manager.create_secret(Name=name, SecretString="sk-1")["ARN"] for name in SECRETS.values()}
        create_table(None, "rag")
        monkeypatch.setattr(BaseClient, "_make_api_call", noted)
        yield seen
    forget_secrets()


def allowed(role: dict[str, Any]) -> set[Right]:
    """The rights of a role; logs are written by Lambda."""
    own = {(action, on.replace("Table.Arn", TABLE)) for action, on in rights(role)}
    return {right for right in own if right[0].partition(":")[0] != "logs"}


def serve(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function's life: a snapshot, questions, votes, rotated keys, an embedder."""
    ahead = 0.0
    monkeypatch.setattr(secrets, "time", SimpleNamespace(time=lambda: time.time() + ahead))
    with LlmServer(answer=model(), embed=[]) as server, starting(index) as start:
        given = gacounts(None, TABLE_NAME="rag", LLM_BASE_URL=server.url, LLM_SECRET_NAME=SECRETS["LlmSecretName"])
        api = start(**given)
        run_before_snapshot()
        run_after_restore()
        first = api.ask(COLORS)
        again = api.ask(COLORS, sessionId=first.json["sessionId"])
        api.vote(again.json["responseId"], False)
        api.ask("And which of them first?", sessionId=first.json["sessionId"])
        api.vote(first.json["responseId"], True)
        ahead = secrets.MAX_AGE_S
        last = api.ask(MEALS)
        assert [first.status, again.status, last.status, last.json["metadata"]["skipped"]] == [200, 200, 200, []]

        variables = {"EMBED_BASE_URL": server.url, "EMBED_SECRET_NAME": SECRETS["EmbedSecretName"]}
        embedder = remote_embedder(load(Settings, {"EMBED_MODEL": "m", **variables}), side="question")
        assert embedder is not None
        embedder.embed([COLORS])


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """The runtime's registry holds what this test's function registers, and nothing afterwards."""
    registries = (snapshot_restore_py.get_before_snapshot(), snapshot_restore_py.get_after_restore())
    for registry in registries:
        registry.clear()
    yield
    for registry in registries:
        registry.clear()


def test_what_the_function_calls_is_what_its_role_allows(
    properties: Any, called: set[Right], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(real_model.sample_index("gacounts", tmp_path_factory), monkeypatch)

    own = allowed(properties("QueryRole", **SECRETS, Store="dynamodb", Tracing="PassThrough"))
    refused = [one for one in called if not any(one[0] == action and fnmatchcase(one[1], on) for action, on in own)]
    idle = [one for one in own if not any(action == one[0] and fnmatchcase(on, one[1]) for action, on in called)]
    others = [f"{on.removesuffix('-??????')}{more}-AbCdEf" for on in {on for _, on in own} for more in ("2", "-2")]
    wide = [other for other in others if any(fnmatchcase(other, on) for _, on in own)]
    failures = len(refused) + len(idle) + len(wide)
    tally("rights", cases=len(own) + len(refused) + len(others), failures=failures)
    assert (refused, idle, wide) == ([], [], [])
    assert {action for action, _ in called} > {"secretsmanager:GetSecretValue", "dynamodb:Query"}
