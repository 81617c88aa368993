"""The cost of the service, prices times usage, for the table in docs/cost.md.

``prices.json`` holds the prices, in USD without free tiers, each with its unit, date and page. ``usage.json`` holds
the usage of a question at the default memory, measured or assumed. Sums are plain floats in USD.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ragctl.console import CommandFailed

type JsonObject = Mapping[str, Any]

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "cost.md"
BEGIN, END = "<!-- ragctl docs -->\n", "<!-- end of ragctl docs -->\n"
THOUSAND, MILLION, KB_PER_GB, MB_PER_GB = 1_000, 1_000_000, 1024**2, 1024


@cache
def prices() -> JsonObject:
    """Return the content of prices.json.

    Raises:
        CommandFailed: the file does not have its format.
    """
    try:
        listed: JsonObject = json.loads((HERE / "prices.json").read_text(encoding="utf-8"))
        for price in listed["llm"].values():
            float(price["inputPerMillionUsd"]), float(price["outputPerMillionUsd"])
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        shape = '{"llm": {model: {"inputPerMillionUsd": number, "outputPerMillionUsd": number}}}'
        raise CommandFailed(f"prices.json is not as it should be: {shape}", code="source_unreadable") from exc
    return listed


@cache
def usage() -> JsonObject:
    """Return the content of usage.json."""
    used: JsonObject = json.loads((HERE / "usage.json").read_text(encoding="utf-8"))
    return used


def llm_usd(listed: JsonObject, model: str, *, prompt_tokens: float, completion_tokens: float) -> float:
    """Return the cost of these numbers of tokens of ``model``.

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


def per_thousand(listed: JsonObject, used: JsonObject, profile: str | None = None) -> dict[str, float]:
    """Return the cost of 1,000 answers by item, with the models of ``profile``, or without a model."""
    aws, times, request, table = _usd(listed), used["function"], used["request"], used["table"]
    model = used["profiles"][profile] if profile else None
    per_call = (
        one["calls"]
        * llm_usd(listed, name, prompt_tokens=one["promptTokens"], completion_tokens=one["completionTokens"])
        for name, one in (model["models"] if model else {}).items()
    )
    wait_ms = times["storeWaitMs"] + (times["checkCpuMs"] + model["llmWaitMs"] if model else 0)
    gb = times["memoryMb"] / MB_PER_GB
    restore = aws["restoreGb"] * gb + times["restoreMs"] / THOUSAND * gb * aws["lambdaX86GbSecond"]
    return {
        "function": (times["cpuMs"] + wait_ms) * gb * aws["lambdaX86GbSecond"]
        + times["restoresPer1000"] * restore
        + THOUSAND / MILLION * aws["lambdaMillionRequests"],
        "API": THOUSAND * (aws["apiMillionRequests"] / MILLION + aws["transferGb"] * request["replyKb"] / KB_PER_GB),
        "table": THOUSAND
        / MILLION
        * (table["writes"] * aws["tableMillionWrites"] + table["reads"] * aws["tableMillionReads"]),
        "logs": THOUSAND * (request["logKb"] / KB_PER_GB) * (aws["logsGb"] + aws["logsStoredGbMonth"]),
        "LLM": THOUSAND * float(sum(per_call)),
    }


def idle_month(listed: JsonObject, used: JsonObject, *, llm: bool) -> dict[str, float]:
    """Return the cost of a month of 30 days without questions, by item; ``llm`` adds the secret for a model's key."""
    aws, month = _usd(listed), used["month"]
    return {
        "snapshot": used["function"]["memoryMb"] / MB_PER_GB * month["seconds"] * aws["snapshotGbSecond"],
        "dashboard": month["dashboards"] * aws["dashboardMonth"],
        "artefacts": month["artefactsGb"] * aws["s3GbMonth"],
        "secret": aws["secretMonth"] if llm else 0.0,
    }


def cost_page() -> str:
    """Return docs/cost.md with a new table; the rest of the page is written by hand."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    listed, used = prices(), usage()
    plain = sum(per_thousand(listed, used).values())
    idle, idle_llm = (sum(idle_month(listed, used, llm=llm).values()) for llm in (False, True))
    rows = ["| USD | without a model | with its model |", "|---|---:|---:|"]
    for profile in used["profiles"]:
        rows.append(
            f"| 1,000 questions, {profile} | {plain:.3f} | {sum(per_thousand(listed, used, profile).values()):.3f} |"
        )
    rows.append(f"| a month without questions | {idle:.2f} | {idle_llm:.2f} |")
    return before + BEGIN + "\n" + "\n".join(rows) + "\n\n" + END + after


def _usd(listed: JsonObject) -> dict[str, float]:
    return {name: float(price["usd"]) for name, price in listed["aws"].items()}
