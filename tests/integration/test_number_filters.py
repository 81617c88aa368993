"""A request's filters on fields that hold whole numbers and fractions, as a real Chroma on disk judges them."""

import operator
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import chromadb
import pytest
from fakes_embedding import HashingEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge.build.ingest import ingest
from knowledge.model.values import Document
from knowledge.open.index import Index, open_index
from rag.ask.query.where import RequestFilter
from rag.values.question import Question, SearchQuery

EMBEDDER = HashingEmbedder()
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


def own(folder: Path, values: list[Any]) -> Path:
    documents = [
        Document(
            doc_id=f"d{n}", title=f"Document {n}", text=f"The {TEXT} number{n}.", digest=str(n), path=f"d{n}.md",
            extra={"place": n, **({"price": value} if value is not None else {})},
        )
        for n, value in enumerate(values)
    ]  # fmt: skip
    ingest(documents, target=folder, embedder=EMBEDDER)
    return folder


def foreign(folder: Path, values: list[Any]) -> Path:
    client = chromadb.PersistentClient(str(folder))
    texts = [f"The {TEXT} number{n}." for n in range(len(values))]
    client.create_collection("waypoint_kb", embedding_function=None).add(
        ids=[f"theirs-{n}" for n in range(len(values))],
        embeddings=EMBEDDER.embed(texts),
        documents=texts,
        metadatas=[{"place": n, **({"price": v} if v is not None else {})} for n, v in enumerate(values)],
    )
    client.close()  # type: ignore[attr-defined]
    return folder


@pytest.fixture(scope="module", params=[(own, VALUES), (own, MIXED), (foreign, VALUES), (foreign, MIXED)])
def shelf(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Index, list[Any]]]:
    make, values = request.param
    index = open_index(make(tmp_path_factory.mktemp("shelf") / "index", values), embedder=EMBEDDER)
    yield index, values
    index.close()


def found(index: Index, filters: Mapping[str, object]) -> list[int]:
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
def test_numbers_compare_as_in_arithmetic(shelf: tuple[Index, list[Any]], sign: str, bound: float) -> None:
    index, values = shelf
    wanted = bound if sign == "$eq" else {sign: bound}
    assert index.fields["price"] == ("float" if values is VALUES else "mixed")

    # As with any number of a field of fractions, one of over 53 bits is rounded to the nearest of these.
    exact = float(bound) if values is VALUES else bound

    assert found(index, {"price": wanted}) == places(values, sign, exact)


@given(bounds=st.lists(st.floats(-8, 8).map(lambda value: round(value, 1)), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_of_several_numbers(shelf: tuple[Index, list[Any]], bounds: list[float]) -> None:
    index, values = shelf

    wanted = sorted({n for bound in bounds for n in places(values, "$eq", bound)})

    assert found(index, {"price": bounds}) == wanted


@pytest.mark.parametrize("sign", ["$gte", "$ne"])
def test_other_conditions_hold_as_well(shelf: tuple[Index, list[Any]], sign: str) -> None:
    index, values = shelf
    filters = {"place": {"$gte": 3}, "price": {sign: 5.25}, "title": {"$ne": "Document 4"}}

    assert found(index, filters) == [
        n for n in places(values, sign, 5.25) if n >= 3 and (n != 4 or "title" not in index.fields)
    ]


@pytest.mark.parametrize("sign", ["$eq", "$lt"])
def test_both_sides_of_a_hybrid_search_take_the_same_chunks(shelf: tuple[Index, list[Any]], sign: str) -> None:
    index, values = shelf
    for bound in (5.3, 5.5, -6.25, 0.1, -0.1):
        filters = {"price": bound if sign == "$eq" else {sign: bound}}
        question = Question(text=TEXT, filters=filters)
        query = RequestFilter(lambda: index.fields)(SearchQuery(text=TEXT, top_k=50), question)

        candidates = index.candidates(TEXT, EMBEDDER.embed([TEXT])[0], k=50, where=query.where)

        chunks = index.fetch(candidates.numbers.tolist())
        assert sorted(place(chunk.extra) for chunk in chunks) == places(values, sign, bound), bound
        assert (candidates.bm25.values > 0).all(), bound
