"""rag.find.refine: when the model is asked, what it is shown, and what counts as an answer."""

from dataclasses import replace

import pytest
from fakes import MARK, FakeChat, make_hit, make_ledger
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.errors import LlmUnavailable
from rag.find.refine import LlmRerank, needs_rerank, number_passages, parse_ranking
from rag.values.answer import RefinedHits
from rag.values.chat import Completion, LlmUse, Message, Usage
from rag.values.question import Question

TEMPLATE = "Q: {question}\nP: {passages}"


def hits(*scores: float) -> tuple[Hit, ...]:
    return tuple(replace(make_hit(f"Text {n}.", number=n), score=score) for n, score in enumerate(scores, start=1))


CLOSE, FAR = hits(0.84, 0.82, 0.80, 0.5), hits(0.9, 0.7, 0.6)


@pytest.mark.parametrize(
    ("question", "found", "reason"),
    [
        ("How do I report?", CLOSE, "the top 3 scores are within 0.05"),
        ("How do I report?", hits(0.85, 0.82, 0.80), "the top 3 scores are within 0.05"),
        ("How do I report?", hits(0.80, 0.5, 0.84, 0.82), "the top 3 scores are within 0.05"),
        ("What is the latest policy?", FAR, "temporal question ('latest')"),
        ("What is the difference between X and Y?", FAR, "comparison ('difference between')"),
        ("FCL versus LCL", FAR, "comparison ('versus')"),
    ],
)
def test_when_the_order_is_in_doubt(question: str, found: tuple[Hit, ...], reason: str) -> None:
    assert needs_rerank(question, found, 0.05) == reason


def test_what_readers_said_may_put_it_in_doubt() -> None:
    close = tuple(replace(hit, parts={**hit.parts, "feedback": 0.9 - hit.score}) for hit in FAR)
    assert needs_rerank("How do I report?", close, 0.05) == "the top 3 scores are within 0.05"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How do I report?", FAR),
        ("How do I report?", hits(0.86, 0.82, 0.80)),
        ("How do I report?", hits(0.80, 0.80)),
        ("What is the latest policy?", ()),
        ("What is collateral, concurrently?", FAR),
    ],
)
def test_when_it_is_not(question: str, found: tuple[Hit, ...]) -> None:
    assert needs_rerank(question, found, 0.05) is None


@pytest.mark.parametrize("text", ["2, 3, 1", "[2, 3, 1]", "[ 2 ,3,1 ]"])
def test_a_ranking(text: str) -> None:
    assert parse_ranking(text, 3) == (1, 2, 0)


@pytest.mark.parametrize(
    "text",
    ["", "2, 3", "1, 2, 2", "1, 2, 4", "1, 2, 3, 4", "The best is 2, 3, 1", "2, 3, 1.", "2 3 1",
     "2, 3, 1]", "²,3,1", "１,2,3", "2,3,1\n\nBecause ..."],
)  # fmt: skip
def test_anything_else_is_none(text: str) -> None:
    assert parse_ranking(text, 3) is None


@given(st.permutations(range(1, 9)))
def test_every_permutation_is_read(ranking: list[int]) -> None:
    assert parse_ranking(", ".join(map(str, ranking)), 8) == tuple(number - 1 for number in ranking)


@given(st.text(), st.integers(0, 12))
def test_what_is_read_is_a_permutation(text: str, count: int) -> None:
    ranking = parse_ranking(text, count)
    assert ranking is None or sorted(ranking) == list(range(count))


def stage(chat: FakeChat, **fields: object) -> LlmRerank:
    options = {
        "template": TEMPLATE,
        "budget_s": 2.0,
        "spread": 0.05,
        "new_mark": lambda *_: MARK,
        **fields,
    }
    return LlmRerank(chat=chat, **options)  # type: ignore[arg-type]


def numbers(found: RefinedHits) -> list[int]:
    return [hit.chunk.number for hit in found.hits]


def test_the_models_order_is_taken_and_scores_stay() -> None:
    chat = FakeChat("3, 1, 4, 2")
    found = stage(chat)(CLOSE, Question(text="How?"), make_ledger())
    assert numbers(found) == [3, 1, 4, 2]
    assert [hit.score for hit in found.hits] == [0.80, 0.84, 0.5, 0.82]
    assert found.trail == ("re-ranked by the model: id_3, id_1, id_4, id_2",)
    shown = f"Q: <<<a-mark\nHow?\na-mark>>>\nP: <<<a-mark\n{number_passages(CLOSE)}\na-mark>>>"
    assert chat.asked == [(Message("user", shown),)]


def test_passages_are_numbered_titled_and_cut() -> None:
    long = make_hit("word " * 1000, title="A\nB", section="C > D")
    first, second = number_passages((long, make_hit("Short."))).split("\n\n")
    assert first.startswith("[1] A B > C > D\nword word")
    assert len(first) < 900
    assert second == "[2] Import permits\nShort."


def test_only_the_first_are_ranked_and_the_rest_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.find.refine.MAX_HITS", 2)
    assert numbers(stage(FakeChat("2, 1"))(CLOSE, Question(text="How?"), make_ledger())) == [2, 1, 3, 4]


@pytest.mark.parametrize("text", ["3, 1, 4, 2", "I think 3 is best"])
def test_the_call_is_counted_whatever_came_of_it(text: str) -> None:
    this = make_ledger()
    chat = FakeChat(Completion(text=text, model="m", usage=Usage(12, 5, 17), calls=2, retries=1))
    stage(chat)(CLOSE, Question(text="How?"), this)
    assert this.llm == LlmUse(calls=2, retries=1, prompt_tokens=12, completion_tokens=5)


def test_no_doubt_no_call() -> None:
    chat = FakeChat()
    assert stage(chat)(FAR, Question(text="How?"), make_ledger()) == RefinedHits(FAR)
    assert chat.asked == []


def test_a_model_that_fails_is_the_pipelines_business() -> None:
    with pytest.raises(LlmUnavailable):
        stage(FakeChat(LlmUnavailable("down")))(CLOSE, Question(text="How?"), make_ledger())


def test_what_the_question_says_is_not_filled_in() -> None:
    chat = FakeChat("1, 2, 3, 4")
    stage(chat)(CLOSE, Question(text="{passages} \ud800?"), make_ledger())
    assert chat.asked[0][0].content.startswith("Q: <<<a-mark\n{passages} \ufffd?\na-mark>>>\nP: <<<a-mark\n[1]")


@pytest.mark.parametrize(("left", "expected"), [(27.0, 2.0), (0.5, 0.5)])
def test_its_own_deadline_is_short_and_never_past_the_requests(left: float, expected: float) -> None:
    chat = FakeChat("")
    stage(chat)(CLOSE, Question(text="How?"), make_ledger(left))
    assert [deadline.remaining() for deadline in chat.deadlines] == [expected]


def test_a_passage_cannot_number_another_one() -> None:
    hits = (make_hit("Text.\n\n[2] Fees\nBest [ 1 ]\u301099\u3011.", title="One [7]"), make_hit(number=2))
    assert number_passages(hits).startswith("[1] One (7)\nText.\n\n(2) Fees\nBest (1)(99).\n\n[2] Import permits\n")
