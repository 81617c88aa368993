"""Both sides of a real index: dense and BM25 candidates, filters, consistency, indexes without BM25."""

import hashlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from fakes_embedding import HashingEmbedder
from manifests import read_body, write_body

from knowledge.build.ingest import ingest
from knowledge.cut.embedding_text import embed_text
from knowledge.model.errors import IndexDamaged, SearchFailed
from knowledge.model.values import Document
from knowledge.open.index import Index, open_index
from knowledge.search.candidates import Candidates
from knowledge.search.lexical import write_lexical

EMBEDDER = HashingEmbedder()
WORDS = ["harbour", "customs", "permit", "tariff", "vessel", "invoice", "cargo", "broker"]
BYTE_A_NUMBER = 5e-3
"""What rounding to 127 steps costs these vectors of a few large numbers; among 384 like ones it evens out."""


def documents(count: int = 60) -> list[Document]:
    return [
        Document(
            doc_id=f"d{n}", title=f"Document {n}", text=f"The {WORDS[n % 8]} rule is number{n} of the {WORDS[n % 3]}.",
            digest=str(n), path=f"d{n}.md", category=f"0{n % 4}", extra={"year": 2000 + n},
        )
        for n in range(count)
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ingest(documents(), target=tmp_path / "index", embedder=EMBEDDER)
    return tmp_path / "index"


def opened(folder: Path) -> Index:
    return open_index(folder, embedder=EMBEDDER)


def ask(index: Index, text: str, **options: Any) -> Candidates:
    return index.candidates(text, EMBEDDER.embed([text])[0], **options)


def record_anew(folder: Path, name: str) -> None:
    """Make the manifest agree with a changed file: what is found then is not the checksum."""
    body = read_body(folder)
    content = (folder / body["data"] / name).read_bytes()
    body["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    write_body(folder, body)


# Candidates


@pytest.mark.parametrize("where", [None, {"category": "01"}, {"year": {"$gte": 2050}}])
@pytest.mark.parametrize("text", ["tariff number35", "What of the customs rule, harbour?", "nothing known", "the"])
def test_candidates_are_the_best_of_both_sides_with_both_scores(
    folder: Path, text: str, where: dict[str, object] | None
) -> None:
    index = opened(folder)
    chunks = list(index.iter_chunks())
    vectors = EMBEDDER.embed([embed_text(chunk.title, chunk.text) for chunk in chunks])
    cosines = vectors @ EMBEDDER.embed([text])[0]
    assert index.lexical is not None
    bm25 = index.lexical.scores(text)
    admitted = {
        chunk.number for chunk in chunks
        if where is None or chunk.category == where.get("category") or ("year" in where and chunk.number > 50)
    }  # fmt: skip

    found = ask(index, text, k=5, where=where)

    rows = [number - 1 for number in found.numbers.tolist()]
    assert set(found.numbers.tolist()) <= admitted
    assert found.numbers.tolist() == sorted(set(found.numbers.tolist()))
    assert found.dense.values == pytest.approx(cosines[rows], abs=BYTE_A_NUMBER)
    assert found.bm25.values.tolist() == bm25[rows].tolist()
    assert found.vectors == pytest.approx(vectors[rows], abs=BYTE_A_NUMBER)
    for scores, least in ((cosines, -2.0), (bm25, 0.0)):
        others = [scores[number - 1] for number in admitted - set(found.numbers.tolist())]
        best = sorted((float(scores[number - 1]) for number in admitted), reverse=True)[:5]
        assert not [score for score in others if score > max(least, best[-1]) + 1e-4]
    assert (found.dense.mean, found.dense.std) == pytest.approx((cosines.mean(), cosines.std()), abs=BYTE_A_NUMBER)
    assert (found.bm25.mean, found.bm25.std) == pytest.approx((bm25.mean(), bm25.std()), abs=1e-5)
    index.close()


def test_a_rare_word_is_found_that_the_vectors_miss(folder: Path) -> None:
    index = opened(folder)
    away = -EMBEDDER.embed(["Document 37"])[0]  # the nearest chunks are any but that one

    found = index.candidates("number37", away, k=3)

    best = int(np.argmax(found.bm25.z))
    assert found.numbers[best] == 38
    assert found.bm25.values[best] > 0
    assert found.dense.values[best] < 0
    assert np.count_nonzero(found.bm25.values) == 1
    assert len(found) == 4
    index.close()


def test_chunks_are_fetched_in_the_order_asked_for(folder: Path) -> None:
    index = opened(folder)

    assert [chunk.number for chunk in index.fetch([40, 7, 13])] == [40, 7, 13]
    assert index.fetch([]) == ()
    with pytest.raises(SearchFailed, match="id_99"):
        index.fetch([1, 99])
    index.close()


def test_a_filter_that_admits_nothing_finds_nothing(folder: Path) -> None:
    index = opened(folder)

    assert len(ask(index, "tariff rule", where={"category": "none"})) == 0
    index.close()


def test_threads_get_what_one_gets(folder: Path) -> None:
    index = opened(folder)
    texts = [f"{WORDS[n % 8]} rule number{n}" for n in range(60)]
    expected = [ask(index, text, k=3).numbers.tolist() for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: ask(index, text, k=3).numbers.tolist(), texts * 3)) == expected * 3
    index.close()


@pytest.mark.parametrize("texts", [["One chunk only."], ["!", "?"], ["Same words."] * 3])
def test_the_smallest_collections_work(tmp_path: Path, texts: list[str]) -> None:
    few = [Document(doc_id=f"d{n}", title="", text=t, digest=str(n), path=f"{n}.md") for n, t in enumerate(texts)]
    ingest(few, target=tmp_path, embedder=EMBEDDER)
    index = opened(tmp_path)

    found = ask(index, "one same word")

    assert found.numbers.tolist() == list(range(1, len(texts) + 1))
    assert found.dense.z == pytest.approx(np.zeros(len(texts)), abs=2)
    index.close()


# Built and replaced together


def test_an_ingest_updates_both_sides(folder: Path) -> None:
    changed = [*documents()[:59], Document(doc_id="new", title="New", text="A zebra crossing.", digest="z", path="z")]

    ingest(changed, target=folder, embedder=EMBEDDER)
    index = opened(folder)

    assert index.lexical is not None
    assert index.lexical.numbers.tolist() == [chunk.number for chunk in index.iter_chunks()] == [*range(1, 60), 61]
    assert index.lexical.scores("number59").max() == 0
    found = ask(index, "zebra", k=1)
    assert found.numbers[np.argmax(found.bm25.values)] == 61
    index.close()


def test_the_manifest_tells_of_the_bm25_side(folder: Path) -> None:
    body = read_body(folder)

    assert (body["lexical"]["rows"], body["lexical"]["method"], body["lexical"]["stemmer"]) == (60, "lucene", "english")
    assert (body["lexical"]["k1"], body["lexical"]["b"]) == (1.5, 0.75)
    assert {"vectors.npy", "moments.npy", "lexical/numbers.npy", "lexical/vocab.index.json"} <= body["files"].keys()


def test_a_bm25_side_of_other_chunks_is_damage(folder: Path) -> None:
    name = "lexical/numbers.npy"
    path = folder / read_body(folder)["data"] / name
    np.save(path, np.load(path) + 1)
    record_anew(folder, name)

    with pytest.raises(IndexDamaged, match=r"BM25 side of the index has other chunks than its texts\. Run: ragctl"):
        opened(folder)


def test_a_bm25_side_of_another_ingest_is_damage(folder: Path, tmp_path: Path) -> None:
    ingest(documents(59), target=tmp_path / "other", embedder=EMBEDDER)
    ours, theirs = read_body(folder), read_body(tmp_path / "other")
    for name in ours["files"]:
        if name.startswith("lexical/"):
            shutil.copy(tmp_path / "other" / theirs["data"] / name, folder / ours["data"] / name)
            record_anew(folder, name)

    with pytest.raises(IndexDamaged, match=r"Run: ragctl ingest PATH"):
        opened(folder)


# Chroma folders made elsewhere


def made_elsewhere(place: Path, ids: list[str], options: dict[str, Any]) -> Path:
    """The documents of ``documents()`` with what an index of ours keeps of them, in a folder without a manifest."""
    ours = documents(len(ids))
    client = chromadb.PersistentClient(str(place))
    client.create_collection("waypoint_kb", embedding_function=None, **options).add(
        ids=ids,
        embeddings=EMBEDDER.embed([embed_text(document.title, document.text) for document in ours]),
        documents=[document.text for document in ours],
        metadatas=[
            {"title": document.title, "category": document.category, "year": 2000 + n}
            for n, document in enumerate(ours)
        ],
    )
    client.close()  # type: ignore[attr-defined]
    return place


@pytest.mark.parametrize("where", [None, {"category": "01"}, {"year": {"$gte": 2050}}, {"category": "none"}])
@pytest.mark.parametrize(
    ("ids", "options"),
    [
        ([f"id_{n}" for n in range(1, 61)], {}),
        ([f"page-{n:02}" for n in range(60)], {"configuration": {"hnsw": {"space": "cosine"}}}),
    ],
)
def test_a_folder_made_elsewhere_gives_the_candidates_of_our_own_index(
    folder: Path, tmp_path: Path, ids: list[str], options: dict[str, Any], where: dict[str, object] | None
) -> None:
    ours, theirs = opened(folder), opened(made_elsewhere(tmp_path / "theirs", ids, options))
    assert theirs.manifest is None

    for text in ("tariff number35", "What of the customs rule, harbour?", "nothing known", "Document 7"):
        expected, found = ask(ours, text, k=7, where=where), ask(theirs, text, k=7, where=where)
        # Of equals another may be the nearest in theirs: the best scores are the same, if not the chunks.
        for side in ("dense", "bm25"):
            wanted, got = getattr(expected, side), getattr(found, side)
            assert sorted(got.values)[-7:] == pytest.approx(sorted(wanted.values)[-7:], abs=BYTE_A_NUMBER)
            assert (got.mean, got.std) == pytest.approx((wanted.mean, wanted.std), abs=1e-4)
            assert len(got.values) == len(found)

    assert theirs.lexical is not None
    assert theirs.lexical.scores("number59").argmax() == 59
    ours.close()
    theirs.close()


def test_of_many_threads_one_makes_the_bm25_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def write(*args: Any, language: str) -> Any:
        made.append(args)
        return write_lexical(*args, language=language)

    monkeypatch.setattr("knowledge.open.foreign.write_lexical", write)
    index = opened(made_elsewhere(tmp_path / "theirs", [f"p{n:02}" for n in range(60)], {}))
    assert made == []  # opening, and searching by vector, pay nothing
    index.nearest(EMBEDDER.embed(["rule"])[0], k=3)
    assert made == []

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda n: ask(index, f"number{n}", k=1), range(60)))

    assert len(made) == 1
    assert [int(one.numbers[int(np.argmax(one.bm25.values))]) for one in found] == list(range(1, 61))
    index.close()


