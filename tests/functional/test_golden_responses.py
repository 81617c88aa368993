"""Whole golden responses: nothing about a reply changes unnoticed."""

import pytest
from fakes_llm import reply
from functional.golden import check_golden, differences
from functional.harness import IN_SCOPE, OUT_OF_SCOPE, Api, Start

WRITTEN = (
    "You need three papers: the commercial invoice, the packing list and the bill of lading or air waybill "
    "[Singapore Import Permits and TradeNet > Documents needed for import customs clearance]. The harbour orchestra "
    "plays for nine purple whales \u3010Importing Food into Singapore > Fruit, vegetables and plant products\u3011 "
    "[Certificates of Origin and Fre Trade Agreements]. See also [Another Handbook]."
)
# The requests' bounds lie where no score is near, so that drift does not move a chunk across.
CREDIT_QUESTION = "how many days do we have to pay your invoices?"


def test_an_answer_of_an_llm(with_llm: Start) -> None:
    api = with_llm(reply(WRITTEN, model="llama-3.1-8b-instant"))
    check_golden("answer_llm", api.ask(IN_SCOPE, threshold=0, sessionId="golden-session-0000000").json)


def test_answers_of_the_extractive_engine_a_decline_and_health(api: Api) -> None:
    check_golden("answer_extractive", api.ask(CREDIT_QUESTION, threshold=0.25).json)
    filters = {"jurisdiction": ["SG"], "priority": {"$gte": 8}}
    check_golden("answer_filtered", api.ask(IN_SCOPE, topK=5, threshold=0.1, filters=filters).json)
    check_golden("decline", api.ask(OUT_OF_SCOPE).json)
    check_golden("health", api.health().json)


@pytest.mark.parametrize(
    ("actual", "expected", "found"),
    [
        ({"score": 0.51}, {"score": 0.5}, []),
        ({"score": 0.55}, {"score": 0.5}, ["$.score is 0.55, was 0.5"]),
        ({"chunks": 9}, {"chunks": 10}, ["$.chunks is 9, was 10"]),
        ({"reason": "avg 28%"}, {"reason": "avg 38%"}, ["$.reason is 'avg 28%', was 'avg 38%'"]),
        ({"trail": ["evidence -6.03, -0.59 needed"]}, {"trail": ["evidence -5.95, -0.58 needed"]}, []),
        ({"trail": ["cosine 0.29"]}, {"trail": ["cosine 0.09"]}, ["$.trail[0] is 'cosine 0.29', was 'cosine 0.09'"]),
        ({"answer": "7% GST"}, {"answer": "8% GST"}, ["$.answer is '7% GST', was '8% GST'"]),
        ({"a": 1}, {"b": 1}, ["$.a is new", "$.b is missing"]),
        ([1], [1, 2], ["$ is [1], was [1, 2]"]),
        ([True], [1], ["$[0] is True, was 1"]),
    ],
)
def test_the_comparison_itself(actual: object, expected: object, found: list[str]) -> None:
    assert list(differences(actual, expected)) == found
