"""Chroma folders that another program made: opened as they are, searched on both sides, never written to."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
from desks import BYTE_A_NUMBER, contents, desk, desks, foreign
from fakes_embedding import HashingEmbedder

from knowledge.build.ingest import ingest
from knowledge.model.errors import IndexDamaged, IndexMismatch, SearchFailed
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.search.candidates import Candidates
from knowledge.search.lexical import write_lexical

EMBEDDER = HashingEmbedder()


def opened(folder: Path, **options: Any) -> EmbeddedIndex:
    return open_index(folder, embedder=EMBEDDER, **options)


def ask(index: EmbeddedIndex, text: str, **options: Any) -> Candidates:
    return index.candidates(text, EMBEDDER.embed([text])[0], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"embedding_function": DefaultEmbeddingFunction()},  # and Chroma's default space, l2
        {"configuration": {"hnsw": {"space": "cosine"}}},
        {"configuration": {"hnsw": {"space": "ip"}}},
        {"metadata": {"hnsw:space": "cosine"}},
    ],
)
def test_it_opens_with_plain_cosines_in_any_space(tmp_path: Path, options: dict[str, Any]) -> None:
    place = foreign(tmp_path / "theirs", desks(8), **options)
    before = contents(place)
    question = EMBEDDER.embed(["the fee1 of the customs desk of 1990"])[0]
    expected = EMBEDDER.embed([f"Desk 1\n{desk(1).text}"])[0] @ question

    with closing(opened(place)) as index:
        hit = index.nearest(question, k=1)[0]

        assert hit.score == hit.parts["dense"] == pytest.approx(expected, abs=1e-5)
        assert (hit.chunk.number, hit.chunk.text, hit.chunk.title) == (4, desk(1).text, "Desk 1")
        assert index.chunk(4) == hit.chunk
        assert hit.chunk.extra == desk(1).extra
        assert (index.manifest, index.built_at, index.chunks, index.documents) == (None, None, 8, 8)
        assert (index.fields["title"], index.fields["year"]) == ("str", "int")
        late = index.nearest(question, k=9, where={"year": {"$gte": 2006}})
        assert {one.chunk.number for one in late} == {9, 10}
    assert contents(place) == before


def test_ids_of_another_kind_get_stable_numbers(tmp_path: Path) -> None:
    place = foreign(tmp_path / "theirs", desks(8), ["id_9", "b", "a", "d", "c", "f", "e", "g"])

    for _ in range(2):
        with closing(opened(place)) as index:
            chunks = [(chunk.number, chunk.title) for chunk in index.iter_chunks()]
            assert (chunks[:2], chunks[-1]) == ([(1, "Desk 2"), (2, "Desk 1")], (8, "Desk 0"))


def test_chunks_without_text_or_metadata_are_found_by_vector_alone(tmp_path: Path) -> None:
    with closing(chromadb.PersistentClient(str(tmp_path))) as client:  # type: ignore[type-var]
        client.create_collection("waypoint_kb").add(ids=["x", "y"], embeddings=EMBEDDER.embed(["x", "y"]))

    with closing(opened(tmp_path)) as index:
        found = ask(index, "untitled x")

        assert found.numbers.tolist() == [1, 2]
        assert found.bm25.values.tolist() == [0, 0]
        (chunk,) = index.fetch([1])
        assert (chunk.title, chunk.text, chunk.doc_id) == ("Untitled", "", "")


class Elsewhere(DefaultEmbeddingFunction):
    @staticmethod
    def name() -> str:
        return "elsewhere"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "their_kb"}, "no collection 'waypoint_kb'; it has 'their_kb'"),
        ({"dimensions": 64}, "64 dimensions"),
        ({"scale": 3, "configuration": {"hnsw": {"space": "l2"}}}, "not of unit length and its space is 'l2'"),
        ({"embedding_function": Elsewhere()}, "'elsewhere', not Chroma's default"),
    ],
)
def test_one_that_cannot_be_compared_is_a_mismatch(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    place = foreign(tmp_path / "theirs", desks(8), **options)

    with pytest.raises(IndexMismatch, match=sentence):
        opened(place)


def test_a_file_that_is_no_database_is_damage(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"nonsense" * 100)

    with pytest.raises(IndexDamaged, match="not a database"):
        opened(tmp_path)


# Both sides of a search


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIndex]:
    folder = tmp_path_factory.mktemp("ours")
    ingest(desks(60), target=folder, embedder=EMBEDDER)
    with closing(opened(folder)) as index:
        yield index


@pytest.fixture(
    scope="module",
    params=[
        ([f"id_{n}" for n in range(1, 61)], {}),
        ([f"page-{n:02}" for n in range(60)], {"configuration": {"hnsw": {"space": "cosine"}}}),
    ],
    ids=["our ids", "other ids"],
)
def theirs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIndex]:
    ids, options = request.param
    with closing(opened(foreign(tmp_path_factory.mktemp("theirs"), desks(60), ids, **options))) as index:
        yield index


@pytest.mark.parametrize("where", [None, {"category": "01"}, {"year": {"$gte": 2050}}, {"category": "none"}])
def test_it_gives_the_candidates_of_our_own_index(
    ours: EmbeddedIndex, theirs: EmbeddedIndex, where: dict[str, object] | None
) -> None:
    for text in ("tariff fee35", "What of the customs fee, harbour?", "nothing known", "Desk 7"):
        expected, found = ask(ours, text, k=7, where=where), ask(theirs, text, k=7, where=where)
        # Of equals another may be the nearest in theirs: the best scores are the same, if not the chunks.
        for side in ("dense", "bm25"):
            wanted, got = getattr(expected, side), getattr(found, side)
            assert sorted(got.values)[-7:] == pytest.approx(sorted(wanted.values)[-7:], abs=BYTE_A_NUMBER)
            assert (got.mean, got.std) == pytest.approx((wanted.mean, wanted.std), abs=1e-4)
            assert len(got.values) == len(found.numbers)

    assert theirs.lexical.scores("fee59").argmax() == 59


def test_of_many_threads_one_makes_the_bm25_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def write(*args: Any, language: str) -> Any:
        made.append(args)
        return write_lexical(*args, language=language)

    monkeypatch.setattr("knowledge.open.index.write_lexical", write)
    with closing(opened(foreign(tmp_path, desks(60), [f"p{n:02}" for n in range(60)]))) as index:
        index.nearest(EMBEDDER.embed(["fee"])[0], k=3)
        assert made == []  # opening, and searching by vector, pay nothing

        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda n: ask(index, f"fee{n}", k=1), range(60)))

    assert len(made) == 1
    assert [int(one.numbers[int(np.argmax(one.bm25.values))]) for one in found] == list(range(1, 61))


def test_what_is_made_for_it_goes_with_the_index_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    place, scratch = foreign(tmp_path / "theirs", desks(2)), tmp_path / "scratch"
    scratch.mkdir()
    before = contents(place)
    index = opened(place, scratch=scratch)

    assert len(ask(index, "fee").numbers) == 2
    index.close()

    assert list(scratch.iterdir()) == []
    assert contents(place) == before
    with pytest.raises(SearchFailed):
        ask(index, "fee")
