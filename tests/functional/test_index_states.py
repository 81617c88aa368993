"""An index that is missing, damaged, foreign, replaced, on a server, or fails while it is used."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import chroma_server
import chromadb
import pytest
import real_model
from chroma_server import ChromaServer
from fakes_llm import reply
from functional.harness import DECLINE, IN_SCOPE, REPOSITORY, Api, Json, Start, post
from manifests import read_body, write_body

import snapshot
from knowledge.build.ingest import ingest
from knowledge.build.server_ingest import ingest_to_server
from knowledge.embedding import MiniLM
from knowledge.model.manifest import MANIFEST_NAME
from knowledge.open.server_index import ServerIndex
from knowledge.read.documents import read
from rag.find.retrieve import NOT_LATE
from rag.profiles import PROFILES

NOT_LOADED = {"error": "No index is loaded. Run: ragctl ingest PATH", "code": "index_not_ready"}
DAMAGED = {"error": "The index is damaged. Run: ragctl ingest PATH", "code": "index_not_ready"}
MISMATCH = {
    "error": "The index was made for another embedding model or format. Run: ragctl ingest PATH",
    "code": "index_mismatch",
}
CREDIT = REPOSITORY / "samples" / "waypoint" / "04_internal_synthetic" / "credit_terms.md"
CREDIT_QUESTION = "how many days do we have to pay your invoices?"


@pytest.fixture
def copied(waypoint_index: Path, tmp_path: Path) -> Path:
    """The sample index, to be spoilt."""
    return shutil.copytree(waypoint_index, tmp_path / "index", symlinks=True)


def both_refuse(api: Api, *bodies: dict[str, str]) -> None:
    """Assert that questions and the health check get the same 503."""
    for result in (api.ask(IN_SCOPE), api.health()):
        assert result.status == 503
        assert result.json in bodies
        assert result.headers["content-type"] == "application/json"
        assert result.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("place", ["nowhere", "empty", "file", "file:///{0}/nowhere", "https://example.test/index"])
def test_no_index(start: Start, tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    uri = place.format(tmp_path) if "://" in place else str(tmp_path / place)
    both_refuse(start(INDEX_URI=uri), NOT_LOADED)


def test_a_bad_request_is_one_even_without_an_index(start: Start, tmp_path: Path) -> None:
    api = start(INDEX_URI=str(tmp_path / "nowhere"))
    assert api.ask("").json["code"] == "empty_query"
    assert api.call(post("{")).json["code"] == "invalid_json"
    assert api.ask(IN_SCOPE, topK=0).json["code"] == "invalid_parameter"
    assert api.ask(IN_SCOPE, filters={"category": "x"}).json == NOT_LOADED


def test_no_index_means_no_llm_call(with_llm: Start, tmp_path: Path) -> None:
    api = with_llm(reply("never"), INDEX_URI=str(tmp_path))
    assert api.ask(IN_SCOPE).status == 503
    assert api.llm.connections == 0


def truncate(path: Path) -> None:
    """Leave half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    """Change one byte in the middle; the size stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "pattern"),
    [
        (truncate, "**/chroma.sqlite3"),
        (flip, "**/data_level0.bin"),
        (flip, "**/texts.zlib"),
        (Path.unlink, "**/texts.npy"),
    ],
)
def test_a_damaged_index(start: Start, copied: Path, spoil: Callable[[Path], None], pattern: str) -> None:
    (file,) = copied.glob(pattern)
    spoil(file)
    both_refuse(start(INDEX_URI=str(copied)), DAMAGED)


@pytest.mark.parametrize("text", ["{", '{"format": 1}', "[" * 100_000, None], ids=["half", "old", "deep", "altered"])
def test_a_manifest_that_cannot_be_read_or_was_altered(start: Start, copied: Path, text: str | None) -> None:
    manifest = copied / MANIFEST_NAME
    altered = manifest.read_text(encoding="utf-8").replace('"bar": ', '"bar": -9')
    manifest.write_text(text or altered, encoding="utf-8")
    both_refuse(start(INDEX_URI=str(copied)), DAMAGED, *([MISMATCH] if text else []))


@pytest.mark.parametrize(
    "change",
    [{"embedding": {"model": "text-embedding-3-small", "dimensions": 384, "space": "cosine"}}, {"format": 999}],
    ids=str,
)
def test_an_index_of_another_model_or_format(start: Start, copied: Path, change: Json) -> None:
    write_body(copied, {**read_body(copied), **change})
    both_refuse(start(INDEX_URI=str(copied)), MISMATCH)


def test_a_search_that_fails_is_500_and_the_cause_goes_to_the_log(start: Start) -> None:
    api = start()
    assert api.ask(IN_SCOPE).status == 200
    # Given that Chroma's engine is gone under the open index
    with api.app.service.index.lease() as index:
        index._collection.close()
    # When a question is asked, then the caller gets a fixed sentence and the log the reason
    result = api.ask(IN_SCOPE)
    assert result.status == 500
    assert result.json == {"error": "Pipeline error: Retrieval failed", "code": "pipeline_error"}
    (line,) = [line for line in result.logs if line["level"] == "ERROR"]
    assert line["exception_name"] == "SearchFailed"
    assert "The query on the index failed" in line["exception"]


def test_a_fault_of_our_own_is_500_without_a_word_of_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    api = start()

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("secret internals")

    pipeline = replace(api.app.service.pipeline, retrieve=broken)
    monkeypatch.setattr(api.app, "service", replace(api.app.service, pipeline=pipeline))
    result = api.ask(IN_SCOPE)
    assert result.status == 500
    assert result.json == {"error": "Pipeline error: Unexpected failure", "code": "pipeline_error"}
    assert "secret internals" in result.output


@real_model.few_background_questions()
def test_an_index_that_appears_later_and_one_that_is_replaced_are_noticed(
    start: Start, tmp_path: Path, embedder: MiniLM
) -> None:
    target = tmp_path / "later"
    api = start(INDEX_URI=str(target))
    both_refuse(api, NOT_LOADED)
    # When documents are ingested beside the running function, the next question is answered
    ingest(read([CREDIT]).documents, target=target, embedder=embedder)
    assert {doc["docId"] for doc in api.ask(CREDIT_QUESTION).json["relatedDocs"]} == {"INT-005"}
    before = api.health().json["index"]
    assert "CAR-004" not in str(api.ask("is there a fee if i cancel my booking").json)
    # When a document is added, it is found, and health tells of the new version
    amendments = REPOSITORY / "samples" / "waypoint" / "02_carriers" / "booking_amendments.md"
    ingest(read([CREDIT, amendments]).documents, target=target, embedder=embedder)
    assert "CAR-004" in str(api.ask("is there a fee if i cancel my booking").json)
    after = api.health().json["index"]
    assert (before["documents"], after["documents"]) == (1, 2)
    assert before["version"] != after["version"]


def test_a_broken_replacement_does_not_take_the_index_away(start: Start, copied: Path) -> None:
    api = start(INDEX_URI=str(copied))
    assert api.ask(IN_SCOPE).status == 200
    (copied / MANIFEST_NAME).write_text("{", encoding="utf-8")
    assert api.ask(IN_SCOPE).status == 200


def make_elsewhere(folder: Path, pages: dict[str, Json], *, with_texts: bool = True) -> None:
    """A folder of Chroma's default space (L2), as others' scripts make it: metadata by text."""
    texts = list(pages)
    client = chromadb.PersistentClient(str(folder))
    client.create_collection("waypoint_kb", embedding_function=None).add(
        ids=[f"page/{number}" for number in range(len(texts))],
        documents=texts if with_texts else None,
        metadatas=list(pages.values()),
        embeddings=real_model.model().embed(texts),
    )
    client.close()  # type: ignore[attr-defined]


def test_a_chroma_folder_made_elsewhere_is_served(start: Start, tmp_path: Path, embedder: MiniLM) -> None:
    terms = "Invoices are payable within 30 days of the invoice date."
    usual = {"category": "02_carriers", "url": "javascript:alert(1)"}
    make_elsewhere(tmp_path, {terms: {"doc_id": "PAY", **usual}, "Cats sleep a lot.": {"doc_id": "PETS", **usual}})
    # When it is served, then it answers by what it has, and says so
    answer = start(INDEX_URI=str(tmp_path)).ask(CREDIT_QUESTION).json
    assert "30 days" in answer["answer"]
    assert answer["metadata"]["trail"] == [NOT_LATE]
    # and with the seed's rules as the seed does; health says that there is no manifest
    api = start(INDEX_URI=str(tmp_path), SEED_RULES="on")
    body = api.ask(CREDIT_QUESTION).json
    assert [doc["docId"] for doc in body["relatedDocs"]] == ["PAY"]
    # and an address that nobody checked at ingest is not handed on
    assert "javascript:" not in str(body)
    assert "30 days" in body["answer"]
    index = api.health().json["index"]
    assert (index["manifest"], index["documents"], index["chunks"], index["builtAt"]) == (False, 2, 2, None)
    # and its scores are on the scale of the seed: 2 cos - 1
    cosine = float(embedder.embed([CREDIT_QUESTION.rstrip("?")])[0] @ embedder.embed([terms])[0])
    assert body["citations"][0]["score"] == pytest.approx(2 * cosine - 1, abs=1e-3)


@pytest.fixture(scope="module")
def pallets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder made elsewhere, with prices of both kinds of number."""
    folder = tmp_path_factory.mktemp("pallets")
    prices = {"wooden": 5, "plastic": 5.5, "steel ZX-9": 6}
    pages: dict[str, Json] = {
        f"A {kind} pallet costs {price} dollars to rent at the Jurong depot for one week.": {"price": price}
        for kind, price in prices.items()
    }
    make_elsewhere(folder, {**pages, "Cats sleep for most of the day, and dogs like to be walked.": {"title": "Pets"}})
    return folder


