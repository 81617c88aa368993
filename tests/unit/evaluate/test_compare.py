"""Old and new side by side, limits, and what of a page could be code."""

import json
import re
from pathlib import Path

import pytest

from evaluate.figures import MetricChange, broken_limits, compare_figures, measure, parse_limits
from evaluate.judge import JudgedQuestion
from evaluate.metrics import LIMITED
from evaluate.page import page
from evaluate.question_files import UnusableFile
from evaluate.report import Report, read_old, report_fields


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


@pytest.mark.parametrize("content", ["", "[]", '{"metrics": 3}', '{"metrics": {"right": {}}}'])
def test_another_file_is_no_old_measurement(tmp_path: Path, content: str) -> None:
    (tmp_path / "old.json").write_text(content, encoding="utf-8")
    with pytest.raises(UnusableFile, match=r"is not what ragctl evaluate --questions --json prints"):
        read_old(tmp_path / "old.json")


def test_an_old_file_without_questions_still_has_values(tmp_path: Path) -> None:
    place = tmp_path / "old.json"
    place.write_text('{"metrics": {"right": {"value": 0.5}, "ndcg": {"value": null}}}', encoding="utf-8")
    assert read_old(place) == ({"right": 0.5}, [])


def test_limits_come_with_commas_or_repeated() -> None:
    assert parse_limits(["right=.8, ece=0.1", "p95Ms=300"]) == {"right": 0.8, "ece": 0.1, "p95Ms": 300}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ndgc=.8", f"'ndgc' is not one of {', '.join(LIMITED)}"),
        ("right", "'right' is not NAME=VALUE with a number"),
        ("right=nan", "'right=nan' is not NAME=VALUE with a number"),
    ],
)
def test_a_limit_that_is_none_is_bad_usage(given: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        parse_limits([given])


def test_errors_have_an_upper_limit_and_what_was_not_measured_keeps_none() -> None:
    made = measure([answer(n, right=n < 3, ms=20) for n in range(4)], seed=0)
    limits = {"right": 0.75, "falseRefusals": 0.0, "p50Ms": 10.0, "contained": 0.8, "ndcg": 0.1}

    assert broken_limits(limits, made) == [
        "p50Ms is 20, over 10",
        "contained is 0.75, under 0.8",
        "ndcg could not be measured",
    ]


def test_nothing_that_a_question_or_document_says_is_code_on_the_page() -> None:
    evil = "<script>alert('x')</script>"
    judged = [answer(1, right=False, question=evil, said=evil, gold=evil, expected=(evil,)), answer(2, right=True)]

    text = page(report(judged), [])

    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") >= 6  # the worst case, and the list of all
    assert "<b>note</b>" not in text
    assert "http" not in text.replace("http-equiv", "")  # nothing is loaded from anywhere
