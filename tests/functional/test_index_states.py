"""An index that is missing, damaged, foreign, replaced, or fails while it is used."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import chromadb
import pytest
from fakes_llm import reply
from functional.harness import IN_SCOPE, REPOSITORY, Api, Json, Start, post
from manifests import read_body, write_body
from real_model import few_background_questions

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.manifest import MANIFEST_NAME
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


@pytest.fixture
def quick_ingests() -> Iterator[None]:
    with few_background_questions():
        yield


def both_refuse(api: Api, body: dict[str, str]) -> None:
    """Assert that questions and the health check get the same 503."""
    for result in (api.ask(IN_SCOPE), api.health()):
        assert (result.status, result.json) == (503, body)
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


@pytest.mark.parametrize("text", ["{", '{"format": 1}', "[" * 100_000], ids=lambda text: text[:30])
def test_a_manifest_that_cannot_be_read(start: Start, copied: Path, text: str) -> None:
    (copied / MANIFEST_NAME).write_text(text, encoding="utf-8")
    api = start(INDEX_URI=str(copied))
    for result in (api.ask(IN_SCOPE), api.health()):
        assert result.status == 503
        assert result.json in (DAMAGED, MISMATCH)


def test_a_manifest_that_was_altered(start: Start, copied: Path) -> None:
    manifest = copied / MANIFEST_NAME
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"bar": ', '"bar": -9'), encoding="utf-8")
    both_refuse(start(INDEX_URI=str(copied)), DAMAGED)


@pytest.mark.parametrize(
    "change",
    [
        {"embedding": {"model": "text-embedding-3-small", "dimensions": 384, "space": "cosine"}},
        {"format": 999},
    ],
    ids=str,
)
def test_an_index_of_another_model_or_format(start: Start, copied: Path, change: Json) -> None:
    body = read_body(copied)
    assert set(change) <= set(body)
    write_body(copied, {**body, **change})
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


@pytest.mark.usefixtures("quick_ingests")
def test_an_index_that_appears_later_is_noticed(start: Start, tmp_path: Path, embedder: MiniLM) -> None:
    target = tmp_path / "later"
    api = start(INDEX_URI=str(target))
    both_refuse(api, NOT_LOADED)
    # When documents are ingested beside the running function
    ingest(read([CREDIT]).documents, target=target, embedder=embedder)
    # Then the next question is answered
    result = api.ask(CREDIT_QUESTION)
    assert result.status == 200
    assert {doc["docId"] for doc in result.json["relatedDocs"]} == {"INT-005"}
    assert api.health().json["index"]["documents"] == 1


@pytest.mark.usefixtures("quick_ingests")
def test_a_replaced_index_is_noticed(start: Start, tmp_path: Path, embedder: MiniLM) -> None:
    target = tmp_path / "index"
    ingest(read([CREDIT]).documents, target=target, embedder=embedder)
    api = start(INDEX_URI=str(target))
    before = api.health().json["index"]
    assert "CAR-004" not in str(api.ask("is there a fee if i cancel my booking").json)
    # When a document is added
    amendments = REPOSITORY / "samples" / "waypoint" / "02_carriers" / "booking_amendments.md"
    ingest(read([CREDIT, amendments]).documents, target=target, embedder=embedder)
    # Then it is found, and health tells of the new version
    assert "CAR-004" in str(api.ask("is there a fee if i cancel my booking").json)
    after = api.health().json["index"]
    assert (before["documents"], after["documents"]) == (1, 2)
    assert before["version"] != after["version"]


def test_a_broken_replacement_does_not_take_the_index_away(start: Start, copied: Path) -> None:
    api = start(INDEX_URI=str(copied))
    assert api.ask(IN_SCOPE).status == 200
    (copied / MANIFEST_NAME).write_text("{", encoding="utf-8")
    assert api.ask(IN_SCOPE).status == 200


def test_a_chroma_folder_made_elsewhere_is_served(start: Start, tmp_path: Path, embedder: MiniLM) -> None:
    from knowledge.engines.chroma import open_folder

    # Given a folder as Waypoint's own script makes it: default space (L2), texts as Chroma's documents
    texts = {"Payment terms": "Invoices are payable within 30 days of the invoice date.", "Pets": "Cats sleep a lot."}
    folder = tmp_path / "foreign"
    folder.mkdir()
    client = open_folder(folder)
    collection = client.create_collection("waypoint_kb", embedding_function=None)
    collection.add(
        ids=["a", "b"],
        documents=list(texts.values()),
        metadatas=[
            {"title": title, "doc_id": f"D-{title[:3]}", "category": "02_carriers", "url": "javascript:alert(1)"}
            for title in texts
        ],
        embeddings=embedder.embed(list(texts.values())),
    )
    client.close()
    # When it is served, then it answers by what it has, and says so
    usual = start(INDEX_URI=str(folder)).ask(CREDIT_QUESTION).json
    assert "30 days" in usual["answer"]
    assert usual["metadata"]["trail"] == [NOT_LATE]
    # and with the seed's rules as the seed does; health says that there is no manifest
    api = start(INDEX_URI=str(folder), SEED_RULES="on")
    body = api.ask(CREDIT_QUESTION).json
    assert [doc["docId"] for doc in body["relatedDocs"]] == ["D-Pay"]
    # and an address that nobody checked at ingest is not handed on
    assert "javascript:" not in str(body)
    assert "30 days" in body["answer"]
    index = api.health().json["index"]
    assert (index["manifest"], index["documents"], index["chunks"], index["builtAt"]) == (False, 2, 2, None)
    # and its scores are on the scale of the seed: 2 cos - 1
    cosine = float(embedder.embed([CREDIT_QUESTION.rstrip("?")])[0] @ embedder.embed([texts["Payment terms"]])[0])
    assert body["citations"][0]["score"] == pytest.approx(2 * cosine - 1, abs=1e-3)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_folder_made_elsewhere_answers_in_every_profile(
    start: Start, tmp_path: Path, embedder: MiniLM, profile: str
) -> None:
    # Given a folder with ids of its own kind and prices of both kinds of number
    texts = [
        "A wooden pallet costs 5 dollars to rent at the Jurong depot for one week.",
        "A plastic pallet costs 5.5 dollars to rent at the Jurong depot for one week.",
        "A steel pallet ZX-9 costs 6 dollars to rent at the Jurong depot for one week.",
        "Cats sleep for most of the day, and dogs like to be walked in the park.",
    ]
    client = chromadb.PersistentClient(str(tmp_path))
    client.create_collection("waypoint_kb", embedding_function=None).add(
        ids=[f"page/{n}" for n in range(4)],
        documents=texts,
        metadatas=[
            {"title": "Wood", "price": 5},
            {"title": "Plastic", "price": 5.5},
            {"title": "Steel", "price": 6},
            {"title": "Pets"},
        ],
        embeddings=embedder.embed(texts),
    )
    client.close()  # type: ignore[attr-defined]
    api = start(INDEX_URI=str(tmp_path), RAG_PROFILE=profile)
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