@pytest.mark.parametrize("profile", PROFILES)
def test_a_folder_made_elsewhere_answers_in_every_profile(start: Start, pallets: Path, profile: str) -> None:
    api = start(INDEX_URI=str(pallets), RAG_PROFILE=profile)
    question = "What does it cost to rent a pallet ZX-9 at the Jurong depot?"
    # When it is asked, then it answers from the text
    body = api.ask(question).json
    assert (body["refused"], body["metadata"]["profile"]) == (False, profile)
    assert "6 dollars" in body["answer"]
    # and its ids are the numbers of the sorted ids
    assert body["citations"][0]["id"] in ("id_3", None)
    # and the filters bind what is found
    dear = api.ask(question, threshold=-1, filters={"price": {"$gte": 5.2}}).json
    assert dear["metadata"]["chunksRetrieved"] == 2
    assert "costs 5 dollars" not in dear["answer"]
    assert api.health().json["index"]["manifest"] is False


def test_a_folder_made_elsewhere_without_texts_declines(start: Start, tmp_path: Path) -> None:
    text = "Permits cost forty dollars at the counter."
    make_elsewhere(tmp_path, {text: {"title": "Fees"}}, with_texts=False)
    body = start(INDEX_URI=str(tmp_path)).ask(text).json
    assert (body["answer"], body["refused"]) == (DECLINE, True)
    assert (body["relatedDocs"], body["metadata"]["model"]) == ([], None)


