"""Opening and searching real Chroma indexes: whole, damaged, mismatching, foreign, read-only, swapped."""

import gc
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from command_line import run_fresh
from fakes_embedding import HashingEmbedder
from manifests import read_body, write_body

from knowledge.build.ingest import ingest
from knowledge.model.errors import IndexDamaged, IndexMismatch, IndexMissing, SearchFailed
from knowledge.model.values import Document
from knowledge.open.handle import IndexHandle, watch
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.open.opened import ChromaIndex
from knowledge.open.place import folder_of

EMBEDDER = HashingEmbedder()
WORDS = ["harbour", "customs", "permit", "tariff", "vessel", "invoice", "cargo", "broker"]


def documents(count: int = 20) -> list[Document]:
    return [
        Document(
            doc_id=f"d{n}", title=f"Document {n}", text=f"## About\n\nThe {WORDS[n % 8]} number{n} rule.",
            digest=str(n), path=f"d{n}.md", category=f"0{n % 4}", source_urls=(f"https://example.com/{n}",),
            extra={"year": 2000 + n, "rate": n / 2, "internal": n % 2 == 0},
        )
        for n in range(count)
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ingest(documents(), target=tmp_path / "index", embedder=EMBEDDER)
    return tmp_path / "index"


def opened(folder: Path | str, **options: Any) -> EmbeddedIndex:
    return open_index(folder, embedder=EMBEDDER, **options)


@pytest.fixture
def index(folder: Path) -> Iterator[EmbeddedIndex]:
    with closing(opened(folder)) as index:
        yield index


def ask(index: ChromaIndex, text: str, k: int = 3, **options: Any) -> list[int]:
    return [hit.chunk.number for hit in index.nearest(EMBEDDER.embed([text])[0], k=k, **options)]


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def data_file(folder: Path, pattern: str) -> Path:
    return next(folder.glob(f"data-*/{pattern}"))


# Searching


def test_an_index_finds_chunks_with_everything_that_was_stored_of_them(index: EmbeddedIndex) -> None:
    question = EMBEDDER.embed(["Document 9\n## About\n\nThe customs number9 rule."])[0]

    hit = index.nearest(question, k=1)[0]

    assert hit.score == pytest.approx(1, abs=1e-6)
    assert hit.parts == {"dense": hit.score}
    assert hit.chunk == index.chunk(10)
    assert hit.chunk.text == "## About\n\nThe customs number9 rule."
    assert (hit.chunk.section, hit.chunk.source_urls, hit.chunk.chunk_count) == ("About", ("https://example.com/9",), 1)
    assert hit.chunk.extra == {"year": 2009, "rate": 4.5, "internal": False}
    assert hit.vector is not None
    assert hit.vector.dtype == np.float32
    assert hit.vector == pytest.approx(question, abs=1e-6)
    assert (index.documents, index.chunks) == (20, 20)
    assert index.fields["rate"] == "float"


def test_scores_are_the_cosines_and_come_best_first(index: EmbeddedIndex) -> None:
    question = EMBEDDER.embed(["customs permit rule 7"])[0]
    texts = {c.number: EMBEDDER.embed([f"{c.title}\n{c.text}"])[0] @ question for c in index.iter_chunks()}

    hits = index.nearest(question, k=50)

    assert [hit.chunk.number for hit in hits] == [
        h.chunk.number for h in sorted(hits, key=lambda h: (-h.score, h.chunk.number))
    ]
    assert {hit.chunk.number: hit.score for hit in hits} == pytest.approx(texts, abs=1e-5)


def test_equal_scores_are_ordered_by_number(tmp_path: Path) -> None:
    twins = [Document(doc_id=f"t{n}", title="T", text="Same text.", digest=str(n), path=f"{n}.md") for n in range(9)]
    ingest(twins, target=tmp_path, embedder=EMBEDDER)
    index = opened(tmp_path)

    assert ask(index, "same text", k=9) == list(range(1, 10))
    index.close()


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        ({"year": {"$gte": 2018}}, {19, 20}),
        ({"$and": [{"category": "03"}, {"internal": False}, {"rate": {"$lt": 4}}]}, {4, 8}),
        ({"doc_id": {"$in": ["d0", "d19"]}}, {1, 20}),
        ({"chunk_number": 5}, {5}),
        ({"category": "none"}, set()),
        ({"$or": [{"year": {"$gte": 2018}}, {"doc_id": "d0"}]}, {1, 19, 20}),
        ({"jurisdiction": "SG"}, set()),  # a field that no document has a value of
        ({"jurisdiction": {"$ne": "SG"}}, set(range(1, 21))),
    ],
)
def test_filters_hold(index: EmbeddedIndex, where: dict[str, object], numbers: set[int]) -> None:
    assert set(ask(index, "rule", k=50, where=where)) == numbers


