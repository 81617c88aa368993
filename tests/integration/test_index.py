"""Opening and searching real Chroma indexes: whole, damaged, mismatching, read-only, swapped."""

import gc
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run_fresh
from desks import desk, desks, read_files
from fakes_embedding import HashingEmbedder
from manifests import read_body, write_body

from knowledge.build.ingest import ingest
from knowledge.model.errors import IndexDamaged, IndexMismatch, IndexMissing, SearchFailed
from knowledge.open.handle import IndexHandle
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.open.opened import ChromaIndex
from knowledge.open.place import folder_of

EMBEDDER = HashingEmbedder()
EVERYTHING = replace(desk(9), text="## About\n\nThe fee9 rule.")
DOCUMENTS = [*desks(9), EVERYTHING, *desks(20)[10:]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that no test changes."""
    folder = tmp_path_factory.mktemp("made") / "index"
    ingest(DOCUMENTS, target=folder, embedder=EMBEDDER)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of its own."""
    return Path(shutil.copytree(made, tmp_path / "index"))


@pytest.fixture(scope="module")
def index(made: Path) -> Iterator[EmbeddedIndex]:
    with closing(opened(made)) as index:
        yield index


def opened(folder: Path | str, **options: Any) -> EmbeddedIndex:
    return open_index(folder, **{"embedder": EMBEDDER, **options})


def ask(index: ChromaIndex, text: str, k: int = 3, **options: Any) -> list[int]:
    return [hit.chunk.number for hit in index.nearest(EMBEDDER.embed([text])[0], k=k, **options)]


def data_file(folder: Path, pattern: str) -> Path:
    return next(folder.glob(f"data-*/{pattern}"))


def test_an_index_finds_chunks_with_everything_that_was_stored_of_them(index: EmbeddedIndex) -> None:
    question = EMBEDDER.embed([f"Desk 9\n{EVERYTHING.text}"])[0]

    hit = index.nearest(question, k=1)[0]

    assert hit.score == pytest.approx(1, abs=1e-6)
    assert hit.parts == {"dense": hit.score}
    assert hit.chunk == index.chunk(10)
    assert hit.chunk.text == EVERYTHING.text
    assert (hit.chunk.section, hit.chunk.source_urls, hit.chunk.chunk_count) == ("About", ("https://example.com/9",), 1)
    assert hit.chunk.extra == {"year": 2009, "rate": 4.5, "internal": False, "late_fee": 4}
    assert hit.vector is not None
    assert hit.vector.dtype == np.float32
    assert hit.vector == pytest.approx(question, abs=1e-6)
    assert (index.documents, index.chunks) == (20, 20)
    assert index.fields["rate"] == "float"
    assert [chunk.number for chunk in index.iter_chunks()] == list(range(1, 21))
    assert [number for number in (-1, 0, 1, 20, 21) if index.chunk(number)] == [1, 20]


def test_scores_are_the_cosines_and_come_best_first(index: EmbeddedIndex) -> None:
    question = EMBEDDER.embed(["customs permit fee 7"])[0]
    cosines = {c.number: EMBEDDER.embed([f"{c.title}\n{c.text}"])[0] @ question for c in index.iter_chunks()}
    hits = index.nearest(question, k=50)
    assert [(hit.score, hit.chunk.number) for hit in hits] == sorted(
        ((hit.score, hit.chunk.number) for hit in hits), key=lambda one: (-one[0], one[1])
    )
    assert {hit.chunk.number: hit.score for hit in hits} == pytest.approx(cosines, abs=1e-5)


def test_equal_scores_are_ordered_by_number(tmp_path: Path) -> None:
    twins = [replace(desk(n), title="T", text="Same text.") for n in range(9)]
    ingest(twins, target=tmp_path, embedder=EMBEDDER)
    with closing(opened(tmp_path)) as index:
        assert ask(index, "same text", k=9) == list(range(1, 10))


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        ({"$and": [{"category": "03"}, {"internal": False}, {"rate": {"$lt": 4}}]}, {4, 8}),
        ({"jurisdiction": "SG"}, set()),  # a field that no document has a value of
        ({"jurisdiction": {"$ne": "SG"}}, set(range(1, 21))),
    ],
)
def test_filters_hold(index: EmbeddedIndex, where: dict[str, object], numbers: set[int]) -> None:
    assert set(ask(index, "fee", k=50, where=where)) == numbers


