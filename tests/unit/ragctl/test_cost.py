"""ragctl.cost: sums worked out by hand, and the page that is made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import telemetry
from rag.config.settings import Settings
from rag.profiles import PROFILES
from ragctl import cost_page
from ragctl.cost import Deployment, idle_month, llm_usd, metrics_month, per_thousand, prices, usage
from ragctl.docs import outdated
from ragctl.failures import CommandFailed

# Round prices and usage, so that every total can be worked out in the head.
USD = {
    "lambdaX86GbSecond": 0.0001,
    "lambdaArmGbSecond": 0.00005,
    "lambdaMillionRequests": 1.0,
    "snapshotGbSecond": 0.000001,
    "restoreGb": 0.001,
    "apiMillionRequests": 3.0,
    "transferGb": 0.5,
    "logsGb": 1.0,
    "logsStoredGbMonth": 0.5,
    "metricMonth": 0.25,
    "dashboardMonth": 3.0,
    "alarmMonth": 0.125,
    "tableMillionWrites": 1.0,
    "tableMillionReads": 0.5,
    "secretMonth": 0.5,
    "s3GbMonth": 0.25,
}
PRICES = {
    "aws": {name: {"usd": usd} for name, usd in USD.items()},
    "llm": {
        "large": {"inputPerMillionUsd": 2.0, "outputPerMillionUsd": 10.0},
        "small": {"inputPerMillionUsd": 0.1, "outputPerMillionUsd": 1.0},
    },
}
USAGE: dict[str, Any] = {
    "function": {
        "cpuMs": 100,
        "checkCpuMs": 100,
        "cachedCpuMs": 20,
        "storeWaitMs": 50,
        "cachedStoreWaitMs": 30,
        "fullVcpuMb": 2048,
        "restoresPer1000": 10,
        "restoreMs": 1000,
    },
    "request": {"logKb": 1024, "replyKb": 2048},
    "table": {"writes": 20, "reads": 10, "cachedWrites": 10, "cachedReads": 2},
    "month": {"seconds": 1_000_000, "artefactsGb": 2, "metrics": 10, "dashboards": 1, "alarms": 2},
    "profiles": {
        "gacounts": {
            "llmWaitMs": 1750,
            "models": {
                "large": {"calls": 1, "promptTokens": 1000, "completionTokens": 100},
                "small": {"calls": 0.5, "promptTokens": 1000, "completionTokens": 100},
            },
        }
    },
}
PLAIN = Deployment(profile="gacounts", memory_mb=2048)


@pytest.mark.parametrize(
    ("what", "function"),
    [
        # 150 s x 2 GB x .0001, + 10 restores of 2 GB x .001 and of 1 s x 2 GB x .0001, + .001 for the requests
        (PLAIN, 0.030 + 0.020 + 0.002 + 0.001),
        (replace(PLAIN, architecture="arm64"), 0.015 + 0.020 + 0.001 + 0.001),
        (replace(PLAIN, memory_mb=4096), 0.060 + 0.040 + 0.004 + 0.001),
        # half the processor: 100 ms become 200, the wait stays; 250 s x 1 GB; a restore takes 2 s of 1 GB
        (replace(PLAIN, memory_mb=1024), 0.025 + 0.010 + 0.002 + 0.001),
        (replace(PLAIN, store=False), 0.020 + 0.020 + 0.002 + 0.001),
        # 200 ms of processor, 1,800 ms of waiting
        (replace(PLAIN, llm=True), 0.400 + 0.020 + 0.002 + 0.001),
        # 500 x 150 ms and 500 x 50 ms
        (replace(PLAIN, hits=0.5), 0.020 + 0.020 + 0.002 + 0.001),
    ],
)
def test_the_function_is_paid_by_memory_and_time(what: Deployment, function: float) -> None:
    assert per_thousand(PRICES, USAGE, what)["function"] == pytest.approx(function)


def test_the_other_items_by_hand() -> None:
    nothing_cached = per_thousand(PRICES, USAGE, replace(PLAIN, llm=True))
    assert nothing_cached["API"] == pytest.approx(0.003 + 1000 * 0.5 * 2 / 1024)
    assert nothing_cached["table"] == pytest.approx(0.020 + 0.005)
    assert nothing_cached["logs"] == pytest.approx(1000 / 1024 * 1.5)
    # .002 + .001 for the large model, half of .0001 + .0001 for the small one
    assert nothing_cached["LLM"] == pytest.approx(3.1)
    half = per_thousand(PRICES, USAGE, replace(PLAIN, llm=True, hits=0.5, log_days=60))
    assert half["table"] == pytest.approx(0.015 + 0.003)
    assert half["LLM"] == pytest.approx(1.55)
    assert half["logs"] == pytest.approx(1000 / 1024 * 2)
    assert half["API"] == nothing_cached["API"]
    assert (
        per_thousand(PRICES, USAGE, PLAIN)["LLM"],
        per_thousand(PRICES, USAGE, replace(PLAIN, store=False))["table"],
    ) == (0, 0)


def test_a_month_in_which_nobody_asks_by_hand() -> None:
    bare = {"snapshot": 2.0, "dashboard": 3.0, "artefacts": 0.5, "secret": 0.0, "alarms": 0.0}
    assert idle_month(PRICES, USAGE, PLAIN) == pytest.approx(bare)
    full = idle_month(PRICES, USAGE, replace(PLAIN, memory_mb=1024, llm=True, alarms=True))
    assert full == pytest.approx({**bare, "snapshot": 1.0, "secret": 0.5, "alarms": 0.25})
    assert metrics_month(PRICES, USAGE) == 2.5


def test_a_model_without_a_price_is_named() -> None:
    with pytest.raises(CommandFailed, match=r"no price for the model 'gpt-99'.*large, small") as failed:
        llm_usd(PRICES, "gpt-99", prompt_tokens=1, completion_tokens=1)
    assert failed.value.problem.code == "unknown_model"


def test_every_default_model_has_a_price() -> None:
    names = {str(profile.knobs.model_fields["llm_model"].default) for profile in PROFILES.values()}
    names |= set(Settings.model_fields["llm_fallback_models"].default)
    assert names <= set(prices()["llm"])
    assert set(usage()["profiles"]) == set(PROFILES)
    for each in usage()["profiles"].values():
        assert set(each["models"]) <= set(prices()["llm"])


def test_every_price_says_of_what_when_and_where() -> None:
    for price in prices()["aws"].values():
        assert price["unit"]
    for price in (*prices()["aws"].values(), *prices()["llm"].values()):
        assert price["asOf"] >= "2025"
        assert price["page"].startswith("https://")


def test_no_fewer_metrics_are_counted_than_each_question_sends() -> None:
    always = ("NoResults", "UnsupportedStatements", "LlmCalls", "LlmRetries", "PromptTokens", "CompletionTokens")
    assert usage()["month"]["metrics"] >= len(telemetry.TIMINGS) + len(always)


def test_the_page_is_what_the_stated_prices_say() -> None:
    assert "docs/cost.md" not in outdated()


def test_the_page_begins_with_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    dearer = {**prices()["aws"], "dashboardMonth": {**prices()["aws"]["dashboardMonth"], "usd": 103.0}}
    before = cost_page.cost_page()
    monkeypatch.setattr(cost_page, "prices", lambda: {**prices(), "aws": dearer})
    assert "Nobody asking costs $9.74 a month" in before
    assert "Nobody asking costs $109.74 a month" in cost_page.cost_page()
