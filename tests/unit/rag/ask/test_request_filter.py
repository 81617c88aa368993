"""rag.ask.filters: the request's filters as a Chroma ``where``."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.errors import IndexMissing
from rag.ask.filters import RequestFilter, and_where
from rag.errors import InvalidParameter
from rag.values.question import Question, SearchQuery

FIELDS = {"year": "int", "weight": "float", "region": "str", "public": "bool", "odd": "mixed"}
QUERY = SearchQuery(text="q", top_k=10)


def where(filters: Mapping[str, object], fields: Mapping[str, str] = FIELDS) -> object:
    return RequestFilter(lambda: fields)(QUERY, Question(text="q", filters=filters)).where


def refused(filters: Mapping[str, object], fields: Mapping[str, str] = FIELDS) -> str:
    with pytest.raises(InvalidParameter) as caught:
        where(filters, fields)
    assert caught.value.code == "invalid_parameter"
    return caught.value.sentence()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"public": False}, {"public": {"$eq": False}}),
        ({"year": 2024.0}, {"year": {"$eq": 2024}}),
        ({"weight": 7}, {"weight": {"$eq": 7.0}}),
        ({"region": ["SG", "MY"]}, {"region": {"$in": ["SG", "MY"]}}),
        ({"year": {"$gte": 2024}}, {"year": {"$gte": 2024}}),
        ({"weight": {"$lt": 30}}, {"weight": {"$lt": 30.0}}),
        ({"odd": "a"}, {"odd": {"$eq": "a"}}),
        ({"jurisdiction": "SG"}, {"jurisdiction": {"$eq": "SG"}}),  # no document has one: nothing is found
        ({"chunk_index": {"$gte": 2}}, {"chunk_index": {"$gte": 2}}),
        (
            {"region": "SG", "year": {"$gte": 2020}},
            {"$and": [{"region": {"$eq": "SG"}}, {"year": {"$gte": 2020}}]},
        ),
    ],
)
def test_conditions(filters: Mapping[str, object], expected: object) -> None:
    assert str(where(filters)) == str(expected)  # 2024 is no 2024.0


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [("$gte", 7.5, 8), ("$gt", 7.5, 7), ("$lte", 7.5, 7), ("$lt", 7.5, 8)],
)
def test_a_fraction_is_compared_with_whole_numbers_as_in_arithmetic(operator: str, value: float, expected: int) -> None:
    # Chroma 1.5.9 would cut 7.5 to 7 and then find 7 for "$gte 7.5".
    assert where({"year": {operator: value}}) == {"year": {operator: expected}}


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"$gte": 5.2}, {"$ne": 5}),
        ({"$lt": 5.2}, {"$eq": 5}),
        ({"$gt": 5.2}, None),
        ({"$lte": -5.2}, {"$ne": -5}),
        ({"$eq": 5.5}, {"$ne": 5}),
        ({"$ne": 5.5}, {"$eq": 5}),
        ({"$in": [5.5, 6.5, 6.0]}, {"$nin": [5]}),
        ({"$in": [6.0, 7.0]}, None),
    ],
)
def test_the_whole_number_that_chroma_takes_for_a_fraction_is_named(
    wanted: dict[str, object], named: dict[str, object] | None
) -> None:
    asked = wanted.get("$eq", wanted.get("$in", wanted))
    clause: object = {"weight": wanted}
    if named is not None:
        clause = {"$or" if "$eq" in named else "$and": [clause, {"weight": named}]}
    found = where({"weight": asked})
    assert str(found) == str(clause)  # the number named is an int
    assert where({"weight": asked, "region": "SG"}) == and_where(found, {"region": {"$eq": "SG"}})  # type: ignore[arg-type]


def test_no_filters_no_where_and_no_look_at_the_index() -> None:
    def broken() -> Mapping[str, str]:
        raise IndexMissing("none")

    assert RequestFilter(broken)(QUERY, Question(text="q")) is QUERY
    with pytest.raises(IndexMissing):
        RequestFilter(broken)(QUERY, Question(text="q", filters={"year": 1}))


def test_an_earlier_where_and_trail_stay() -> None:
    query = SearchQuery(text="q", top_k=10, where={"region": {"$eq": "SG"}}, trail=("expanded GST",))
    filtered = RequestFilter(lambda: FIELDS)(query, Question(text="q", filters={"year": 2024}))
    assert filtered.where == {"$and": [{"year": {"$eq": 2024}}, {"region": {"$eq": "SG"}}]}
    assert filtered.trail == ("expanded GST", "filtered by the request's own filters: year")


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (
            {"colour": "red"},
            "unknown field 'colour'; this index knows: category, chunk_count, chunk_index, dated, doc_id,"
            " jurisdiction, last_updated, odd, path, public, region, section, source_org, source_type, source_urls,"
            " title, url, weight, year",
        ),
        ({"region": 7}, "filters.region has a value of the wrong type; the field holds text"),
        ({"year": 2024.5}, "filters.year has a value of the wrong type; the field holds whole numbers"),
        ({"year": {"$ne": 7.5}}, "filters.year has a value of the wrong type; the field holds whole numbers"),
        ({"year": True}, "filters.year has a value of the wrong type; the field holds whole numbers"),
        ({"public": 1}, "filters.public has a value of the wrong type; the field holds true or false"),
        ({"public": {"$gte": 1}}, "filters.public: $gte compares numbers; the field holds true or false"),
        ({"year": {"$gte": "2024"}}, "filters.year: $gte compares numbers"),
        ({"year": {"$in": [1]}}, "filters.year must be"),
        ({"year": {"$gte": 1, "$lte": 2}}, "filters.year must be"),
        ({"odd": [1, "a"]}, "filters.odd must be"),
        ({"$and": 1}, "field name"),
        ({"a\ud800": 1}, "field name"),
        ({"f" * 65: 1}, "field name"),
    ],
)
def test_what_is_not_accepted_is_named(filters: Mapping[str, object], told: str) -> None:
    sentence = refused(filters)
    assert told in sentence
    assert "filters" in sentence


@pytest.mark.parametrize("field", ["year", "weight"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, float("inf")])
def test_numbers_that_no_index_can_hold(field: str, value: float) -> None:
    assert "64 bits" in refused({field: value})
    assert "64 bits" in refused({field: [value]})
    assert "64 bits" in refused({field: {"$lte": value}})


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_the_ends_of_64_bits(value: int) -> None:
    assert where({"year": value}) == {"year": {"$eq": value}}


def test_lone_surrogates_do_not_reach_the_index() -> None:
    assert where({"region": ["a\ud800", "b"]}) == {"region": {"$in": ["a\ufffd", "b"]}}


def test_an_index_that_does_not_know_its_fields_takes_any() -> None:
    assert where({"whatever": 7.5}, {}) == {"whatever": {"$eq": 7.5}}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
WANTED = (
    SCALARS
    | st.lists(SCALARS, max_size=3)
    | st.dictionaries(st.sampled_from(["$gte", "$lte", "$gt", "$lt", "$ne", "$in", "x"]), SCALARS, max_size=2)
)


@given(st.dictionaries(st.sampled_from(list(FIELDS)) | st.text(max_size=3), WANTED, max_size=4), st.booleans())
def test_any_filter_gives_a_where_or_an_invalid_parameter(filters: dict[str, object], known: bool) -> None:
    try:
        where(filters, FIELDS if known else {})
    except InvalidParameter as error:
        error.sentence().encode("utf-8")
