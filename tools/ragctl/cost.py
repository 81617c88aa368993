"""What the service costs: stated prices times stated usage. docs/cost.md is made of it.

``prices.json`` holds the prices, in USD without free tiers, each with its unit, date and page; ``usage.json`` what a
question takes of everything, measured or assumed. Sums are plain floats in USD.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ragctl.failures import CommandFailed

type Table = Mapping[str, Any]
type Architecture = Literal["x86_64", "arm64"]

HERE = Path(__file__).parent
THOUSAND, MILLION, KB_PER_GB, MB_PER_GB = 1_000, 1_000_000, 1024**2, 1024
DAYS_A_MONTH = 30


@cache
def prices() -> Table:
    """prices.json.

    Raises:
        CommandFailed: somebody changed it, and it is not as it should be.
    """
    try:
        made: Table = json.loads((HERE / "prices.json").read_text(encoding="utf-8"))
        for price in made["llm"].values():
            float(price["inputPerMillionUsd"]), float(price["outputPerMillionUsd"])
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        shape = '{"llm": {model: {"inputPerMillionUsd": number, "outputPerMillionUsd": number}}}'
        raise CommandFailed(f"prices.json is not as it should be: {shape}", code="source_unreadable") from exc
    return made


@cache
def usage() -> Table:
    """usage.json."""
    made: Table = json.loads((HERE / "usage.json").read_text(encoding="utf-8"))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What is deployed.

    ``llm`` tells whether a model writes; ``hits`` (0..1) is the share of questions that the answer cache answers;
    ``log_days`` is how long logs are kept; ``alarms`` tells whether there are any.
    """

    profile: str
    memory_mb: int
    architecture: Architecture = "x86_64"
    llm: bool = False
    hits: float = 0.0
    store: bool = True
    log_days: int = 30
    alarms: bool = False


def llm_usd(listed: Table, model: str, *, prompt_tokens: float, completion_tokens: float) -> float:
    """What so many tokens of ``model`` cost.

    Raises:
        CommandFailed: ``listed`` names no price for the model (unknown_model).
    """
    price = listed["llm"].get(model)
    if price is None:
        known = ", ".join(listed["llm"])
        sentence = f"There is no price for the model {model!r} in prices.json: add one; it has {known}"
        raise CommandFailed(sentence, code="unknown_model")
    cost: float = prompt_tokens * price["inputPerMillionUsd"] + completion_tokens * price["outputPerMillionUsd"]
    return cost / MILLION


def per_thousand(listed: Table, used: Table, what: Deployment) -> dict[str, float]:
    """The cost of 1,000 answered questions by item: function, API, table, logs, LLM.

    A question that is declined costs what one without an LLM does. The function's CPU time grows as its memory falls
    below that of a full processor, its waiting does not; one processor is all that a request uses.
    """
    aws, request, table = _usd(listed), used["request"], used["table"]
    fresh, cached = 1 - what.hits, what.hits
    writes = fresh * table["writes"] + cached * table["cachedWrites"]
    reads = fresh * table["reads"] + cached * table["cachedReads"]
    return {
        "function": _function(aws, used, what),
        "API": THOUSAND * (aws["apiMillionRequests"] / MILLION + aws["transferGb"] * request["replyKb"] / KB_PER_GB),
        "table": THOUSAND / MILLION * (writes * aws["tableMillionWrites"] + reads * aws["tableMillionReads"])
        if what.store
        else 0.0,
        "logs": THOUSAND
        * (request["logKb"] / KB_PER_GB)
        * (aws["logsGb"] + aws["logsStoredGbMonth"] * what.log_days / DAYS_A_MONTH),
        "LLM": THOUSAND * fresh * _answer(listed, used["profiles"][what.profile]["models"]) if what.llm else 0.0,
    }


def idle_month(listed: Table, used: Table, what: Deployment) -> dict[str, float]:
    """The cost of a month of 30 days in which nobody asks, by item."""
    aws, month = _usd(listed), used["month"]
    return {
        "snapshot": what.memory_mb / MB_PER_GB * month["seconds"] * aws["snapshotGbSecond"],
        "dashboard": month["dashboards"] * aws["dashboardMonth"],
        "artefacts": month["artefactsGb"] * aws["s3GbMonth"],
        "secret": aws["secretMonth"] if what.llm else 0.0,
        "alarms": month["alarms"] * aws["alarmMonth"] if what.alarms else 0.0,
    }


def metrics_month(listed: Table, used: Table) -> float:
    """What the metrics add to a month in which somebody asks in every hour; less in proportion to the hours."""
    cost: float = used["month"]["metrics"] * _usd(listed)["metricMonth"]
    return cost


def _usd(listed: Table) -> dict[str, float]:
    return {name: float(price["usd"]) for name, price in listed["aws"].items()}


def _answer(listed: Table, models: Table) -> float:
    """The models' share of one answer, re-ranking included."""
    costs = (
        one["calls"]
        * llm_usd(listed, model, prompt_tokens=one["promptTokens"], completion_tokens=one["completionTokens"])
        for model, one in models.items()
    )
    return float(sum(costs))


def _function(aws: Mapping[str, float], used: Table, what: Deployment) -> float:
    """1,000 invocations: requests, time, and the restores of new environments."""
    times = used["function"]
    slower = max(1.0, times["fullVcpuMb"] / what.memory_mb)
    cpu = times["cpuMs"] + (times["checkCpuMs"] if what.llm else 0)
    wait = (times["storeWaitMs"] if what.store else 0) + (
        used["profiles"][what.profile]["llmWaitMs"] if what.llm else 0
    )
    fresh = cpu * slower + wait
    cached = times["cachedCpuMs"] * slower + times["cachedStoreWaitMs"]
    gb = what.memory_mb / MB_PER_GB
    gb_second = aws["lambdaX86GbSecond" if what.architecture == "x86_64" else "lambdaArmGbSecond"]
    restored = times["restoresPer1000"] * (
        aws["restoreGb"] * gb + times["restoreMs"] * slower / THOUSAND * gb * gb_second
    )
    seconds = (1 - what.hits) * fresh + what.hits * cached  # of 1,000 invocations, each in milliseconds
    return float(seconds * gb * gb_second + restored + THOUSAND / MILLION * aws["lambdaMillionRequests"])
