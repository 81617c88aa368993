"""An index of ours, and Chroma folders that another program made: both sides of a search, and filters on numbers.

What another made is opened as it is, and never written to.
"""

import hashlib
import operator
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
from desks import BYTE_A_NUMBER, desk, desks, make_foreign_folder, read_files
from fakes_embedding import HashingEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifests import read_body, write_body

from knowledge.build.ingest import ingest
from knowledge.embedding import embed_text
from knowledge.model.errors import IndexDamaged, IndexMismatch, SearchFailed
from knowledge.model.values import Document
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.search.candidates import Candidates
from knowledge.search.lexical import write_lexical
from rag.ask.filters import RequestFilter
from rag.values.question import Question, SearchQuery

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
    place = make_foreign_folder(tmp_path / "theirs", desks(8), **options)
    before = read_files(place)
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
    assert read_files(place) == before


def test_ids_of_another_kind_get_stable_numbers(tmp_path: Path) -> None:
    place = make_foreign_folder(tmp_path / "theirs", desks(8), ["id_9", "b", "a", "d", "c", "f", "e", "g"])
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
    place = make_foreign_folder(tmp_path / "theirs", desks(8), **options)
    with pytest.raises(IndexMismatch, match=sentence):
        opened(place)


def test_a_file_that_is_no_database_is_damage(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"nonsense" * 100)
    with pytest.raises(IndexDamaged, match="not a database"):
        opened(tmp_path)


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
    with closing(opened(make_foreign_folder(tmp_path_factory.mktemp("theirs"), desks(60), ids, **options))) as index:
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
    with closing(opened(make_foreign_folder(tmp_path, desks(60), [f"p{n:02}" for n in range(60)]))) as index:
        index.nearest(EMBEDDER.embed(["fee"])[0], k=3)
        assert made == []  # opening, and searching by vector, pay nothing

        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda n: ask(index, f"fee{n}", k=1), range(60)))

    assert len(made) == 1
    assert [int(one.numbers[int(np.argmax(one.bm25.values))]) for one in found] == list(range(1, 61))


def test_what_is_made_for_it_goes_with_the_index_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    place, scratch = make_foreign_folder(tmp_path / "theirs", desks(2)), tmp_path / "scratch"
    scratch.mkdir()
    before = read_files(place)
    index = opened(place, scratch=scratch)

    assert len(ask(index, "fee").numbers) == 2
    index.close()

    assert list(scratch.iterdir()) == []
    assert read_files(place) == before
    with pytest.raises(SearchFailed):
        ask(index, "fee")


@pytest.mark.parametrize("where", [None, {"category": "01"}, {"year": {"$gte": 2050}}])
@pytest.mark.parametrize("text", ["tariff fee35", "What of the customs fee, harbour?", "nothing known", "the"])
def test_candidates_are_the_best_of_both_sides_with_both_scores(
    ours: EmbeddedIndex, text: str, where: dict[str, object] | None
) -> None:
    chunks = list(ours.iter_chunks())
    vectors = EMBEDDER.embed([embed_text(chunk.title, chunk.text) for chunk in chunks])
    cosines = vectors @ EMBEDDER.embed([text])[0]
    bm25 = ours.lexical.scores(text)
    admitted = {
        chunk.number for chunk in chunks
        if where is None or chunk.category == where.get("category") or ("year" in where and chunk.number > 50)
    }  # fmt: skip

    found = ask(ours, text, k=5, where=where)

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


def test_a_rare_word_is_found_that_the_vectors_miss(ours: EmbeddedIndex) -> None:
    away = -EMBEDDER.embed(["Desk 37"])[0]  # the nearest chunks are any but that one
    found = ours.candidates("fee37", away, k=3)
    best = int(np.argmax(found.bm25.z))
    assert found.numbers[best] == 38
    assert found.bm25.values[best] > 0
    assert found.dense.values[best] < 0
    assert np.count_nonzero(found.bm25.values) == 1
    assert len(found.numbers) == 4


@pytest.mark.parametrize("texts", [["One chunk only."], ["!", "?"], ["Same words."] * 3])
def test_the_smallest_collections_work(tmp_path: Path, texts: list[str]) -> None:
    few = [replace(desk(n, text), title="") for n, text in enumerate(texts)]
    ingest(few, target=tmp_path, embedder=EMBEDDER)
    with closing(opened(tmp_path)) as index:
        found = ask(index, "one same word")
    assert found.numbers.tolist() == list(range(1, len(texts) + 1))
    assert found.dense.z == pytest.approx(np.zeros(len(texts)), abs=2)


