"""A whole GaCounts service whose embedder is remote: who is asked how often, and what runs beside what."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fakes_llm import LlmServer

from rag.adapters.stores.cache import TableAnswerCache
from rag.config.settings import Settings, load
from rag.values.answer import Answer
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.values.stored import CacheHit
from rag.wiring.application import Application, build_application
from ragctl import cli

NEVER_S = 600
QUESTION = "How much is demurrage for each day?"
EMBEDDED = QUESTION.rstrip("?")


def place_of(server: LlmServer) -> dict[str, str]:
    return {
        "EMBED_MODEL": "house-embedding",
        "EMBED_API_KEY": "sk-test-0123456789",
        "EMBED_BASE_URL": server.url,
    }


@pytest.fixture
def embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """An embedding server, and an index that was made with it."""
    (tmp_path / "fees.md").write_text("# Fees\n\nDemurrage is 90 dollars for each day.\n", encoding="utf-8")
    with LlmServer(embed=[]) as server:
        for name, value in {**place_of(server), "MIN_SIMILARITY": "0.1"}.items():
            monkeypatch.setenv(name, value)
        assert cli.run(["ingest", str(tmp_path / "fees.md"), "--index", str(tmp_path / "index")]) == 0
        yield server


@pytest.fixture
def service(embedder: LlmServer, tmp_path: Path) -> Iterator[Callable[[], Application]]:
    """Makes services; their connections are closed at the end."""
    variables = {
        "RAG_PROFILE": "gacounts",
        "INDEX_URI": str(tmp_path / "index"),
        "STORE_PATH": str(tmp_path / "store.sqlite"),
        "STORE_WAIT_S": "60",  # a loaded machine is none of what these tests are about
        **place_of(embedder),
    }
    with ExitStack() as stack:

        def make() -> Application:
            made = build_application(load(Settings, variables))
            stack.callback(made.renew)
            return made

        yield make


def ask(service: Application, text: str = QUESTION) -> Answer:
    return service.pipeline.run(Question(text=text), deadline=Deadline.after(NEVER_S, time.monotonic))


def test_the_shared_cache_is_asked_while_the_question_travels_to_the_embedder(
    embedder: LlmServer, service: Callable[[], Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the shared layer answers only once the embedder has been asked, and nobody asks for a vector twice."""
    travels: list[bool] = []
    read = TableAnswerCache.get

    def read_meanwhile(self: TableAnswerCache, key: str) -> CacheHit | None:
        moment = time.monotonic() + NEVER_S
        while EMBEDDED not in embedder.embedded_texts and time.monotonic() < moment:
            threading.Event().wait(0.01)
        travels.append(EMBEDDED in embedder.embedded_texts)
        return read(self, key)

    monkeypatch.setattr(TableAnswerCache, "get", read_meanwhile)
    answer = ask(service())

    assert travels == [True]
    assert not answer.refused
    assert embedder.embedded_texts.count(EMBEDDED) == 1


def test_a_cached_answer_needs_no_embedder_and_another_process_finds_it_although_that_is_gone(
    embedder: LlmServer, service: Callable[[], Application]
) -> None:
    of = service()
    first = ask(of)
    sent = embedder.embedded_texts

    assert (first.cached, ask(of).cached) == (False, True)
    assert embedder.embedded_texts == sent

    embedder.__exit__(None, None, None)
    found = ask(service())
    assert found.cached
    assert found.text.startswith("Demurrage is 90 dollars")