def test_what_is_made_for_a_foreign_folder_goes_with_the_index_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    place, scratch = made_elsewhere(tmp_path / "theirs", ["b", "a"], {}), tmp_path / "scratch"
    scratch.mkdir()
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    index = open_index(place, embedder=EMBEDDER, scratch=scratch)

    assert len(ask(index, "rule")) == 2
    index.close()

    assert list(scratch.iterdir()) == []
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    with pytest.raises(SearchFailed):
        ask(index, "rule")


def test_foreign_chunks_without_text_or_title_are_found_by_vector_alone(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path))
    client.create_collection("waypoint_kb").add(ids=["x", "y"], embeddings=EMBEDDER.embed(["x", "y"]))
    client.close()  # type: ignore[attr-defined]
    index = opened(tmp_path)

    found = ask(index, "untitled x")

    assert found.numbers.tolist() == [1, 2]
    assert found.bm25.values.tolist() == [0, 0]
    index.close()


SEARCH = """
import sys
from fakes_embedding import HashingEmbedder
from knowledge.open.index import open_index
embedder = HashingEmbedder()
index = open_index(sys.argv[1], embedder=embedder)
assert len(index.candidates("tariff rule", embedder.embed(["tariff rule"])[0]))
print(sorted({"bm25s", "scipy", "numba", "jax"} & set(sys.modules)))
"""


def test_a_search_needs_nothing_of_the_library_that_made_the_index(folder: Path) -> None:
    tests = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", SEARCH, folder], capture_output=True, text=True, check=True, cwd=tests)

    assert done.stdout.strip() == "[]"
