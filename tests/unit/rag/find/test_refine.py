"""rag.find.refine: which hits stay, in which order: by date, by edition and by a model."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from fakes import MARK, FakeChat, make_hit, make_ledger
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit, Match
from rag.errors import LlmUnavailable
from rag.find import refine
from rag.find.retrieve import l2_scale
from rag.profiles.clockify import ClockifySettings
from rag.text.sources import dated_label
from rag.values.answer import CheckedClaim, Passage, RefinedHits
from rag.values.chat import Completion, LlmUse, Message, Usage
from rag.values.question import Question

ASKED = Question(text="How?")


def numbers(found: RefinedHits) -> list[int]:
    return [hit.chunk.number for hit in found.hits]


@pytest.mark.parametrize(
    ("threshold", "passing"), [(None, [1, 2]), (0.5, [1]), (0.0, [1, 2, 3]), (-1, [1, 2, 3, 4]), (0.9, [])]
)
def test_a_hit_on_the_bar_passes_and_the_requests_own_threshold_wins(
    threshold: float | None, passing: list[int]
) -> None:
    # Cosines, of which the scale makes .5, .15, .149 and -.2; the scores of another retriever count for nothing.
    cosines = (0.75, 0.575, 0.5745, 0.4)
    found = tuple(replace(make_hit(number=n, cosine=cosine), score=0.1 * n) for n, cosine in enumerate(cosines, 1))
    bar = 2 * 0.575 - 1
    assert numbers(refine.MinScore(bar, l2_scale)(found, Question(text="q", threshold=threshold))) == passing


WIDTH = 0.02


def guide(number: int, score: float, year: int | None, **fields: Any) -> Hit:
    return replace(make_hit(number=number, dated=(year or 0) * 10_000, cosine=0.5, **fields), score=score)


def order(*hits: Hit) -> list[int]:
    return numbers(refine.NewerFirst(WIDTH)(hits, ASKED))


def test_the_newer_of_two_that_score_alike_comes_first() -> None:
    older, newer = guide(1, 0.81, 2023), guide(2, 0.80, 2025)
    assert refine.NewerFirst(WIDTH)((older, newer), ASKED) == RefinedHits((newer, older), ("newer first: id_2",))
    assert refine.NewerFirst(WIDTH)((), ASKED) == RefinedHits(())
    assert order(guide(1, 0.83, 2023), newer) == [1, 2]
    assert order(guide(1, WIDTH, 2023), guide(2, 0.0, 2025)) == [1, 2]  # the width itself is no likeness
    liked = guide(1, 0.80, 2020)
    liked = replace(liked, parts={**liked.parts, "feedback": 0.1})
    assert order(guide(2, 0.81, 2025), liked) == [1, 2]


def test_of_two_that_score_alike_the_one_of_the_year_that_is_asked_for_comes_first() -> None:
    asked = Question(text="The rates of 2023?")
    titled = guide(1, 0.80, 2025, title="Policy 2023")
    found = refine.NewerFirst(WIDTH)((guide(2, 0.81, 2024), titled), asked)
    assert (numbers(found), found.trail) == ([1, 2], ("of 2023, then newer first: id_1",))
    assert numbers(refine.NewerFirst(WIDTH)((guide(2, 0.81, 2024), guide(3, 0.80, 2023)), asked)) == [3, 2]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # .80 ~ .79 ~ .775 but not .80 ~ .775: the seed's comparator has no answer here.
        ([(0.80, 2021), (0.79, 2022), (0.775, 2023), (0.765, 2024)], [2, 1, 4, 3]),
        ([(0.805, None), (0.80, 2020), (0.80, None), (0.801, 2020)], [4, 2, 1, 3]),  # undated last, else by score
    ],
)
def test_the_order_of_several(rows: list[tuple[float, int | None]], expected: list[int]) -> None:
    assert order(*(guide(number, score, year) for number, (score, year) in enumerate(rows, start=1))) == expected


@given(
    st.lists(st.tuples(st.floats(0, 1), st.none() | st.integers(2015, 2026)), max_size=12),
    st.randoms(use_true_random=False),
)
def test_any_order_gives_one_and_nothing_passes_what_scores_better_by_the_width(
    rows: list[tuple[float, int | None]], random: Random
) -> None:
    hits = [guide(number, score, year) for number, (score, year) in enumerate(rows)]
    first = order(*hits)
    scores = [hits[number].score for number in first]
    assert all(later - earlier < WIDTH for i, earlier in enumerate(scores) for later in scores[i + 1 :])
    random.shuffle(hits)
    assert order(*hits) == first


LAMBDA = ClockifySettings().mmr_lambda


def hit(number: int, score: float, vector: list[float], text: str = "Permits take five days.", **fields: Any) -> Hit:
    unit = np.array(vector, dtype=np.float32)
    return replace(make_hit(text, number=number, **fields), score=score, vector=unit / np.linalg.norm(unit))


def test_at_the_profiles_lambda_copies_of_the_best_chunk_make_room_for_other_topics() -> None:
    # Given four copies, and two other topics that are far less relevant
    copies = tuple(hit(n, 0.9 - n / 100, [1, 0.01 * n, 0]) for n in range(4))
    others = (hit(8, 0.4, [0, 1, 0]), hit(9, 0.3, [0, 0, 1]))
    assert LAMBDA == 0.75
    assert numbers(refine.Mmr(LAMBDA, 3)((*copies, *others), ASKED)) == [0, 8, 9]


@pytest.mark.parametrize(
    ("question", "chosen"), [("What are the rates?", [1, 3]), ("What were the rates of 2023 and 2025?", [1, 2])]
)
def test_of_two_editions_the_better_one_is_taken_unless_the_question_names_what_only_the_other_holds(
    question: str, chosen: list[int]
) -> None:
    hits = (
        hit(1, 0.9, [1, 0, 0], "The rates of 2025 are higher."),
        hit(2, 0.8, [1, 0.1, 0], "The rates of 2023 are lower."),
        hit(3, 0.7, [0, 1, 0], "Tea is served at four."),
    )
    assert numbers(refine.Mmr(LAMBDA, 2)(hits, Question(text=question))) == chosen


def reference(hits: tuple[Hit, ...], weight: float, keep: int) -> list[int]:
    """Carbonell and Goldstein's rule, copies last, one pair at a time; the chosen keep their order."""
    scores = [min(1.0, hit.score) for hit in hits]
    spread = max(scores) - min(scores)
    relevance = [(score - min(scores)) / spread if spread else 1.0 for score in scores]
    chosen: list[int] = []
    while len(chosen) < min(keep, len(hits)):

        def marginal(i: int) -> tuple[bool, float]:
            likeness = max((float(hits[i].vector @ hits[j].vector) for j in chosen), default=0.0)  # type: ignore[operator]
            return likeness <= refine.REPEAT_COSINE, weight * relevance[i] - (1 - weight) * likeness

        chosen.append(max((i for i in range(len(hits)) if i not in chosen), key=marginal))
    return sorted(chosen)


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 15),
    keep=st.integers(1, 8),
    dimensions=st.integers(2, 6),
    weight=st.sampled_from([0.0, LAMBDA, 1.0]),
)
def test_others_are_chosen_as_the_rule_says(seed: int, count: int, keep: int, dimensions: int, weight: float) -> None:
    random = np.random.default_rng(seed)
    scores = sorted(random.normal(size=count), reverse=True)
    hits = tuple(hit(n, float(score), list(random.normal(size=dimensions))) for n, score in enumerate(scores))
    assert numbers(refine.Mmr(weight, keep)(hits, ASKED)) == reference(hits, weight, keep)