def test_a_malformed_filter_or_vector_is_a_failed_search(index: EmbeddedIndex) -> None:
    with pytest.raises(SearchFailed):
        ask(index, "fee", where={"a": 1, "b": 2})
    with pytest.raises(SearchFailed):
        index.nearest(np.ones(3, np.float32), k=1)


def test_a_closed_index_fails_and_leaves_nothing_behind(made: Path, tmp_path: Path) -> None:
    index = opened(made, scratch=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    index.close()
    index.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SearchFailed):
        ask(index, "fee")


def test_a_read_only_source_opens_and_stays_as_it_is(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = read_files(folder)
    with closing(opened(folder)) as index:
        assert ask(index, "Desk 3 fee3", k=1) == [4]
    assert read_files(folder) == before
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("count", [1, 2, 1001])
def test_no_number_of_chunks_leaves_anything_that_chroma_would_write_to_the_source(tmp_path: Path, count: int) -> None:
    ingest(desks(count), target=tmp_path, embedder=EMBEDDER)
    before = read_files(tmp_path)

    with closing(opened(tmp_path)) as index:
        assert [chunk.number for chunk in index.iter_chunks()] == [*range(1, count + 1)]
        assert [chunk.text for chunk in index.fetch([count])] == [desk(count - 1).text]
        # Of many chunks a filter leaves few, and all of them are found.
        assert set(ask(index, "fee", k=10, where={"year": {"$in": [2000, 2600, 3000]}})) == {1, 601, 1001} & {
            *range(count + 1)
        }

    assert read_files(tmp_path) == before


def test_an_index_opens_by_uri_and_through_a_symlink(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link to it").symlink_to(made)
    monkeypatch.chdir(made.parent)
    for place in ("index", str(tmp_path / "link to it"), (tmp_path / "link to it").as_uri()):
        with closing(opened(place)) as index:
            assert index.chunks == 20


def test_an_open_index_outlives_its_source(folder: Path) -> None:
    with closing(opened(folder)) as index:
        for n in range(1, 3):  # the second ingest removes the data folder that is open
            ingest(desks(20 - n), target=folder, embedder=EMBEDDER)
        assert ask(index, "Desk 19 fee19", k=1) == [20]
        assert [chunk.text for chunk in index.fetch([20])] == [desk(19).text]


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
(vector,) = embedder.embed(["Desk 19 fee19"])
print(index.nearest(vector, k=1)[0].chunk.text, len(index.candidates("tariff", vector).numbers))
"""


def test_an_index_that_was_copied_answers_when_its_source_is_cut_short(folder: Path) -> None:
    # In a process of its own: what is tested would end this one.
    assert "papers is fee19." in run_fresh(COPIED, folder)


@pytest.mark.parametrize("harm", ["truncated", "missing"])
def test_a_file_that_is_damaged_is_named_where_all_is_copied(folder: Path, harm: str) -> None:
    path = data_file(folder, "texts.zlib")
    path.unlink() if harm == "missing" else path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IndexDamaged, match=r"texts\.zlib is"):
        opened(folder, copy_first=True)


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


# Chroma's vectors are linked to, its database is copied, and all else is read in place.
@pytest.mark.parametrize("pattern", ["chroma/*/data_level0.bin", "chroma/chroma.sqlite3", "lexical/vocab.index.json"])
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


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"embedder": HashingEmbedder(model="other")}, "embedding model 'hashing', this program uses 'other'"),
        ({"embedder": HashingEmbedder(dimensions=64)}, "dimensions 384, this program uses 64"),
        ({"collection": "other_kb"}, "collection 'waypoint_kb', this program uses 'other_kb'"),
    ],
)
def test_another_embedder_or_collection_is_a_mismatch_that_names_both(
    made: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(IndexMismatch, match=sentence):
        opened(made, **options)


def test_a_manifest_that_counts_wrong_is_damage_and_one_of_another_space_a_mismatch(folder: Path) -> None:
    body = read_body(folder)
    write_body(folder, body | {"counts": {"documents": 20, "chunks": 21, "updated": 0}})
    with pytest.raises(IndexDamaged, match="20 vectors for 21 chunks"):
        opened(folder)
    write_body(folder, body | {"embedding": body["embedding"] | {"space": "l2"}})
    with pytest.raises(IndexMismatch, match="space 'l2', this program uses 'cosine'"):
        opened(folder)


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
                if (found := ask(index, "Desk 3 fee3", k=1)) != [4]:
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
