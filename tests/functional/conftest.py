"""Fixtures of the functional tests: one real index, and the function started on it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import real_model
from fakes_llm import LlmServer, Step
from functional.harness import API_KEY, FEES, REMOTE, Api, Json, Start, starting

from knowledge.embedding import MiniLM
from ragctl import cli


@pytest.fixture(scope="session")
def embedder() -> MiniLM:
    """The real embedding model."""
    return real_model.model()


@pytest.fixture(scope="session")
def waypoint_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """samples/waypoint as an index; copy it before changing it."""
    return real_model.sample_index("waypoint", tmp_path_factory)


@pytest.fixture(scope="session")
def gacounts_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """samples/gacounts as an index; copy it before changing it."""
    return real_model.sample_index("gacounts", tmp_path_factory)


@pytest.fixture(scope="session")
def clockify_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """samples/clockify as an index; copy it before changing it."""
    return real_model.sample_index("clockify", tmp_path_factory)


@pytest.fixture(scope="session")
def remote_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of one page that an embedder elsewhere has embedded, while that was well."""
    folder = tmp_path_factory.mktemp("remote")
    (folder / "fees.md").write_text(FEES, encoding="utf-8")
    with LlmServer(embed=[]) as server, pytest.MonkeyPatch.context() as patch, real_model.few_background_questions():
        for name, value in {**REMOTE, "EMBED_BASE_URL": server.url}.items():
            patch.setenv(name, value)
        assert cli.run(["ingest", str(folder / "fees.md"), "--index", str(folder / "index")]) == 0
    return folder / "index"


@pytest.fixture
def start(waypoint_index: Path) -> Iterator[Start]:
    """Starts the function, by default on the sample index and without an LLM."""
    with starting(waypoint_index) as start:
        yield start


@pytest.fixture
def fresh(gacounts_index: Path) -> Iterator[Start]:
    """Starts GaCounts on its sample index; every start is another process, with an L1 of its own."""
    with starting(gacounts_index) as start:
        yield start


@pytest.fixture(scope="module")
def api(waypoint_index: Path) -> Iterator[Api]:
    """The function with the extractive engine, started once for a module: for calls that leave no trace."""
    with starting(waypoint_index) as start:
        yield start()


@pytest.fixture
def with_llm(start: Start) -> Iterator[Start]:
    """Starts the function beside an LLM, its ``llm``: ``with_llm(error(500), reply("Yes."), LLM_MAX_RETRIES="0")``.

    After these steps, or without any, it says what ``answer`` returns.
    """
    usual = {"LLM_API_KEY": API_KEY, "LLM_BACKOFF_BASE_S": "0.001", "LLM_FALLBACK_MODELS": "openai/gpt-oss-20b"}
    with ExitStack() as servers:

        def start_with(*steps: Step, answer: Callable[[Json], str] | None = None, **env: str) -> Api:
            server = servers.enter_context(LlmServer(steps, answer=answer))
            api = start(LLM_BASE_URL=server.url, **{**usual, **env})
            api.llm = server
            return api

        yield start_with