def test_a_bm25_side_of_other_chunks_is_damage(tmp_path: Path) -> None:
    ingest(desks(3), target=tmp_path, embedder=EMBEDDER)
    body, name = read_body(tmp_path), "lexical/numbers.npy"
    path = tmp_path / body["data"] / name
    np.save(path, np.load(path) + 1)
    content = path.read_bytes()  # with a checksum that is right
    body["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    write_body(tmp_path, body)

    with pytest.raises(IndexDamaged, match=r"BM25 side of the index has other chunks than its texts\. Run: ragctl"):
        opened(tmp_path)


# Filters on fields that hold whole numbers and fractions


TEXT = "pallet"
VALUES: list[Any] = [-7, -6.5, -6, -6.0, -1, -0.25, 0, 0.0, 0.25, 1, 5, 5.0, 5.25, 5.5, 6, 6.0, 2**53 + 1, None]
"""Of the field, one a document, which holds the number that is its place; None: the document does not have it."""
MIXED: list[Any] = [*VALUES, "5.5", "text", True]
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq, "$ne": operator.ne, "$gte": operator.ge, "$gt": operator.gt, "$lte": operator.le,
    "$lt": operator.lt,
}  # fmt: skip
OPERANDS = st.sampled_from([*(value for value in VALUES if value is not None)]) | st.floats(-8, 8).map(
    lambda value: round(value, 2)
)


def priced(values: list[Any]) -> list[Document]:
    prices = [{} if value is None else {"price": value} for value in values]
    return [replace(desk(n, f"The {TEXT} number{n}."), extra={"place": n, **price}) for n, price in enumerate(prices)]


@pytest.fixture(scope="module", params=[("own", VALUES), ("own", MIXED), ("foreign", VALUES), ("foreign", MIXED)])
def shelf(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[EmbeddedIndex, list[Any]]]:
    kind, values = request.param
    folder = tmp_path_factory.mktemp("shelf") / "index"
    if kind == "own":
        ingest(priced(values), target=folder, embedder=EMBEDDER)
    else:
        untitled = [replace(document, title="") for document in priced(values)]
        make_foreign_folder(folder, untitled, [f"theirs-{n}" for n in range(len(values))])
    with closing(opened(folder)) as index:
        yield index, values


def found(index: EmbeddedIndex, filters: Mapping[str, object]) -> list[int]:
    """The places of the documents that the filters admit."""
    query = RequestFilter(lambda: index.fields)(SearchQuery(text=TEXT, top_k=50), Question(text=TEXT, filters=filters))
    hits = index.nearest(EMBEDDER.embed([TEXT])[0], k=50, where=query.where)
    return sorted(int(hit.chunk.extra["place"]) for hit in hits)


def holds(sign: str, value: object, bound: object) -> bool:
    """What arithmetic says; a text, a truth or nothing is no number, so that only "not equal" holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return sign == "$ne"
    return COMPARE[sign](value, bound)


def places(values: list[Any], sign: str, bound: object) -> list[int]:
    return [n for n, value in enumerate(values) if holds(sign, value, bound)]


@given(sign=st.sampled_from(list(COMPARE)), bound=OPERANDS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_compare_as_in_arithmetic(shelf: tuple[EmbeddedIndex, list[Any]], sign: str, bound: float) -> None:
    index, values = shelf
    wanted = bound if sign == "$eq" else {sign: bound}
    assert index.fields["price"] == ("float" if values is VALUES else "mixed")
    # As with any number of a field of fractions, one of over 53 bits is rounded to the nearest of these.
    exact = float(bound) if values is VALUES else bound
    assert found(index, {"price": wanted}) == places(values, sign, exact)


@given(bounds=st.lists(st.floats(-8, 8).map(lambda value: round(value, 1)), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_of_several_numbers(shelf: tuple[EmbeddedIndex, list[Any]], bounds: list[float]) -> None:
    index, values = shelf
    wanted = sorted({n for bound in bounds for n in places(values, "$eq", bound)})
    assert found(index, {"price": bounds}) == wanted


@pytest.mark.parametrize("sign", ["$gte", "$ne"])
def test_other_conditions_hold_as_well(shelf: tuple[EmbeddedIndex, list[Any]], sign: str) -> None:
    index, values = shelf
    filters = {"place": {"$gte": 3}, "price": {sign: 5.25}, "title": {"$ne": "Desk 4"}}
    assert found(index, filters) == [
        n for n in places(values, sign, 5.25) if n >= 3 and (n != 4 or "title" not in index.fields)
    ]