def edition(number: int, text: str, dated: int, vector: tuple[float, float] = (1, 0), doc: int = 0) -> Hit:
    return hit(number, 0.8, list(vector), text, title="Leave", dated=dated, doc_id=f"d{doc or number}")


OLD = edition(1, "Staff have 25 days of leave. Ask the manager for leave.", 20250107)
OTHER = edition(2, "The shop opens at nine.", 20260301, (0, 1))
NEW = edition(3, "Staff have 27 days of leave. Ask the manager for leave.", 20260105)
UNDATED = edition(4, "Staff have 20 days of leave.", 0)
EDITIONS = (UNDATED, OLD, OTHER, NEW)
LEAVE, LEAVE_IN_2025 = "How much leave do I get?", "How much leave did I get in 2025?"


def passages_of(*hits: Hit) -> list[Passage]:
    return [Passage(hit=hit, citation="", text=hit.chunk.text) for hit in hits]


@pytest.mark.parametrize(
    ("question", "order", "trail"),
    [(LEAVE, [4, 3, 1, 2], ("newer edition first: id_3",)), (LEAVE_IN_2025, [4, 1, 2, 3], ())],
)
def test_the_newest_of_the_editions_of_a_passage_comes_first(
    question: str, order: list[int], trail: tuple[str, ...]
) -> None:
    found = refine.newest_editions_first(EDITIONS, Question(text=question))
    assert (numbers(found), found.trail) == (order, trail)