def test_a_filter_that_leaves_few_of_many_finds_them(tmp_path: Path) -> None:
    ingest(documents(1500), target=tmp_path, embedder=EMBEDDER)
    index = opened(tmp_path)

    assert set(ask(index, "harbour rule", k=10, where={"year": {"$in": [2003, 3100, 3499]}})) == {4, 1101, 1500}
    index.close()


@pytest.mark.parametrize("where", [{"a": 1, "b": 2}, {"a": {"$nonsense": 1}}, {"a": {"$in": []}}])
def test_a_malformed_filter_is_a_failed_search(index: EmbeddedIndex, where: dict[str, object]) -> None:
    with pytest.raises(SearchFailed):
        ask(index, "rule", where=where)


@pytest.mark.parametrize("vector", [np.full(384, np.nan, np.float32), np.ones(3, np.float32)])
def test_an_unusable_question_vector_is_a_failed_search(
    index: EmbeddedIndex, vector: np.ndarray[tuple[int], np.dtype[np.float32]]
) -> None:
    with pytest.raises(SearchFailed):
        index.nearest(vector, k=1)


def test_chunks_are_found_by_number(index: EmbeddedIndex) -> None:
    assert [chunk.number for chunk in index.iter_chunks()] == list(range(1, 21))
    assert [number for number in (-1, 0, 1, 20, 21) if index.chunk(number)] == [1, 20]


def test_a_closed_index_fails_and_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    index = opened(folder, scratch=scratch)
    assert len(list(scratch.iterdir())) == 1

    index.close()
    index.close()

    assert list(scratch.iterdir()) == []
    with pytest.raises(SearchFailed):
        ask(index, "rule")


# The source is only read


