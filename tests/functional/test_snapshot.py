"""SnapStart, simulated: the runtime's own runner calls the hooks that the function has registered."""

import json
import platform
import random
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import boto3  # type: ignore[import-untyped, unused-ignore]
import botocore.session  # type: ignore[import-untyped, unused-ignore]
import openai
import pytest
import snapshot_restore_py
from awslambdaric.lambda_runtime_hooks_runner import run_after_restore, run_before_snapshot
from fakes import forget_secrets
from fakes_llm import LlmServer, error, reply
from functional.harness import IN_SCOPE, REMOTE, Start, post, run_apart, starting
from moto import mock_aws

from knowledge.model.errors import IndexMismatch, IndexUnavailable
from rag.errors import ConfigurationError

SECRET = "rag/llm-key"
ANSWER = "Yes. [Singapore Import Permits and TradeNet]"


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """The runtime's registry holds what this test's function registers, and nothing afterwards."""

    def forget() -> None:
        snapshot_restore_py.get_before_snapshot().clear()
        snapshot_restore_py.get_after_restore().clear()
        forget_secrets()

    forget()
    yield
    forget()


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.client]:
    """Secrets Manager, without a secret so far."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        yield boto3.client("secretsmanager")


@pytest.fixture
def by_secret(with_llm: Start) -> Start:
    """Starts the function beside an LLM whose key is a secret."""
    return partial(with_llm, LLM_API_KEY="", LLM_SECRET_NAME=SECRET)


def bearers(server: LlmServer) -> list[str]:
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]


# Imports show in a process of their own only. Connections, look-ups and processes are what "calling somebody" is.
BEFORE = """
import json, sys

watched = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "os.fork")
effects = []
sys.addaudithook(lambda event, args: effects.append(event) if event in watched else None)

from awslambdaric.lambda_runtime_hooks_runner import run_after_restore, run_before_snapshot
import app

def read_secrets():
    from rag.adapters import secrets
    return {"kept": len(secrets._cached_keys), "client": secrets._provider.cache_info().currsize}

