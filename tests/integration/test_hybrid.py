"""Both sides of a real index: dense and BM25 candidates, consistency, indexes without BM25, filters on numbers."""

import hashlib
import operator
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from command_line import run_fresh
from fakes_embedding import HashingEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifests import read_body, write_body

from knowledge.build.ingest import ingest
from knowledge.embedding import embed_text
from knowledge.model.errors import IndexDamaged, SearchFailed
from knowledge.model.values import Document
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.search.candidates import Candidates
from knowledge.search.lexical import write_lexical
from rag.ask.filters import RequestFilter
from rag.values.question import Question, SearchQuery

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


def opened(folder: Path) -> EmbeddedIndex:
    return open_index(folder, embedder=EMBEDDER)


@pytest.fixture
def index(folder: Path) -> Iterator[EmbeddedIndex]:
    with closing(opened(folder)) as index:
        yield index


def ask(index: EmbeddedIndex, text: str, **options: Any) -> Candidates:
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
    index: EmbeddedIndex, text: str, where: dict[str, object] | None
) -> None:
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


def test_a_rare_word_is_found_that_the_vectors_miss(index: EmbeddedIndex) -> None:
    away = -EMBEDDER.embed(["Document 37"])[0]  # the nearest chunks are any but that one

    found = index.candidates("number37", away, k=3)

    best = int(np.argmax(found.bm25.z))
    assert found.numbers[best] == 38
    assert found.bm25.values[best] > 0
    assert found.dense.values[best] < 0
    assert np.count_nonzero(found.bm25.values) == 1
    assert len(found.numbers) == 4


def test_chunks_are_fetched_in_the_order_asked_for(index: EmbeddedIndex) -> None:
    assert [chunk.number for chunk in index.fetch([40, 7, 13])] == [40, 7, 13]
    assert index.fetch([]) == ()
    with pytest.raises(SearchFailed, match="id_99"):
        index.fetch([1, 99])


def test_a_filter_that_admits_nothing_finds_nothing(index: EmbeddedIndex) -> None:
    assert len(ask(index, "tariff rule", where={"category": "none"}).numbers) == 0


def test_threads_get_what_one_gets(index: EmbeddedIndex) -> None:
    texts = [f"{WORDS[n % 8]} rule number{n}" for n in range(60)]
    expected = [ask(index, text, k=3).numbers.tolist() for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: ask(index, text, k=3).numbers.tolist(), texts * 3)) == expected * 3


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
    return foreign(place, documents(len(ids)), ids, **options)


def foreign(place: Path, ours: list[Document], ids: list[str], **options: Any) -> Path:
    client = chromadb.PersistentClient(str(place))
    client.create_collection("waypoint_kb", embedding_function=None, **options).add(
        ids=ids,
        embeddings=EMBEDDER.embed([embed_text(document.title, document.text) for document in ours]),
        documents=[document.text for document in ours],
        metadatas=[
            {"category": document.category, **({"title": document.title} if document.title else {}), **document.extra}
            for document in ours
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
            assert len(got.values) == len(found.numbers)

    assert theirs.lexical is not None
    assert theirs.lexical.scores("number59").argmax() == 59
    ours.close()
    theirs.close()


def test_of_many_threads_one_makes_the_bm25_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def write(*args: Any, language: str) -> Any:
        made.append(args)
        return write_lexical(*args, language=language)

    monkeypatch.setattr("knowledge.open.index.write_lexical", write)
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

    assert len(ask(index, "rule").numbers) == 2
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
assert len(index.candidates("tariff rule", embedder.embed(["tariff rule"])[0]).numbers)
print(sorted({"bm25s", "scipy", "numba", "jax"} & set(sys.modules)))
"""


def test_a_search_needs_nothing_of_the_library_that_made_the_index(folder: Path) -> None:
    assert run_fresh(SEARCH, folder) == "[]\n"


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
    return [
        Document(
            doc_id=f"d{n}", title=f"Document {n}", text=f"The {TEXT} number{n}.", digest=str(n), path=f"d{n}.md",
            extra={"place": n, **({"price": value} if value is not None else {})},
        )
        for n, value in enumerate(values)
    ]  # fmt: skip


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
        foreign(folder, untitled, [f"theirs-{n}" for n in range(len(values))])
    with closing(opened(folder)) as index:
        yield index, values


def found(index: EmbeddedIndex, filters: Mapping[str, object]) -> list[int]:
    """The places of the documents that the filters admit."""
    query = RequestFilter(lambda: index.fields)(SearchQuery(text=TEXT, top_k=50), Question(text=TEXT, filters=filters))
    hits = index.nearest(EMBEDDER.embed([TEXT])[0], k=50, where=query.where)
    return sorted(place(hit.chunk.extra) for hit in hits)


def place(extra: Mapping[str, object]) -> int:
    number = extra["place"]
    assert isinstance(number, int)
    return number


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
    filters = {"place": {"$gte": 3}, "price": {sign: 5.25}, "title": {"$ne": "Document 4"}}

    assert found(index, filters) == [
        n for n in places(values, sign, 5.25) if n >= 3 and (n != 4 or "title" not in index.fields)
    ]


@pytest.mark.parametrize("sign", ["$eq", "$lt"])
def test_both_sides_of_a_hybrid_search_take_the_same_chunks(shelf: tuple[EmbeddedIndex, list[Any]], sign: str) -> None:
    index, values = shelf
    for bound in (5.3, 5.5, -6.25, 0.1, -0.1):
        filters = {"price": bound if sign == "$eq" else {sign: bound}}
        question = Question(text=TEXT, filters=filters)
        query = RequestFilter(lambda: index.fields)(SearchQuery(text=TEXT, top_k=50), question)

        candidates = index.candidates(TEXT, EMBEDDER.embed([TEXT])[0], k=50, where=query.where)

        chunks = index.fetch(candidates.numbers.tolist())
        assert sorted(place(chunk.extra) for chunk in chunks) == places(values, sign, bound), bound
        assert (candidates.bm25.values > 0).all(), bound
