"""Each profile on its sample, without an LLM: what is found and what is declined of the sample's questions."""

from dataclasses import dataclass
from typing import Any

import pytest
import real_model
from evaluation.rates import json_lines, report
from faults.drawing import by_night
from functional.gacounts_service import gacounts
from functional.harness import Api, Json, starting

from rag.write.extractive import DOUBT

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Case:
    """A profile, what of a reply is compared with what a question expects, and the floors of the two rates."""

    profile: str
    places: str
    answered: float
    declined: float


CASES = (
    Case("waypoint", "documents shown", answered=0.9, declined=0.8),
    Case("gacounts", "documents cited", answered=0.93, declined=0.9),
    Case(
        "clockify", "sections cited", answered=0.93, declined=0.75
    ),  # of fourteen: a near miss, and "the PIN of my bank card" at Low
)


ASKED = by_night(12, 40)
"""Of each sample's questions by people, with and without a question mark."""


@dataclass(frozen=True)
class Sample:
    """A case with the replies to the questions that its sample answers, and to those that it does not.

    ``marked`` are the answers and confidences of questions by people with a question mark, ``unmarked`` without.
    """

    case: Case
    in_scope: list[tuple[Json, Json]]
    out_of_scope: list[Json]
    marked: list[tuple[Json, Json]]
    unmarked: list[tuple[Json, Json]]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.profile)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    case: Case = request.param
    questions = json_lines(real_model.SAMPLES / case.profile / "questions.jsonl")
    settings = gacounts(None) if case.profile == "gacounts" else {"RAG_PROFILE": case.profile}
    with starting(real_model.sample_index(case.profile, tmp_path_factory)) as start:
        api: Api = start(**settings)
        replies = [(question, api.ask(question["question"]).json) for question in questions]
        asked = json_lines(real_model.SAMPLES / case.profile / "asked.jsonl")[:ASKED]
        bare = [line["question"].rstrip("?!. ") for line in asked]
        marked = [_told(api.ask(f"{text}?").json) for text in bare]
        unmarked = [_told(api.ask(text).json) for text in bare]
    return Sample(
        case,
        [(question, body) for question, body in replies if question["expected"]],
        [body for question, body in replies if not question["expected"]],
        marked,
        unmarked,
    )


def _told(body: Json) -> tuple[Json, Json]:
    return body["answer"], body["confidence"]


def places(case: Case, body: Json) -> set[Any]:
    """What ``body`` names of the sample, as questions.jsonl names it."""
    if case.places == "sections cited":
        return {(citation["section"] or "").split(" > ")[0] for citation in body["citations"]}
    shown = [*body["citations"], *(body["relatedDocs"] if case.places == "documents shown" else ())]
    return {item["docId"] for item in shown}


def test_what_the_sample_holds_is_answered_from_the_right_place(sample: Sample) -> None:
    case, total = sample.case, len(sample.in_scope)
    missed = [question["id"] for question, body in sample.in_scope if not places(case, body) & {*question["expected"]}]
    name = f"{case.profile}: the {case.places} hold what is expected (missed: {', '.join(missed) or 'none'})"
    report(name, total - len(missed), total, floor=case.answered)


def test_a_question_mark_changes_no_answer(sample: Sample) -> None:
    same = sum(one == other for one, other in zip(sample.marked, sample.unmarked, strict=True))
    report(f"{sample.case.profile}: the same answer without the question mark", same, len(sample.unmarked), floor=0.97)


def test_what_the_sample_does_not_hold_is_declined_or_doubtful(sample: Sample) -> None:
    case, total = sample.case, len(sample.out_of_scope)
    declined = sum(body["refused"] or body["answer"].startswith(DOUBT) for body in sample.out_of_scope)
    report(f"{case.profile}: what is out of scope is declined or doubtful", declined, total, floor=case.declined)
    refused = sum(body["refused"] for body in sample.out_of_scope)
    report(f"{case.profile}: it is declined", refused, total, floor=case.declined - 0.3)
