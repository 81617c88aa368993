"""topK, threshold and filters of a request, on real results."""

import re
from typing import Any

import pytest
from functional.harness import DECLINE, IN_SCOPE, OUT_OF_SCOPE, Api, Json, Start

EVERYTHING = -1.0


def ids(body: Json) -> list[str]:
    """The documents that retrieval found, best first."""
    return [doc["docId"] for doc in body["relatedDocs"]]


def found(api: Api, **filters: object) -> list[str]:
    """Every document that the widest search can find within ``filters``, best first."""
    return ids(api.ask("shipping", topK=50, threshold=EVERYTHING, filters=filters).json)


@pytest.fixture(scope="module")
def all_ids(api: Api) -> set[str]:
    """Every document that the widest search can find."""
    return set(found(api))


@pytest.fixture(scope="module")
def by_priority(api: Api) -> dict[int, set[str]]:
    """The documents of each priority, asked for one by one."""
    by_value = {value: set(found(api, priority=value)) for value in range(1, 11)}
    assert sum(map(bool, by_value.values())) >= 3
    return by_value


@pytest.mark.parametrize("top_k", [1, 2, 7, 50])
def test_top_k_bounds_what_is_retrieved(api: Api, top_k: int) -> None:
    body = api.ask(IN_SCOPE, topK=top_k, threshold=EVERYTHING).json
    assert body["metadata"]["chunksRetrieved"] == top_k


def test_more_chunks_only_add_to_fewer(api: Api) -> None:
    few = ids(api.ask(IN_SCOPE, topK=5, threshold=EVERYTHING).json)
    many = ids(api.ask(IN_SCOPE, topK=30, threshold=EVERYTHING).json)
    assert many[: len(few)] == few
    assert len(many) > len(few)


def test_the_threshold_is_the_cosine_of_the_best_chunk(api: Api) -> None:
    # Given the cosine of what comes closest, as a decline states it
    declined = api.ask(IN_SCOPE, threshold=1).json
    assert (declined["answer"], declined["metadata"]["chunksRetrieved"]) == (DECLINE, 0)
    (reason,) = declined["metadata"]["trail"]
    told = re.fullmatch(r"the closest was '.+ > .+' \(cosine (0\.\d\d), 1 needed\)", reason)
    assert told
    # Then a threshold just below it lets one chunk through, and one just above it none
    cosine = float(told[1])
    assert api.ask(IN_SCOPE, threshold=cosine - 0.01).json["metadata"]["chunksRetrieved"] == 1
    assert api.ask(IN_SCOPE, threshold=cosine + 0.01).json["refused"] is True


def test_with_the_seeds_rules_the_threshold_is_on_its_scale(start: Start) -> None:
    # Given the best score of the question, as the reply states it: 2 cos - 1
    api = start(SEED_RULES="on")
    best = api.ask(IN_SCOPE, topK=1).json
    score = max(citation["score"] for citation in best["citations"])
    assert best["confidence"]["score"] == pytest.approx(100 * (score + 1) / 2, abs=0.1)
    # Then a threshold just below it lets one chunk through, and one just above it none
    assert api.ask(IN_SCOPE, threshold=score - 0.001).json["metadata"]["chunksRetrieved"] == 1
    above = api.ask(IN_SCOPE, threshold=score + 0.001).json
    assert above["metadata"]["chunksRetrieved"] == 0
    assert above["answer"] == DECLINE
    # and zero is a threshold too
    usual = api.ask(IN_SCOPE, topK=50).json["metadata"]["chunksRetrieved"]
    assert api.ask(IN_SCOPE, topK=50, threshold=0).json["metadata"]["chunksRetrieved"] > usual


def test_a_lower_threshold_answers_what_the_profile_declines_and_zero_is_one_too(api: Api) -> None:
    assert api.ask(OUT_OF_SCOPE).json["refused"] is True
    assert api.ask(OUT_OF_SCOPE, threshold=EVERYTHING).json["metadata"]["chunksRetrieved"] == 10
    assert api.ask(OUT_OF_SCOPE, threshold=0).json["metadata"]["chunksRetrieved"] > 0


def test_the_profile_s_own_numbers_come_from_the_environment(start: Any) -> None:
    body = start(RETRIEVAL_TOP_K="3", RELEVANCE_THRESHOLD="-1").ask(OUT_OF_SCOPE).json
    assert body["metadata"]["chunksRetrieved"] == 3


@pytest.mark.parametrize(
    ("filters", "matches"),
    [
        ({"doc_id": "CAR-002"}, lambda doc: doc == "CAR-002"),
        ({"doc_id": ["CAR-002", "REF-001"]}, lambda doc: doc in {"CAR-002", "REF-001"}),
        ({"doc_id": {"$ne": "CAR-002"}}, lambda doc: doc != "CAR-002"),
        ({"category": "02_carriers"}, lambda doc: doc.startswith("CAR-")),
        ({"category": ["02_carriers", "03_reference"]}, lambda doc: doc.startswith(("CAR-", "REF-"))),
        ({"category": {"$ne": "01_regulatory"}}, lambda doc: "REG" not in doc),
        ({"category": "01_regulatory", "jurisdiction": "ID"}, lambda doc: doc == "ID-REG-001"),
        ({"sample": True}, lambda doc: True),
        ({"chunk_index": 0}, lambda doc: True),
    ],
    ids=lambda value: None if callable(value) else repr(value),
)
def test_filters_keep_exactly_what_matches(api: Api, all_ids: set[str], filters: Json, matches: Any) -> None:
    kept = set(found(api, **filters))
    assert kept >= {doc for doc in all_ids if matches(doc)}
    assert all(matches(doc) for doc in kept)
    assert kept


@pytest.mark.parametrize(
    ("operator", "keeps"),
    [
        ("$gte", lambda value, bound: value >= bound),
        ("$gt", lambda value, bound: value > bound),
        ("$lte", lambda value, bound: value <= bound),
        ("$lt", lambda value, bound: value < bound),
        ("$ne", lambda value, bound: value != bound),
    ],
)
@pytest.mark.parametrize("bound", [8, 8.0])
def test_numbers_are_compared_as_numbers(
    api: Api, by_priority: dict[int, set[str]], operator: str, bound: float, keeps: Any
) -> None:
    kept = set(found(api, priority={operator: bound}))
    assert kept
    assert kept <= set().union(*(docs for value, docs in by_priority.items() if keeps(value, 8)))


@pytest.mark.parametrize(("bound", "same_as"), [({"$gte": 7.5}, {"$gte": 8}), ({"$lt": 7.5}, {"$lte": 7})])
def test_a_fraction_lies_between_two_whole_numbers(api: Api, bound: Json, same_as: Json) -> None:
    assert found(api, priority=bound) == found(api, priority=same_as)


def test_filters_that_nothing_matches_decline(api: Api) -> None:
    body = api.ask(IN_SCOPE, filters={"doc_id": "NO-SUCH-DOC"}, threshold=EVERYTHING).json
    assert body["answer"] == DECLINE
    assert body["metadata"]["chunksRetrieved"] == 0


def test_the_trail_says_which_filters_were_used(api: Api) -> None:
    body = api.ask(IN_SCOPE, filters={"category": "01_regulatory", "jurisdiction": "SG"}).json
    assert body["metadata"]["trail"] == ["filtered by the request's own filters: category, jurisdiction"]