UNAVAILABLE = {"error": "The documents cannot be reached just now. Ask again in a moment", "code": "index_unavailable"}
OTHER = "Which permits does a carrier need for strategic goods?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """One that holds three of Waypoint's documents, and can be stopped."""
    for running in chroma_server.running(tmp_path_factory.mktemp("chroma")):
        work, documents = tmp_path_factory.mktemp("work"), read([CREDIT.parents[1]]).documents[:3]
        with real_model.few_background_questions():
            ingest_to_server(documents, uri=running.uri, work=work, embedder=real_model.model())
        yield running


def test_a_server_is_answered_from_said_to_be_down_and_found_again(start: Start, server: ChromaServer) -> None:
    api = start(INDEX_URI=server.uri)
    document, *_ = read([CREDIT.parents[1]]).documents
    answer = api.ask(document.title).json
    assert (answer["refused"], answer["citations"][0]["docId"]) == (False, document.doc_id)
    assert api.health().json["index"]["documents"] == 3
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


def test_no_server_means_no_model_call(with_llm: Start) -> None:
    api = with_llm(reply("never"), INDEX_URI=chroma_server.uri_of(chroma_server.free_port()))
    assert api.ask(IN_SCOPE).json == UNAVAILABLE
    assert api.llm.requests == []