def test_a_read_only_source_opens_and_stays_as_it_is(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = hashes(folder)

    index = opened(folder)
    assert ask(index, "Document 3 tariff number3", k=1) == [4]
    index.close()

    assert hashes(folder) == before
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("count", [1, 2, 1001])
def test_no_number_of_chunks_leaves_anything_that_chroma_would_write_to_the_source(tmp_path: Path, count: int) -> None:
    ingest(documents(count), target=tmp_path, embedder=EMBEDDER)
    before = hashes(tmp_path)

    index = opened(tmp_path)
    assert index.chunks == count
    index.close()

    assert hashes(tmp_path) == before


def test_an_index_opens_by_uri_and_through_a_symlink(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link to it").symlink_to(folder)
    monkeypatch.chdir(tmp_path)

    for place in ("index", "./link to it", (tmp_path / "link to it").as_uri()):
        index = opened(place)
        assert index.chunks == 20
        index.close()


def test_an_open_index_outlives_its_source(folder: Path, index: EmbeddedIndex) -> None:
    for n in range(1, 3):  # the second ingest removes the data folder that is open
        ingest(documents(20 - n), target=folder, embedder=EMBEDDER)

    assert ask(index, "Document 19 tariff number19", k=1) == [20]
    chunk = index.chunk(20)
    assert chunk is not None
    assert chunk.text.endswith("number19 rule.")


COPIED = """
import sys
from pathlib import Path
from fakes_embedding import HashingEmbedder
from knowledge.open.index import open_index

folder, embedder = Path(sys.argv[1]), HashingEmbedder()
index = open_index(folder, embedder=embedder, copy_first=True, warm=False)
for path in folder.rglob("*"):
    if path.is_file():
        path.write_bytes(b"")  # what was mapped and is cut short ends a process with SIGBUS
(vector,) = embedder.embed(["Document 19 tariff number19"])
print(index.nearest(vector, k=1)[0].chunk.text, len(index.candidates("tariff", vector).numbers))
"""


def test_an_index_that_was_copied_answers_when_its_source_is_cut_short(folder: Path) -> None:
    # In a process of its own: what is tested would end this one.
    assert "number19 rule." in run_fresh(COPIED, folder)


@pytest.mark.parametrize("harm", ["truncated", "missing"])
def test_a_file_that_is_damaged_is_named_where_all_is_copied(folder: Path, harm: str) -> None:
    path = data_file(folder, "texts.zlib")
    path.unlink() if harm == "missing" else path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IndexDamaged, match=r"texts\.zlib is"):
        opened(folder, copy_first=True)


# Nothing there, or not whole


@pytest.mark.parametrize("place", ["absent", "empty", "killed"])
def test_no_index_says_what_to_run(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "killed" / "data-00").mkdir(parents=True)

    with pytest.raises(IndexMissing, match=r"No index is loaded\. Run: ragctl ingest PATH"):
        opened(tmp_path / place)


@pytest.mark.parametrize("uri", ["s3://bucket/index", "https://example.com/i", "file://host/index"])
def test_an_address_of_another_kind_is_named(uri: str) -> None:
    with pytest.raises(IndexMissing, match=uri):
        folder_of(uri)


@pytest.mark.parametrize(
    "pattern", ["chroma/*/data_level0.bin", "chroma/*/header.bin", "chroma/*/link_lists.bin", "chroma/*/length.bin",
                "chroma/*/index_metadata.pickle", "chroma/chroma.sqlite3", "texts.zlib", "texts.npy", "vectors.npy",
                "moments.npy", "lexical/numbers.npy", "lexical/data.csc.index.npy", "lexical/vocab.index.json"],
)  # fmt: skip
@pytest.mark.parametrize("harm", ["truncated", "garbled", "missing"])
def test_a_damaged_file_is_named(folder: Path, tmp_path: Path, pattern: str, harm: str) -> None:
    path = data_file(folder, pattern)
    size = path.stat().st_size
    if harm == "truncated":
        os.truncate(path, size // 2)
    elif harm == "garbled":
        path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
    else:
        path.unlink()
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    says = {"truncated": "is", "garbled": "is (altered|not a database)", "missing": r"is missing\. Run"}[harm]
    with pytest.raises(IndexDamaged, match=f"{path.name} {says}"):
        opened(folder, scratch=scratch)
    assert list(scratch.iterdir()) == []


def test_a_manifest_that_counts_wrong_is_damage(folder: Path) -> None:
    write_body(folder, read_body(folder) | {"counts": {"documents": 20, "chunks": 21, "updated": 0}})

    with pytest.raises(IndexDamaged, match="20 vectors for 21 chunks"):
        opened(folder)


@pytest.mark.parametrize(
    ("embedder", "sentence"),
    [
        (HashingEmbedder(model="other"), "embedding model 'hashing', this program uses 'other'"),
        (HashingEmbedder(dimensions=64), "dimensions 384, this program uses 64"),
    ],
)
def test_another_embedder_is_a_mismatch_that_names_both(folder: Path, embedder: HashingEmbedder, sentence: str) -> None:
    with pytest.raises(IndexMismatch, match=sentence):
        open_index(folder, embedder=embedder)


def test_another_space_or_collection_is_a_mismatch(folder: Path) -> None:
    with pytest.raises(IndexMismatch, match="collection 'waypoint_kb', this program uses 'other_kb'"):
        opened(folder, collection="other_kb")

    body = read_body(folder)
    write_body(folder, body | {"embedding": body["embedding"] | {"space": "l2"}})
    with pytest.raises(IndexMismatch, match="space 'l2', this program uses 'cosine'"):
        opened(folder)


# Chroma folders made elsewhere


def foreign(
    path: Path,
    *,
    name: str = "waypoint_kb",
    ids: list[str] | None = None,
    scale: float = 1,
    dimensions: int = 384,
    **options: Any,
) -> Path:
    client = chromadb.PersistentClient(str(path))
    made = client.create_collection(name, **options)
    texts = [f"The {word} rule." for word in WORDS]
    made.add(
        ids=ids or [f"id_{n}" for n in range(3, 11)],
        embeddings=HashingEmbedder(dimensions=dimensions).embed(texts) * scale,
        documents=texts,
        metadatas=[{"title": f"Doc {n // 2}", "doc_id": f"d{n // 2}", "year": 2000 + n} for n in range(8)],
    )
    client.close()  # type: ignore[attr-defined]
    return path


@pytest.mark.parametrize(
    "options",
    [
        {},  # Chroma's defaults: l2, and its own embedding function
        {"embedding_function": None, "configuration": {"hnsw": {"space": "cosine"}}},
        {"embedding_function": None, "configuration": {"hnsw": {"space": "ip"}}},
        {"embedding_function": None, "metadata": {"hnsw:space": "cosine"}},
    ],
)
def test_a_foreign_folder_opens_with_plain_cosines_in_any_space(tmp_path: Path, options: dict[str, Any]) -> None:
    place = foreign(tmp_path / "theirs", **options)
    before = hashes(place)
    question = EMBEDDER.embed(["the customs rule of 1990"])[0]
    expected = EMBEDDER.embed(["The customs rule."])[0] @ question

    index = opened(place)
    hit = index.nearest(question, k=1)[0]

    assert hit.score == hit.parts["dense"] == pytest.approx(expected, abs=1e-5)
    assert (hit.chunk.number, hit.chunk.text, hit.chunk.title) == (4, "The customs rule.", "Doc 0")
    assert index.chunk(4) == hit.chunk
    assert hit.chunk.extra == {"year": 2001}
    assert (index.manifest, index.built_at, index.chunks, index.documents) == (None, None, 8, 4)
    assert index.fields == {"title": "str", "doc_id": "str", "year": "int"}
    assert set(ask(index, "rule", k=9, where={"year": {"$gte": 2006}})) == {9, 10}
    index.close()
    assert hashes(place) == before


def test_foreign_ids_of_another_kind_get_stable_numbers(tmp_path: Path) -> None:
    place = foreign(tmp_path / "theirs", ids=["id_9", "b", "a", "d", "c", "f", "e", "g"])

    for _ in range(2):
        index = opened(place)
        assert [(c.number, c.text) for c in index.iter_chunks()][:2] == [
            (1, "The permit rule."),
            (2, "The customs rule."),
        ]
        assert ask(index, "The harbour rule.", k=1) == [8]
        index.close()


def test_a_foreign_chunk_without_text_or_metadata_opens(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path))
    client.create_collection("waypoint_kb").add(ids=["x"], embeddings=EMBEDDER.embed(["x"]))
    client.close()  # type: ignore[attr-defined]

    index = opened(tmp_path)
    chunk = index.chunk(1)

    assert chunk is not None
    assert (chunk.title, chunk.text, chunk.doc_id) == ("Untitled", "", "")
    index.close()


class Elsewhere(chromadb.EmbeddingFunction):  # type: ignore[type-arg]
    def __init__(self) -> None:
        pass

    def __call__(self, input: object) -> Any:
        raise AssertionError

    @staticmethod
    def name() -> str:
        return "elsewhere"

    def get_config(self) -> dict[str, object]:
        return {}

    @staticmethod
    def build_from_config(config: dict[str, object]) -> "Elsewhere":
        return Elsewhere()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "their_kb"}, "no collection 'waypoint_kb'; it has 'their_kb'"),
        ({"dimensions": 64}, "64 dimensions"),
        ({"scale": 3}, "not of unit length and its space is 'l2'"),
        ({"embedding_function": Elsewhere()}, "'elsewhere', not Chroma's default"),
    ],
)
def test_a_foreign_folder_that_cannot_be_compared_is_a_mismatch(
    tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    place = foreign(tmp_path / "theirs", **options)

    with pytest.raises(IndexMismatch, match=sentence):
        opened(place)


def test_a_foreign_file_that_is_no_database_is_damage(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"nonsense" * 100)

    with pytest.raises(IndexDamaged, match="not a database"):
        opened(tmp_path)


# Replaced while in use


def test_a_handle_follows_the_folder(folder: Path) -> None:
    handle = IndexHandle(lambda: opened(folder), changed=watch(folder))
    with handle.lease() as index:
        first = index.version

    assert not handle.refresh()
    ingest(documents(21), target=folder, embedder=EMBEDDER)

    assert handle.refresh()
    with handle.lease() as index:
        assert (index.chunks, index.version != first) == (21, True)
        assert ask(index, "Document 20 vessel number20", k=1) == [21]
    handle.close()


@pytest.mark.slow
def test_twenty_swaps_under_load_leak_nothing(folder: Path) -> None:
    def held() -> tuple[int, int]:
        gc.collect()
        return len([*Path("/proc/self/fd").iterdir()]), len([*Path("/proc/self/task").iterdir()])

    handle = IndexHandle(lambda: opened(folder))
    done = threading.Event()
    wrong: list[object] = []

    def requests() -> None:
        while not done.is_set():
            with handle.lease() as index:
                if (found := ask(index, "Document 3 tariff number3", k=1)) != [4]:
                    wrong.append(found)

    def swap(times: int) -> None:
        threads = [threading.Thread(target=requests) for _ in range(4)]
        done.clear()
        for thread in threads:
            thread.start()
        for _ in range(times):
            handle.swap(opened(folder))
        done.set()
        for thread in threads:
            thread.join()

    swap(2)
    before = held()
    swap(20)

    descriptors, threads = (now - then for now, then in zip(held(), before, strict=True))
    assert descriptors < 10  # one leaked index holds 8 or more, and there were 20
    assert threads < 10
    assert wrong == []
    handle.close()


def test_the_manifest_on_disk_names_every_file_and_nothing_else(folder: Path) -> None:
    body = json.loads((folder / "manifest.json").read_text())
    data = folder / body["data"]

    assert set(body["files"]) == {path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()}
    assert body["files"]["texts.zlib"]["sha256"] == hashlib.sha256((data / "texts.zlib").read_bytes()).hexdigest()
    assert (body["calibration"], body["counts"]) == (None, {"documents": 20, "chunks": 20, "updated": 0})