late = ("openai", "openai.resources.chat", "tenacity", "boto3", "aws_lambda_powertools.utilities.parameters")
told = {"init": [name for name in late if name in sys.modules]}
run_before_snapshot()
told["before"] = [name for name in late if name in sys.modules]
told["effects"] = list(effects)
told["keys"] = [chat.server._client.api_key for chat in app.service.chats._models]
told["secrets"] = read_secrets()
imported = set(sys.modules)
run_after_restore()
told["restore_imports"] = sorted(set(sys.modules) - imported)
told["effects_after"] = effects[len(told["effects"]):]
print(json.dumps(told))
"""
SECRETS = {"tenacity", "boto3", "aws_lambda_powertools.utilities.parameters"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "imported"),
    [
        ({"LLM_SECRET_NAME": SECRET}, {"openai", "openai.resources.chat", *SECRETS}),
        ({"EMBED_SECRET_NAME": SECRET}, SECRETS),
        ({}, {"tenacity"}),  # Chroma's own
    ],
    ids=["secret", "the embedder's secret", "no LLM"],
)
def test_before_the_snapshot_libraries_are_imported_and_nobody_is_called(
    waypoint_index: Path, settings: dict[str, str], imported: set[str]
) -> None:
    keys = {"AWS_DEFAULT_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
    on_lambda = {"INDEX_URI": str(waypoint_index), "LAMBDA_TASK_ROOT": "/var/task"}
    done = run_apart(BEFORE, env={**keys, **on_lambda, **settings})
    told = json.loads(done.stdout.splitlines()[-1])
    assert set(told["init"]) == {"tenacity"}, "init itself does not wait for the LLM's client"
    assert set(told["before"]) == imported
    assert told["effects"] == []
    assert set(told["keys"]) <= {"none"}, "the clients are there, without a key"
    assert told["secrets"] == {"kept": 0, "client": "boto3" in imported}
    # Restores are what callers wait for: nothing is imported in them, and nobody is called either.
    assert told["restore_imports"] == []
    assert told["effects_after"] == []


def test_both_hooks_are_registered_once_and_the_index_stays_open(start: Start) -> None:
    api = start()
    assert len(snapshot_restore_py.get_before_snapshot()) == len(snapshot_restore_py.get_after_restore()) == 1
    before = api.app.service.index.handle.opened
    run_before_snapshot()
    run_after_restore()
    assert api.app.service.index.handle.opened is before
    assert api.ask(IN_SCOPE).status == 200


def test_restored_copies_have_random_states_and_ids_of_their_own(start: Start) -> None:
    api = start()
    run_before_snapshot()
    random.seed(7)
    frozen, unhooked = random.getstate(), random.random()
    draws, ids = [], set()
    for _ in range(3):
        random.setstate(frozen)  # a copy is restored
        run_after_restore()
        draws.append(random.random())
        random.setstate(frozen)
        run_after_restore()
        ids.add(api.ask(IN_SCOPE).json["responseId"])
    assert len({unhooked, *draws}) == 4
    assert len(ids) == 3


def test_connections_are_made_anew_after_a_restore(with_llm: Start) -> None:
    api = with_llm(reply(ANSWER))
    run_before_snapshot()
    assert api.llm.connections == 0
    assert [api.ask(IN_SCOPE).status for _ in range(2)] == [200, 200]
    assert api.llm.connections == 1
    run_after_restore()
    assert api.llm.connections == 1, "the hook itself connects to nobody"
    assert [api.ask(IN_SCOPE).status for _ in range(2)] == [200, 200]
    assert api.llm.connections == 2


DECLINES = "RELEVANCE_THRESHOLD=1 declines all 6 headings"


@pytest.mark.parametrize(
    ("setting", "refused"),
    [
        ("INDEX_URI=/nowhere", pytest.raises(IndexUnavailable)),
        ("INDEX_URI=/mnt/index/current", nullcontext()),  # that may still come
        ("CHROMA_COLLECTION=another", pytest.raises(IndexMismatch, match="collection")),
        ("EMBED_MODEL=text-embedding-3-small", pytest.raises(IndexMismatch, match="unset EMBED_MODEL")),
        ("RELEVANCE_THRESHOLD=1", pytest.raises(ConfigurationError, match=DECLINES)),
        ("RELEVANCE_THRESHOLD=0.2", nullcontext()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_version_that_does_not_fit_its_index_or_declines_everything_is_not_published(
    start: Start, setting: str, refused: AbstractContextManager[object]
) -> None:
    name, _, value = setting.partition("=")
    api = start(**{name: value})
    with refused:
        run_before_snapshot()
    # Without a snapshot (EFS, the local server) it starts all the same, and says what is wrong at each question.
    assert name != "INDEX_URI" or api.ask(IN_SCOPE).json["code"] == "index_not_ready"


def test_a_version_whose_pipeline_fails_is_not_published(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    api = start()
    monkeypatch.setattr(type(api.app.service.pipeline.pack), "__call__", fail)
    with pytest.raises(ZeroDivisionError):
        run_before_snapshot()


@pytest.mark.parametrize(
    ("built", "told"),
    [
        ({"PROFILE": "clockify"}, "built with PROFILE=clockify, and is deployed with Profile=waypoint"),
        ({"ARCH": "riscv"}, "built with ARCH=riscv"),
        ({}, None),
    ],
)
def test_a_version_that_was_built_for_another_is_not_published(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, built: dict[str, str], told: str | None
) -> None:
    machine = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    path = tmp_path / "built.json"
    path.write_text(json.dumps({"PROFILE": "waypoint", "ARCH": machine, **built}))
    start()
    monkeypatch.setattr("rag.wiring.rehearsal.check_build.__defaults__", (path,))
    with pytest.raises(ConfigurationError, match=told) if told else nullcontext():
        run_before_snapshot()


@pytest.mark.parametrize("profile", ["waypoint", "gacounts", "clockify"])
def test_a_good_version_is_published_and_remembers_nothing_of_it(start: Start, profile: str, tmp_path: Path) -> None:
    api = start(RAG_PROFILE=profile, STORE_PATH=str(tmp_path / "store.sqlite"), MAX_QUERY_LENGTH="1000")
    run_before_snapshot()
    assert "declined" not in api.output
    assert not (tmp_path / "store.sqlite").exists()
    assert api.ask(IN_SCOPE).json["metadata"]["cached"] is False


def test_an_embedder_elsewhere_is_not_asked_and_its_client_is_there(
    remote_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer(embed=[]) as server, starting(remote_index) as start:
        api = start(**REMOTE, EMBED_BASE_URL=server.url)
        run_before_snapshot()
        assert server.embed_requests == []
        made: list[object] = []
        monkeypatch.setattr(openai.OpenAI, "__init__", lambda *args, **_: made.append(args))
        assert api.ask("How much is demurrage for each day?").status == 200
        assert (len(server.embed_requests), made) == (1, [])


def test_no_client_is_made_after_a_restore(
    by_secret: Start, manager: boto3.client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a tenth of a second of CPU, which the first caller would wait for."""
    manager.create_secret(Name=SECRET, SecretString="sk-1")
    boto3.client("dynamodb").create_table(
        TableName="table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    steps = reply(ANSWER), reply("Which documents do I need for Singapore?"), reply(ANSWER)
    api = by_secret(*steps, TABLE_NAME="table", RAG_PROFILE="gacounts")
    run_before_snapshot()
    made: list[object] = []
    for kind, name in ((openai.OpenAI, "__init__"), (botocore.session.Session, "create_client")):
        monkeypatch.setattr(kind, name, lambda *args, **_: made.append(args))
    run_after_restore()
    first = api.ask(IN_SCOPE)
    later = api.ask("And for Singapore?", sessionId=first.json["sessionId"])
    assert [first.status, later.status, later.json["metadata"]["skipped"]] == [200, 200, []]
    assert len(api.llm.requests) == 3
    assert made == []


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize(("waited_s", "status"), [(0, 200), (28, 503), (3600, 200)])
def test_what_a_caller_waited_before_is_taken_off_the_deadline(
    with_llm: Start, restored: bool, waited_s: float, status: int
) -> None:
    """For an init or a restore: API Gateway gives up 29 s after it got the request. One of an hour ago is none."""
    api = with_llm(reply(ANSWER), REQUEST_DEADLINE_S="27")
    if restored:
        run_before_snapshot()
        run_after_restore()
    event = post({"query": IN_SCOPE})
    event["requestContext"]["requestTimeEpoch"] = int(1000 * (time.time() - waited_s))
    assert api.call(event).status == status


def test_the_secret_is_read_again_after_a_restore(by_secret: Start, manager: boto3.client) -> None:
    manager.create_secret(Name=SECRET, SecretString="sk-before")
    api = by_secret(reply(ANSWER))
    run_before_snapshot()
    api.ask(IN_SCOPE)
    manager.put_secret_value(SecretId=SECRET, SecretString="sk-after")
    api.ask(IN_SCOPE)
    run_after_restore()
    api.ask(IN_SCOPE)
    assert bearers(api.llm) == ["sk-before", "sk-before", "sk-after"]
    assert not [key for key in bearers(api.llm) if key in api.output]


def test_init_and_hooks_survive_a_secret_that_is_not_there_yet(by_secret: Start, manager: boto3.client) -> None:
    api = by_secret(reply(ANSWER))
    run_before_snapshot()
    run_after_restore()
    assert api.health().status == 200
    early = api.ask(IN_SCOPE)
    assert (early.status, early.json["code"]) == (503, "llm_unavailable")
    assert api.llm.requests == []
    manager.create_secret(Name=SECRET, SecretString="sk-late")
    late = api.ask(IN_SCOPE)
    assert (late.status, late.json["metadata"]["model"]) == (200, "served-model")
    assert bearers(api.llm) == ["sk-late"]


def test_a_model_that_was_given_up_before_the_snapshot_is_still_known(with_llm: Start) -> None:
    models = {"LLM_MODEL": "withdrawn", "LLM_FALLBACK_MODELS": "present"}
    api = with_llm(error(404, code="model_not_found"), reply(ANSWER), **models)
    assert api.ask(IN_SCOPE).status == 200
    run_after_restore()
    assert api.ask(IN_SCOPE).status == 200
    assert [request.json["model"] for request in api.llm.requests] == ["withdrawn", "present", "present"]


def test_without_the_runtime_s_module_the_function_starts_all_the_same(
    waypoint_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", None)
    with starting(waypoint_index) as start:
        assert start().health().status == 200
