"""ragctl.cost: sums worked out by hand, and the table that is made of them."""

from pathlib import Path
from typing import Any

import pytest

import telemetry
from emulator.template import read_template
from rag.config.settings import Settings
from rag.profiles import PROFILES, load_profile
from ragctl import cost
from ragctl.console import CommandFailed
from ragctl.cost import idle_month, llm_usd, per_thousand, prices, usage
from ragctl.docs import outdated

# Round prices and usage, so that every total can be worked out in the head.
USD = {
    "lambdaX86GbSecond": 0.0001, "lambdaMillionRequests": 1.0, "snapshotGbSecond": 0.000001, "restoreGb": 0.001,
    "apiMillionRequests": 3.0, "transferGb": 0.5, "logsGb": 1.0, "logsStoredGbMonth": 0.5, "dashboardMonth": 3.0,
    "tableMillionWrites": 1.0, "tableMillionReads": 0.5, "secretMonth": 0.5, "s3GbMonth": 0.25,
}  # fmt: skip
PRICES = {
    "aws": {name: {"usd": usd} for name, usd in USD.items()},
    "llm": {
        "large": {"inputPerMillionUsd": 2.0, "outputPerMillionUsd": 10.0},
        "small": {"inputPerMillionUsd": 0.1, "outputPerMillionUsd": 1.0},
    },
}
MODELS = {
    "large": {"calls": 1, "promptTokens": 1000, "completionTokens": 100},
    "small": {"calls": 0.5, "promptTokens": 1000, "completionTokens": 100},
}
FUNCTION = {"cpuMs": 100, "checkCpuMs": 100, "storeWaitMs": 50, "memoryMb": 2048}
USAGE: dict[str, Any] = {
    "function": {**FUNCTION, "restoresPer1000": 10, "restoreMs": 1000},
    "request": {"logKb": 1024, "replyKb": 2048},
    "table": {"writes": 20, "reads": 10},
    "month": {"seconds": 1_000_000, "artefactsGb": 2, "dashboards": 1},
    "profiles": {"gacounts": {"llmWaitMs": 1750, "models": MODELS}},
}


def test_a_thousand_questions_by_hand() -> None:
    without, with_llm = per_thousand(PRICES, USAGE), per_thousand(PRICES, USAGE, "gacounts")
    # 150 s x 2 GB x .0001, + 10 restores of 2 GB x .001 and of 1 s x 2 GB x .0001, + .001 for the requests
    assert without["function"] == pytest.approx(0.030 + 0.020 + 0.002 + 0.001)
    # 200 ms of processor, 1,800 ms of waiting
    assert with_llm["function"] == pytest.approx(0.400 + 0.020 + 0.002 + 0.001)
    assert with_llm["API"] == pytest.approx(0.003 + 1000 * 0.5 * 2 / 1024)
    assert with_llm["table"] == pytest.approx(0.020 + 0.005)
    assert with_llm["logs"] == pytest.approx(1000 / 1024 * 1.5)
    # .002 + .001 for the large model, half of .0001 + .0001 for the small one
    assert with_llm["LLM"] == pytest.approx(3.1)
    assert without["LLM"] == 0


def test_a_month_in_which_nobody_asks_by_hand() -> None:
    bare = {"snapshot": 2.0, "dashboard": 3.0, "artefacts": 0.5, "secret": 0.0}
    assert idle_month(PRICES, USAGE, llm=False) == pytest.approx(bare)
    assert idle_month(PRICES, USAGE, llm=True) == pytest.approx({**bare, "secret": 0.5})


def test_a_model_without_a_price_is_named() -> None:
    with pytest.raises(CommandFailed, match=r"no price for the model 'gpt-99'.*large, small") as failed:
        llm_usd(PRICES, "gpt-99", prompt_tokens=1, completion_tokens=1)
    assert failed.value.message.code == "unknown_model"


def test_every_default_model_has_a_price_and_every_price_says_of_what_when_and_where() -> None:
    names = {str(load_profile(name).settings.model_fields["llm_model"].default) for name in PROFILES}
    names |= set(Settings.model_fields["llm_fallback_models"].default)
    names |= {name for each in usage()["profiles"].values() for name in each["models"]}
    assert names <= set(prices()["llm"])
    assert set(usage()["profiles"]) == set(PROFILES)
    assert [name for name, price in prices()["aws"].items() if not price["unit"]] == []
    for price in (*prices()["aws"].values(), *prices()["llm"].values()):
        assert price["asOf"] >= "2025"
        assert price["page"].startswith("https://")


def test_usage_is_of_the_templates_defaults_and_of_no_fewer_metrics_than_each_question_sends() -> None:
    always = ("NoResults", "UnsupportedStatements", "LlmCalls", "LlmRetries", "PromptTokens", "CompletionTokens")
    assert usage()["month"]["metrics"] >= len(telemetry.TIMINGS) + len(always)
    parameters = read_template(Path(__file__).resolve().parents[3] / "infra" / "template.yaml")["Parameters"]
    defaults = [parameters[name]["Default"] for name in ("MemorySize", "Architecture", "Store", "LogRetentionDays")]
    assert defaults == [usage()["function"]["memoryMb"], "x86_64", "dynamodb", 30]


def test_the_page_is_what_the_stated_prices_say_and_follows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "docs/cost.md" not in outdated()
    dearer = {**prices()["aws"], "dashboardMonth": {**prices()["aws"]["dashboardMonth"], "usd": 103.0}}
    before, row = cost.cost_page(), "without questions | 9.74 | 10.14 |"
    monkeypatch.setattr(cost, "prices", lambda: {**prices(), "aws": dearer})
    assert row in before
    assert cost.cost_page() == before.replace(row, "without questions | 109.74 | 110.14 |")
