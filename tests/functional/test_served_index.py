"""The function with its index on Chroma's own server: the same answers, and a clear 503 while it is down."""

from collections.abc import Iterator

import chroma_server
import pytest
from chroma_server import ChromaServer
from fakes_llm import LlmServer, reply
from functional.harness import IN_SCOPE, REPOSITORY, Start
from real_model import few_background_questions, model

import snapshot
from knowledge.build.server_ingest import ingest_to_server
from knowledge.model.values import Document
from knowledge.open.server_index import ServerIndex
from knowledge.read.documents import read

UNAVAILABLE = {
    "error": "The documents cannot be reached just now. Ask again in a moment",
    "code": "index_unavailable",
}
OTHER = "Which permits does a carrier need for strategic goods?"


@pytest.fixture(scope="module")
def documents() -> tuple[Document, ...]:
    return tuple(read([REPOSITORY / "samples" / "waypoint"]).documents[:3])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, documents: tuple[Document, ...]) -> Iterator[ChromaServer]:
    """One that holds some of Waypoint's documents, and can be stopped."""
    for running in chroma_server.running(tmp_path_factory.mktemp("chroma")):
        work = tmp_path_factory.mktemp("work")
        with few_background_questions():
            ingest_to_server(documents, uri=running.uri, work=work, embedder=model())
        yield running


def test_a_server_is_answered_from_said_to_be_down_and_found_again(
    start: Start, server: ChromaServer, documents: tuple[Document, ...]
) -> None:
    api = start(INDEX_URI=server.uri)
    answer = api.ask(documents[0].title).json
    assert (answer["refused"], answer["citations"][0]["docId"]) == (False, documents[0].doc_id)
    assert api.health().json["index"]["documents"] == len(documents)
    server.stop()
    try:
        for result in (api.ask(OTHER), api.health()):
            assert (result.status, result.json) == (503, UNAVAILABLE)
            assert result.headers["retry-after"] == "2"
    finally:
        server.start()
    assert api.health().status == 200
    assert api.ask(OTHER).status == 200


def test_no_connection_is_open_in_a_snapshot_and_a_restored_copy_answers(start: Start, server: ChromaServer) -> None:
    api = start(INDEX_URI=server.uri)
    service = api.app.service
    snapshot.before_snapshot(service)
    with service.index.lease() as index:
        assert isinstance(index, ServerIndex)
        assert index._database.connection._api is None
    snapshot.after_restore(service)
    assert api.ask(IN_SCOPE).status == 200


def test_no_server_means_no_model_call(start: Start) -> None:
    nobody = chroma_server.uri_of(chroma_server.free_port())
    with LlmServer([reply("never")]) as model_server:
        api = start(INDEX_URI=nobody, LLM_API_KEY="key", LLM_BASE_URL=model_server.url)
        assert api.ask(IN_SCOPE).json == UNAVAILABLE
        assert model_server.requests == []
