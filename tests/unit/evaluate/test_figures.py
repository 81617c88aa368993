"""Results beside their labels, the figures that they add up to, old ones beside new ones, limits, and the page."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from evaluate.figures import (
    Figure,
    MetricChange,
    broken_limits,
    compare_figures,
    describe_fault,
    label_notes,
    measure,
    parse_limits,
    worst_results,
)
from evaluate.judge import JudgedQuestion, contains, excerpt, judge, rank_names, squad_tokens, strip_marks, token_f1
from evaluate.metrics import LIMITED
from evaluate.page import page
from evaluate.question_files import LabelledQuestion, UnusableFile
from evaluate.report import Report, read_old, report_fields
from evaluate.run import RunResult


def usd(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """A model called small costs 1 USD a million tokens in, and 2 out."""
    return (prompt_tokens + 2 * completion_tokens) / 1_000_000 if model == "small" else None


def told(question: str, answer: str = "", **more: Any) -> RunResult:
    """A reply as the service gives it; without an answer it is refused."""
    reply = {
        "answer": answer or "I do not know.",
        "refused": not answer,
        "confidence": {"level": more.get("level", "High"), "score": more.get("score", 90.0)},
        "citations": [{"raw": f"[{n}]", "support": word} for n, word in enumerate(more.get("cites", ()))],
        "metadata": {
            "model": more.get("model", "small"),
            "timings": {"retrievalMs": 2.0, "totalMs": more.get("ms", 5.0)},
            "statements": [{"support": word, "citations": ["[x]"]} for word in more.get("says", ())],
        },
    }
    places = {name: more.get(name, ()) for name in ("found", "cited")}
    return RunResult(question=question, reply=reply, llm=more.get("llm", {}), **places)


def one(labels: dict[str, Any], result: RunResult) -> JudgedQuestion:
    return judge([LabelledQuestion(question=result.question, **labels)], [result], usd)[0]


def figures(judged: list[JudgedQuestion]) -> dict[str, Figure]:
    return {figure.metric.name: figure for figure in measure(judged, seed=0)}


def test_retrieval_is_measured_on_names_in_any_case_and_a_passage_counts_once_for_each() -> None:
    found = [["x"], ["doc-1", "guide"], ["doc-1"], ["doc-2"]]
    assert rank_names(found, ["DOC-1", "Doc-2"]) == ["other 1", "expected doc-1", "other 3", "expected doc-2"]
    judged = one({"expected": ("DOC-1", "DOC-2"), "answerable": True}, told("q", "yes", found=found[:3]))
    assert (judged.recall, judged.mrr) == (0.5, 0.5)
    assert judged.ndcg == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_right_is_the_gold_or_without_one_the_expected_document() -> None:
    gold = {"expected": ("D",), "answer": "SGD 45", "answerable": True}
    place = {"expected": ("D",), "answerable": True}

    assert one(gold, told("q", "SGD 45 [0]", cites=["supported"], cited=[["other"]])).right is True
    assert one(gold, told("q", "SGD 99", cited=[["d"]])).right is False
    assert one(place, told("q", "Something", cited=[["d", "x"]])).right is True
    assert one(place, told("q", "Something", cited=[["x"]])).right is False
    assert one({"answerable": False}, told("q", "Something")).right is False
    assert one({"answerable": False}, told("q")).right is None
    assert one(gold, told("q")).right is None
    assert one({}, told("q", "Something")).right is None


def test_citation_marks_are_taken_out_and_links_stay() -> None:
    text = "Pay SGD 45 [Fees > Release]. See [the form](https://a.example/f)."
    marks = ["[Fees > Release]", "[the form](https://a.example/f)"]
    assert strip_marks(text, marks) == "Pay SGD 45 . See [the form](https://a.example/f)."
    # So gold in a mark, here [0], is not said
    assert one({"answer": "0", "answerable": True}, told("q", "See [0]", cites=["supported"])).contained is False


def test_both_errors_of_refusing_are_counted_apart_and_low_answers_named() -> None:
    yes, no = {"answer": "a", "answerable": True}, {"answerable": False}
    judged = [one(yes, told("1", "a")), one(yes, told("2")), one(no, told("3")), one({}, told("6"))]
    judged += [one(no, told("4", "b", level="Low")), one(no, told("5", "c", level="Medium"))]
    found = figures(judged)
    assert (found["falseRefusals"].hits, found["falseRefusals"].of) == (1, 2)
    assert (found["falseAnswers"].hits, found["falseAnswers"].of) == (2, 3)
    assert (found["sureFalseAnswers"].hits, found["sureFalseAnswers"].of) == (1, 3)
    assert (found["right"].hits, found["right"].of) == (1, 2)
    assert found["failed"].value == 0
    assert any("1 questions have no label" in sentence for sentence in label_notes(judged))


def test_statements_and_citations_are_counted_over_all_answers() -> None:
    judged = [
        one({}, told("1", "a", says=["supported", "partial"], cites=["supported", None])),
        one({}, told("2", "b", says=["unsupported", "supported"], cites=["unsupported"])),
        one({}, told("3")),
    ]

    found = figures(judged)

    assert (found["supported"].hits, found["supported"].of, found["supported"].n) == (2, 4, 2)
    assert (found["partial"].value, found["unsupported"].value) == (0.25, 0.25)
    assert (found["citationPrecision"].hits, found["citationPrecision"].of) == (1, 2)
    assert (found["citationRecall"].hits, found["citationRecall"].of) == (2, 4)
    # What is the same everywhere is no certainty: Wilson's interval of 29 of 29
    same = [one({}, told(str(n), "a", says=["supported"])) for n in range(29)]
    assert figures(same)["supported"].low == pytest.approx(0.8830, abs=5e-5)


def test_costs_are_told_only_where_every_price_is_known() -> None:
    used = {"calls": 1, "promptTokens": 3000, "completionTokens": 500}
    known = one({}, told("1", "a", llm=used))
    unknown = one({}, told("2", "a", llm=used, model="big"))
    assert known.cost_usd == pytest.approx(0.004)
    assert unknown.cost_usd is None
    assert figures([known])["usdPer1000"].value == pytest.approx(4)
    assert figures([known, unknown])["usdPer1000"].value is None
    assert figures([known, unknown])["promptTokens"].value == 3000


def test_a_failure_counts_as_one_and_nowhere_else() -> None:
    failed = one({"answer": "a", "answerable": True}, RunResult(question="2", failed="llm_unavailable"))
    found = figures([one({"answer": "a", "answerable": True}, told("1", "a")), failed])
    assert (found["right"].hits, found["right"].of) == (1, 1)
    assert (found["failed"].hits, found["failed"].of) == (1, 2)
    assert describe_fault(failed) == "failed: llm_unavailable"


def test_the_worst_are_wrong_answers_the_surest_first_then_refusals() -> None:
    yes, no = {"answer": "a", "answerable": True}, {"answerable": False}
    judged = [one(yes, told("refused")), one(yes, told("right", "a", score=99)), one(no, told("rightly refused"))]
    judged += [one(no, told("made up", "b", score=40)), one(yes, told("sure", "b", score=95))]
    assert [case.question for case in worst_results(judged)] == ["sure", "made up", "refused"]


def test_a_reply_is_cut_at_a_blank_and_read_without_its_table() -> None:
    assert excerpt("| A | B |\n|---|:-:|\n| 1 | x-y |") == "A B 1 x-y"
    cut = excerpt("word " * 60)
    assert len(cut) <= 200
    assert cut.endswith("word…")


# Words


@pytest.mark.parametrize(
    ("reply", "gold", "holds"),
    [
        ("It costs **SGD 45** for each.", "sgd 45", True),
        ("GST is 9 % of the value.", "9 %", True),
        ("the Shipper\u2019s\n office", "shipper's office", True),
        ("| Reefer | 2 / 2 days |", "reefer 2 / 2 days", True),
        ("税率は9%です", "9%", True),
        ("Rate: 9.", "9", True),
        ("GST is 19 %.", "9 %", False),
        ("It is 0.9 %.", "9 %", False),
        ("It is 9.5 days.", "9", False),
        ("It came late.", "ate", False),
        ("19 % or 9 %", "9 %", True),
        ("anything", " ", False),
    ],
)
def test_a_reply_holds_whole_words_and_numbers_in_any_case_and_markup(reply: str, gold: str, holds: bool) -> None:
    assert contains(reply, gold) is holds


def test_token_f1_is_squads() -> None:
    # "cat sat" against "cat sat on mat": precision 1, recall 1/2
    assert token_f1("The cat, sat!", "a cat sat on the mat") == pytest.approx(2 / 3)
    assert token_f1("dog", "cat") == 0
    assert squad_tokens("An apple's the U.S. one") == ["apples", "us", "one"]


# Old and new side by side, limits, and what of a page could be code


def answer(number: int, *, right: bool, ms: float = 5.0, **more: object) -> JudgedQuestion:
    fields = {"question": f"q{number}", "gold": "a", "answerable": True, "contained": right, "right": right}
    return JudgedQuestion(**{**fields, "ms": ms, "score": 80.0, "chars": 10, "cost_usd": 0.0, **more})  # type: ignore[arg-type]


def report(judged: list[JudgedQuestion]) -> Report:
    run = {"profile": "waypoint", "index": "here", "version": "v", "model": "m", "results_path": "k"}
    return Report(**run, seed=0, figures=measure(judged, seed=0), judged=judged, notes=["<b>note</b>"])


SHOWN = {"right", "contained", "llmCalls", "p50Ms", "chars"}
"""The metrics that are compared here: each costs a bootstrap."""


def changes(
    new: list[JudgedQuestion], old: list[JudgedQuestion], values: dict[str, float] | None = None
) -> dict[str, MetricChange]:
    figures = [figure for figure in measure(new, seed=0) if figure.metric.name in SHOWN]
    return {one.metric.name: one for one in compare_figures(figures, new, values or {}, old, seed=0)}


def test_a_change_that_chance_does_not_explain_is_better_or_worse_by_the_metrics_side() -> None:
    old = [answer(n, right=n < 10, calls=1, ms=5) for n in range(40)]
    new = [answer(n, right=n < 35, calls=2, ms=9) for n in range(40)]

    found = changes(new, old)

    assert (found["right"].old, found["right"].new, found["right"].n) == (10 / 40, 35 / 40, 40)
    assert found["right"].difference == pytest.approx(25 / 40)
    assert found["right"].verdict == "better"
    assert found["llmCalls"].verdict == "worse"
    assert (found["p50Ms"].difference, found["p50Ms"].verdict) == (4, "")  # another day's machine, perhaps
    assert found["chars"].verdict == "no difference seen"
    assert changes(old, new)["right"].verdict == "worse"
    one_more = [answer(n, right=n < 11) for n in range(40)]
    assert changes(one_more, old)["right"].verdict == "no difference seen"


def test_only_questions_that_both_asked_are_paired_and_else_values_are_set_side_by_side() -> None:
    old = [answer(n, right=True) for n in range(5, 15)]
    new = [answer(n, right=False) for n in range(10)]
    assert changes(new, old)["right"].n == 5
    apart = changes(new, [], {"right": 0.5, "gone": 1.0})
    assert (apart["right"].old, apart["right"].new, apart["right"].verdict) == (0.5, 0, "")
    assert "contained" not in apart


def test_what_json_tells_is_what_a_later_comparison_reads(tmp_path: Path) -> None:
    judged = [answer(n, right=n % 2 == 0, expected=("D",), stages={"retrieval": 2.0}) for n in range(4)]
    place = tmp_path / "old.json"
    place.write_text(json.dumps(report_fields(report(judged), [])), encoding="utf-8")
    values, read = read_old(place)
    assert [(one.question, one.right, one.ms) for one in read] == [(one.question, one.right, one.ms) for one in judged]
    assert values["right"] == 0.5
    assert "ndcg" not in values
    place.write_text('{"metrics": {"right": {"value": 0.5}, "ndcg": {"value": null}}}', encoding="utf-8")
    assert read_old(place) == ({"right": 0.5}, []), "one without questions still has values"


@pytest.mark.parametrize("content", ["", "[]", '{"metrics": 3}', '{"metrics": {"right": {}}}'])
def test_another_file_is_no_old_measurement(tmp_path: Path, content: str) -> None:
    (tmp_path / "old.json").write_text(content, encoding="utf-8")
    with pytest.raises(UnusableFile, match=r"is not what ragctl evaluate --questions --json prints"):
        read_old(tmp_path / "old.json")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ndgc=.8", f"'ndgc' is not one of {', '.join(LIMITED)}"),
        ("chars=1", f"'chars' is not one of {', '.join(LIMITED)}"),
        ("right", "'right' is not NAME=VALUE with a number"),
        ("right=nan", "'right=nan' is not NAME=VALUE with a number"),
    ],
)
def test_a_limit_that_is_none_is_bad_usage(given: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        parse_limits([given])


def test_limits_come_with_commas_or_repeated_and_what_was_not_measured_keeps_none() -> None:
    limits = parse_limits(["right=.75, falseRefusals=0", "p50Ms=10, contained=0.8", "ndcg=0.1"])
    assert limits == {"right": 0.75, "falseRefusals": 0, "p50Ms": 10, "contained": 0.8, "ndcg": 0.1}
    broken = ["p50Ms is 20, over 10", "contained is 0.75, under 0.8", "ndcg could not be measured"]
    assert broken_limits(limits, measure([answer(n, right=n < 3, ms=20) for n in range(4)], seed=0)) == broken


def test_nothing_that_a_question_or_document_says_is_code_on_the_page() -> None:
    evil = "<script>alert('x')</script>"
    judged = [answer(1, right=False, question=evil, said=evil, gold=evil, expected=(evil,)), answer(2, right=True)]
    text = page(report(judged), [])
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") >= 6  # the worst case, and the list of all
    assert "<b>note</b>" not in text
    assert "http" not in text.replace("http-equiv", "")  # nothing is loaded from anywhere