def test_messages_of_a_thread_are_newest_first_and_the_newest_is_named() -> None:
    extra = {"newest_message": "J. _Ray_, 2026-05-12"}
    sections = (r"J. Ray, 2026-05-12 > Attachment: a.txt", "Ola, 2026-05-11", "J. Ray, 2026-05-11")
    match = Match(similarities=np.zeros((1, 1), np.float32), units=np.zeros((0, 1), np.uint16), title_tokens=0)
    newest, second, first = (
        hit(n, 0.8, [1, n], doc_id="m", section=section, chunk_index=n, dated=20260512, extra=extra)
        for n, section in enumerate(sections)
    )
    other = hit(3, 0.8, [0, 1], doc_id="n")
    hits = (first, other, second, newest)
    assert numbers(refine.newest_editions_first(hits, Question(text=LEAVE))) == [2, 3, 1, 0]
    matched = tuple(replace(one, match=match) for one in hits)
    assert numbers(refine.newest_editions_first(matched, Question(text=LEAVE))) == [0, 1, 2, 3]
    cited = [(first,), (first, newest), (newest,), (other, second), (first, other)]
    named = [refine.uncited_message([one.chunk for one in hits]) for hits in cited]
    assert named == ["J. _Ray_, 2026-05-12", "", "", "J. _Ray_, 2026-05-12", "J. _Ray_, 2026-05-12"]
    assert dated_label("[1]", newest.chunk) == "[1] (2026-05-12)"
    later = "a later message of this thread is by J. _Ray_, 2026-05-12"
    assert dated_label("[1]", second.chunk) == f"[1] (2026-05-12, {later})"


@pytest.mark.parametrize(
    ("hits", "question", "outdated"),
    [
        ((NEW, OLD), LEAVE, {1}),
        ((OLD, NEW), LEAVE, {0}),
        ((NEW, OLD), LEAVE_IN_2025, {0}),
        ((NEW, edition(5, "Leave.", 20250107, (0.8, 0.6))), LEAVE, set()),
        ((NEW, UNDATED), LEAVE, set()),
        ((NEW, edition(5, "Leave.", 20260105)), LEAVE, set()),
        ((NEW, edition(5, "Leave.", 20250107, doc=3)), LEAVE, set()),
        ((NEW, replace(OLD, vector=None)), LEAVE, set()),
    ],
    ids=["older", "older first", "named", "about something else", "undated", "as old", "same document", "no vector"],
)
def test_an_older_edition_is_outdated_unless_the_question_names_it(
    hits: tuple[Hit, ...], question: str, outdated: set[int]
) -> None:
    assert refine.outdated_passages(passages_of(*hits), question).keys() == outdated


V1 = hit(6, 0.9, [1, 0], "Staff have 25 days.", title="Leave", doc_id="v1", path="a/leave v1.md")
V2 = hit(7, 0.8, [1, 0], "Staff have 27 days.", title="Leave", doc_id="v2", path="a/leave v2.md",
         extra={"older_versions": "a/leave v1.md"})  # fmt: skip


@pytest.mark.parametrize(
    ("question", "order", "outdated"),
    [(LEAVE, [7, 6], {0: [1]}), ("How much leave was it in leave v1?", [6, 7], {1: [0]})],
)
def test_of_versions_the_newer_one_counts_or_the_one_that_the_question_names(
    question: str, order: list[int], outdated: dict[int, list[int]]
) -> None:
    assert numbers(refine.newest_editions_first((V1, V2), Question(text=question))) == order
    assert refine.outdated_passages(passages_of(V1, V2), question) == outdated
    assert dated_label("[Leave]", V2.chunk) == "[Leave] (takes precedence over leave v1.md)"


@pytest.mark.parametrize(
    ("said", "chunks", "outdated"),
    [
        ("Staff have 25 days of leave.", (1,), True),
        ("Staff have 25 days of leave.", (1, 3), False),
        ("Ask the manager for leave.", (1,), False),
        ("Staff have 27 days of leave.", (3,), False),
    ],
)
def test_a_statement_is_outdated_where_the_newer_edition_differs_from_what_it_cites(
    said: str, chunks: tuple[int, ...], outdated: bool
) -> None:
    passages = passages_of(*EDITIONS)
    statement = CheckedClaim(text=said, citations=(), support="supported", chance=1.0, chunks=chunks)
    assert refine.is_outdated([statement], passages, LEAVE) is outdated
    assert not refine.is_outdated([replace(statement, support="unsupported")], passages, LEAVE)
    assert not refine.is_outdated([statement], passages, LEAVE_IN_2025)


def scored(*scores: float) -> tuple[Hit, ...]:
    return tuple(replace(make_hit(f"Text {n}.", number=n), score=score) for n, score in enumerate(scores, start=1))


CLOSE, FAR = scored(0.84, 0.82, 0.80, 0.5), scored(0.9, 0.7, 0.6)
VOTED = tuple(replace(hit, parts={**hit.parts, "feedback": 0.9 - hit.score}) for hit in FAR)
WITHIN = "the top 3 scores are within 0.05"


