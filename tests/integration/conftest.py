"""What holds for every integration test."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import chroma_server
import pytest
import real_model
from command_line import Run, runner
from fakes import FakeClock, Machine
from fakes_chat import FakeTime
from store_contract import START

from rag.adapters.dynamodb import DynamoDbTable
from rag.adapters.stores.guard import StoreGuard

if TYPE_CHECKING:
    from scripted_dynamodb import ScriptedServer


@pytest.fixture(scope="module", autouse=True)
def few_background_questions() -> Iterator[None]:
    """The default of this folder."""
    with real_model.few_background_questions():
        yield


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of this machine are called directly, whatever it sets for others."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def clock() -> FakeClock:
    """That of the stores."""
    return FakeClock(now=START)


@pytest.fixture
def guard(clock: FakeClock) -> StoreGuard:
    """One whose questions have all the time of the fake clock."""
    return StoreGuard(0.1, clock=clock, wall=clock, run=Machine().run)


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture(scope="session")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chroma_server.ChromaServer]:
    """One server for all tests of a run; each has an index with a name of its own."""
    yield from chroma_server.running(tmp_path_factory.mktemp("chroma"))


@pytest.fixture
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def running_dynamodb() -> Iterator["ScriptedServer"]:
    from scripted_dynamodb import scripted_server

    with scripted_server() as server:
        yield server


@pytest.fixture
def server(running_dynamodb: "ScriptedServer") -> "ScriptedServer":
    """DynamoDB without a script."""
    running_dynamodb.script.clear()
    running_dynamodb.calls.clear()
    running_dynamodb.ports.clear()
    return running_dynamodb


@pytest.fixture
def sleeps() -> list[float]:
    """The pauses that the DynamoDB table made, instead of making them."""
    return []


@pytest.fixture
def dynamodb_table(
    server: "ScriptedServer",
    aws_credentials: None,
    clock: FakeClock,
    sleeps: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[DynamoDbTable]:
    """A new table. moto copies every table for each transaction, so none stays longer than its test."""
    from scripted_dynamodb import create_table, delete_table

    # A second try counts once in DynamoDB, by its ClientRequestToken, and twice in moto: a slow machine makes none.
    monkeypatch.setattr("rag.adapters.dynamodb.READ_TIMEOUT_S", 60)
    name = create_table(server.url)
    table = DynamoDbTable(name, endpoint_url=server.url, clock=clock, sleep=sleeps.append)
    yield table
    table._client.reset()
    delete_table(name, server.url)
