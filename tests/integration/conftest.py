"""What holds for every integration test."""

from collections.abc import Iterator

import chroma_server
import pytest
import real_model
from command_line import Run, runner
from fakes import FakeClock, Machine
from fakes_chat import FakeTime
from store_contract import START

from rag.adapters.store_guard import StoreGuard


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
