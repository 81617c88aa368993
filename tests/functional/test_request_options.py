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


def test_top_k_bounds_what_is_retrieved_and_more_only_adds(api: Api) -> None:
    few, many = (api.ask(IN_SCOPE, topK=top_k, threshold=EVERYTHING).json for top_k in (5, 50))
    assert [body["metadata"]["chunksRetrieved"] for body in (few, many)] == [5, 50]
    assert ids(many)[: len(ids(few))] == ids(few)
    assert len(ids(many)) > len(ids(few))


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
    assert api.ask(IN_SCOPE, threshold=score + 0.001).json["answer"] == DECLINE
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
        ({"doc_id": ["CAR-002", "REF-001"]}, lambda doc: doc in {"CAR-002", "REF-001"}),
        ({"category": {"$ne": "01_regulatory"}}, lambda doc: "REG" not in doc),
        ({"category": "01_regulatory", "jurisdiction": "ID"}, lambda doc: doc == "ID-REG-001"),
        ({"sample": True, "chunk_index": 0}, lambda doc: True),
    ],
    ids=["one of", "not", "both", "kinds"],
)
def test_filters_keep_exactly_what_matches(api: Api, filters: Json, matches: Any) -> None:
    kept = set(found(api, **filters))
    assert kept >= {doc for doc in found(api) if matches(doc)}
    assert [matches(doc) for doc in kept] == [True] * len(kept) != []


@pytest.mark.parametrize(
    ("condition", "keeps"),
    [({"$gte": 8.0}, {8, 9, 10}), ({"$gt": 8}, {9, 10}), ({"$lte": 8}, {4, 6, 7, 8}), ({"$lt": 7.5}, {4, 6, 7})],
    ids=str,
)
def test_numbers_are_compared_as_numbers(api: Api, condition: Json, keeps: set[int]) -> None:
    kept = set(found(api, priority=condition))
    assert kept
    assert kept <= {doc for one in keeps for doc in found(api, priority=one)}


def test_filters_are_told_and_what_none_matches_is_declined(api: Api) -> None:
    body = api.ask(IN_SCOPE, filters={"category": "01_regulatory", "jurisdiction": "SG"}).json
    assert body["metadata"]["trail"] == ["filtered by the request's own filters: category, jurisdiction"]
    none = api.ask(IN_SCOPE, filters={"doc_id": "NO-SUCH-DOC"}, threshold=EVERYTHING).json
    assert (none["answer"], none["metadata"]["chunksRetrieved"]) == (DECLINE, 0)