@pytest.mark.parametrize(
    ("question", "found", "reason"),
    [
        ("How do I report?", scored(0.80, 0.5, 0.84, 0.82), WITHIN),
        ("How do I report?", scored(0.85, 0.82, 0.80), WITHIN),
        ("How do I report?", VOTED, WITHIN),
        ("How do I report?", scored(0.86, 0.82, 0.80), None),
        ("How do I report?", scored(0.80, 0.80), None),
        ("What is the latest policy?", scored(0.9, 0.5), "temporal question ('latest')"),
        ("What is the latest policy?", scored(0.9), None),
        ("What is the difference between X and Y?", FAR, "comparison ('difference between')"),
        ("FCL versus LCL", FAR, "comparison ('versus')"),
        ("What is collateral, concurrently?", FAR, None),
    ],
)
def test_when_the_order_is_in_doubt(question: str, found: tuple[Hit, ...], reason: str | None) -> None:
    assert refine.needs_rerank(question, found, 0.05) == reason


@pytest.mark.parametrize("text", ["2, 3, 1", "[ 2 ,3,1 ]"])
def test_a_ranking_alone_is_one(text: str) -> None:
    assert refine.parse_ranking(text, 3) == (1, 2, 0)
    for other in ("", "2, 3", "2, 3, 3", "2, 3, 1, 4", f"Best: {text}", f"{text}.", f"{text}]", "2 3 1", "\uff12,3,1"):
        assert refine.parse_ranking(other, 3) is None, other


@given(st.text() | st.permutations(range(1, 9)).map(str), st.integers(0, 12))
def test_what_is_read_is_a_permutation(text: str, count: int) -> None:
    ranking = refine.parse_ranking(text, count)
    assert ranking is None or sorted(ranking) == list(range(count))


def stage(chat: FakeChat) -> refine.LlmRerank:
    template = "Q: {question}\nP: {passages}"
    return refine.LlmRerank(chat=chat, template=template, budget_s=2.0, spread=0.05, new_mark=lambda *_: MARK)


def test_the_models_order_is_taken_scores_stay_and_the_question_fills_nothing_in() -> None:
    chat = FakeChat("3, 1, 4, 2")
    found = stage(chat)(CLOSE, Question(text="{passages} \ud800?"), make_ledger())
    assert numbers(found) == [3, 1, 4, 2]
    assert [hit.score for hit in found.hits] == [0.80, 0.84, 0.5, 0.82]
    assert found.trail == ("re-ranked by the model: id_3, id_1, id_4, id_2",)
    shown = f"Q: <<<a-mark\n{{passages}} \ufffd?\na-mark>>>\nP: <<<a-mark\n{refine.number_passages(CLOSE)}\na-mark>>>"
    assert chat.asked == [(Message("user", shown),)]


def test_only_the_first_are_ranked_and_the_rest_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine, "MAX_HITS", 2)
    assert numbers(stage(FakeChat("2, 1"))(CLOSE, ASKED, make_ledger())) == [2, 1, 3, 4]


@pytest.mark.parametrize(
    ("text", "order", "events"), [("3, 1, 4, 2", [3, 1, 4, 2], ["reranked"]), ("I think 3 is best", [1, 2, 3, 4], [])]
)
def test_the_call_is_counted_whatever_came_of_it(text: str, order: list[int], events: list[str]) -> None:
    this = make_ledger()
    chat = FakeChat(Completion(text=text, model="m", usage=Usage(12, 5, 17), calls=2, retries=1))
    assert numbers(stage(chat)(CLOSE, ASKED, this)) == order
    assert this.events == events
    assert this.llm == LlmUse(calls=2, retries=1, prompt_tokens=12, completion_tokens=5)


def test_no_doubt_no_call() -> None:
    assert stage(FakeChat())(FAR, ASKED, make_ledger()) == RefinedHits(FAR)


def test_a_model_that_fails_is_the_pipelines_business() -> None:
    with pytest.raises(LlmUnavailable):
        stage(FakeChat(LlmUnavailable("down")))(CLOSE, ASKED, make_ledger())


@pytest.mark.parametrize(("left", "expected"), [(27.0, 2.0), (0.5, 0.5)])
def test_its_own_deadline_is_short_and_never_past_the_requests(left: float, expected: float) -> None:
    chat = FakeChat("")
    stage(chat)(CLOSE, ASKED, make_ledger(left))
    assert [deadline.remaining() for deadline in chat.deadlines] == [expected]


def test_passages_are_titled_and_cut_and_none_can_number_another_one() -> None:
    long = make_hit("word " * 1000, title="A\nB", section="C > D")
    planted = make_hit("Text.\n\n[2] Fees\nBest [ 1 ]\u301099\u3011.", title="One [7]")
    first, others = refine.number_passages((long, planted, make_hit("Short."))).split("\n\n", 1)
    assert first.startswith("[1] A B > C > D\nword word")
    assert len(first) < 900
    assert others == "[2] One (7)\nText.\n\n(2) Fees\nBest (1)(99).\n\n[3] Import permits\nShort."
