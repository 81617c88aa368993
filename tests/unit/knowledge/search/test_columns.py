"""Columns admit the chunks that Chroma admits, whatever the filter."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.engines.collection import Collection
from knowledge.engines.metadata import to_metadata
from knowledge.model.errors import IndexDamaged, SearchFailed
from knowledge.model.values import Chunk, Scalar
from knowledge.search.columns import CODES_NAME, Columns, write_columns

VALUES: tuple[Scalar, ...] = (
    *("Air", "air", "sea & land", "1", "true", "é"),
    *(True, False, 0, 1, 5, -5, 2**62, -(2**63), 2**63 - 1, 9007199254740993),
    *(0.0, 1.0, 1.5, 5.2, -5.2, -0.5, 1e300),
)
FIELDS = ("path", "year", "mixed", "nobody")
FOUND = {"path": VALUES[:6], "year": (1, 5, -5, 5.2, -5.2, 1.5), "mixed": VALUES}


def chunk(number: int) -> Chunk:
    """Chunk ``number`` has a value of each field in two cases of three."""
    held = {name: values[number * 7 % len(values)] for name, values in FOUND.items() if (number + len(name)) % 3}
    path = str(held.pop("path", ""))
    return Chunk(number=number, text="", title="T", doc_id="d", path=path, chunk_index=0, chunk_count=1, extra=held)


CHUNKS = [chunk(number) for number in range(1, 160, 2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns") / "columns"
    write_columns(folder, [to_metadata(chunk) for chunk in CHUNKS])
    return folder


@pytest.fixture(scope="module")
def columns(folder: Path) -> Columns:
    return Columns(folder, rows=len(CHUNKS))


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("chroma")
    with closing(Collection.create(folder, "columns")) as collection:
        collection.add(CHUNKS, np.eye(len(CHUNKS), dtype=np.float32))
        yield collection


def admitted(columns: Columns, where: Mapping[str, object]) -> list[int] | None:
    """The numbers of the chunks that ``where`` admits."""
    rows = columns.rows(where)
    return None if rows is None else [CHUNKS[row].number for row in rows]


scalars = st.sampled_from(VALUES)
numbers = st.sampled_from([*(v for v in VALUES if isinstance(v, int | float) and not isinstance(v, bool)), 9e18, 1e19])
lists = st.one_of(
    *(st.lists(st.sampled_from([v for v in VALUES if type(v) is kind]), min_size=1) for kind in (str, int, float, bool))
)
conditions = st.one_of(
    scalars,
    st.builds(lambda sign, value: {sign: value}, st.sampled_from(["$eq", "$ne"]), scalars),
    st.builds(lambda sign, value: {sign: value}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), numbers),
    st.builds(lambda sign, values: {sign: values}, st.sampled_from(["$in", "$nin"]), lists),
)
clauses = st.builds(lambda name, condition: {name: condition}, st.sampled_from(FIELDS), conditions)
filters = st.recursive(
    clauses,
    lambda parts: st.builds(
        lambda sign, both: {sign: both}, st.sampled_from(["$and", "$or"]), st.lists(parts, min_size=2, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(where=filters)
def test_columns_admit_what_chroma_admits(columns: Columns, collection: Collection, where: dict[str, object]) -> None:
    theirs = sorted(int(chunk_id.removeprefix("id_")) for chunk_id in collection.ids(where))
    assert admitted(columns, where) == theirs


@pytest.mark.parametrize(
    "where",
    [
        {"year": {"$contains": 5}},
        {"#document": {"$contains": "x"}},
        {"$and": [{"year": 5}, {"year": {"$not_contains": 5}}]},
        {"mixed": {"$gt": True}},
    ],
)
def test_what_only_chroma_knows_is_left_to_it(columns: Columns, where: dict[str, object]) -> None:
    assert columns.rows(where) is None


@pytest.mark.parametrize(
    "where", [{}, {"a": 1, "b": 2}, {"a": {"$like": 1}}, {"a": {"$in": []}}, {"$and": [{"a": 1}]}, {"a": {"$gt": "x"}}]
)
def test_a_malformed_filter_is_refused_as_chroma_refuses_it(
    columns: Columns, collection: Collection, where: dict[str, object]
) -> None:
    with pytest.raises(SearchFailed, match="malformed: Expected"):
        columns.rows(where)
    if where:
        with pytest.raises(SearchFailed):
            collection.ids(where)


def test_files_that_do_not_fit_are_damage(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged, match=CODES_NAME):
        Columns(folder, rows=len(CHUNKS) + 1)
    with pytest.raises(IndexDamaged, match=r"fields\.json"):
        Columns(tmp_path, rows=1)
    write_columns(tmp_path / "columns", [{"year": 5}, {"year": 6}])
    (tmp_path / "columns" / "values.bin").write_text("[5]  ")
    with pytest.raises(IndexDamaged, match="fit each other"):
        Columns(tmp_path / "columns", rows=2).rows({"year": 5})
