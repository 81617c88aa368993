"""rag.http.requests: from any body to a Question or a BadRequest."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import BadRequest, InvalidParameter, InvalidQuery
from rag.http.requests import InvalidJson, parse_request, read_question
from rag.http.schema import FeedbackRequest, QueryRequest
from rag.values.question import Question


def parse_query(text: str) -> Question:
    return read_question(parse_request(QueryRequest, text))


def body(**fields: Any) -> str:
    return json.dumps({"query": "Which permit?", **fields})


def test_everything_that_can_be_said() -> None:
    filters = {"region": "SG", "year": {"$gte": 2020}, "public": True, "weight": [1.5, 2.5]}
    session = "abcdefghij_KLMNOP-0123"
    parsed = parse_query(body(query="Qué?", sessionId=session, topK=7, threshold=0.25, filters=filters))
    assert parsed == Question(text="Qué?", session_id=session, top_k=7, threshold=0.25, filters=filters)
    assert type(parsed.filters["public"]) is bool


def test_unknown_keys_are_ignored_and_null_is_not_given() -> None:
    parsed = parse_query(body(sessionId=None, topK=None, threshold=None, filters=None, colour="red", Query=1))
    assert parsed == Question(text="Which permit?")


def test_the_question_is_left_to_admission() -> None:
    assert parse_query(body(query="  ")).text == "  "
    assert len(parse_query(body(query="a" * 5000)).text) == 5000


@pytest.mark.parametrize(
    "raw",
    ["", "[]", '{"query": "x", "threshold": NaN}', "[" * 100_000, '{"query": "x", "topK": ' + "9" * 5000 + "}"],
    ids=["nothing", "a list", "NaN", "deep", "many digits"],
)
def test_not_a_json_object(raw: str) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse_query(raw)
    assert caught.value.sentence() == 'Request body must be a JSON object such as {"query": "..."}'


@pytest.mark.parametrize("fields", [{}, {"query": 7}])
def test_the_question_must_be_a_string(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_query(json.dumps(fields))
    assert caught.value.sentence("Question") == "Question must be a string"


@pytest.mark.parametrize(("top_k", "threshold", "session"), [(1, -1, "a" * 22), (50, 1, "Z" * 64)])
def test_parameters_at_their_ends(top_k: int, threshold: float, session: str) -> None:
    parsed = parse_query(body(topK=top_k, threshold=threshold, sessionId=session))
    assert (parsed.top_k, parsed.threshold, parsed.session_id) == (top_k, threshold, session)


TOP_K = "topK must be a whole number from 1 to 50"
THRESHOLD = "threshold must be a number from -1 to 1: the cosine that the best chunk must reach"
SESSION = "sessionId must be 22-64 characters of A-Z a-z 0-9 _ -"
NO_TOP_K: list[object] = [0, 51, 1.5, "5", True]
NO_THRESHOLD: list[object] = [-1.01, 1.01, 10**400, "0.5", True]
NO_SESSION: list[object] = ["a" * 21, "a" * 65, "a" * 22 + "\n", "é" * 22, "\ud800" + "a" * 22, 7]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        *(("topK", value, TOP_K) for value in NO_TOP_K),
        *(("threshold", value, THRESHOLD) for value in NO_THRESHOLD),
        *(("sessionId", value, SESSION) for value in NO_SESSION),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(name: str, value: object, sentence: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        parse_query(body(**{name: value}))
    assert caught.value.code == "invalid_parameter"
    assert caught.value.sentence() == sentence


MOST_FILTERS = {f"f{n}": 1 for n in range(20)}


@pytest.mark.parametrize(
    "filters",
    [[], {"region": None}, {"region": [["SG"]]}, {"region": {"$gte": [1]}}, {**MOST_FILTERS, "region": 1}],
    ids=["a list", "null", "a list in a list", "a list to compare with", "21"],
)
def test_filters_of_another_shape(filters: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^filters must be an object that maps up to 20 metadata fields to"):
        parse_query(body(filters=filters))
    assert parse_query(body(filters=MOST_FILTERS)).filters == MOST_FILTERS


VOTE = {"responseId": "r", "helpful": None, "comment": ""}


@pytest.mark.parametrize("given", [{"responseId": "a" * 64}, {"comment": "a" * 2000}, {"helpful": True}])
def test_a_vote_s_texts_at_their_ends(given: dict[str, object]) -> None:
    assert parse_request(FeedbackRequest, json.dumps(VOTE | given)).model_dump(by_alias=True) == VOTE | given


@pytest.mark.parametrize(
    ("name", "value"),
    [("responseId", ""), ("responseId", "a" * 65), ("helpful", 1), ("comment", 1), ("comment", "a" * 2001)],
)
def test_what_is_no_vote_is_named(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name} must be "):
        parse_request(FeedbackRequest, json.dumps({**VOTE, name: value}))


def test_filters_nested_deeper_than_any_filter() -> None:
    for depth in (3, 900):
        with pytest.raises(BadRequest):
            parse_query('{"query": "x", "filters": ' + '{"a": ' * depth + "1" + "}" * (depth + 1))


def test_a_threshold_beyond_all_numbers() -> None:
    with pytest.raises(InvalidParameter, match=f"^{THRESHOLD}$"):
        parse_query('{"query": "x", "threshold": 1e999}')


def test_lone_surrogates_in_the_question_are_replaced_and_pairs_kept() -> None:
    assert parse_query('{"query": "a\\ud800b \\ud83d\\ude00 \\ude00"}').text == "a\ufffdb \U0001f600 \ufffd"


ALL_CODE_POINTS = st.text(st.characters(exclude_categories=()), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ALL_CODE_POINTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ALL_CODE_POINTS, inner, max_size=4),
    max_leaves=12,
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={"query": ALL_CODE_POINTS} | dict.fromkeys(("sessionId", "topK", "threshold", "filters", "other"), JSON),
)


@given(REQUESTS | JSON)
def test_any_json_is_a_question_or_a_bad_request(value: object) -> None:
    for raw in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        try:
            question = parse_query(raw)
        except BadRequest as error:
            error.sentence().encode("utf-8")
        else:
            question.text.encode("utf-8")
            assert question.top_k is None or 1 <= question.top_k <= 50
            assert question.threshold is None or -1 <= question.threshold <= 1
            assert question.session_id is None or 22 <= len(question.session_id) <= 64
