"""docs/cost.md: what ``ragctl.cost`` adds up, for whoever pays the bill. The words are in ``cost_page.md``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragctl.cost import Architecture, Deployment, Table, idle_month, metrics_month, per_thousand, prices, usage

TEMPLATE = Path(__file__).resolve().parents[2] / "infra" / "template.yaml"
WORDS = Path(__file__).with_name("cost_page.md")
MEMORIES = (1024, 1769, 3008)
HITS = (0.0, 0.3, 0.6)
OWN_MACHINE = "clockify"
"""The profile whose default model runs on a machine of one's own."""
ITEMS = {
    "function": "Lambda: time, requests, restores",
    "API": "API Gateway, and the replies' way to the internet",
    "table": "DynamoDB: answers, conversations, feedback",
    "logs": "CloudWatch logs",
    "LLM": "the model's tokens",
}
IDLE = {
    "snapshot": "the function's snapshot, for short cold starts",
    "dashboard": "the dashboard (an account's first three are free)",
    "artefacts": "the release in S3",
    "secret": "the LLM's key in Secrets Manager, only with an LLM",
    "alarms": "five alarms, only with `AlarmTopicArn`",
}


def cost_page() -> str:
    """The page in Markdown."""
    given = _defaults()
    plain = _deployment(given)
    listed, used = prices(), usage()
    with_llm = {name: _thousand(replace(plain, profile=name, llm=True)) for name in used["profiles"]}
    paid = sorted((usd, name) for name, usd in with_llm.items() if name != OWN_MACHINE)
    (cheap_usd, cheap), (dear_usd, dear) = paid[0], paid[-1]
    idle, idle_llm = (sum(idle_month(listed, used, replace(plain, llm=llm)).values()) for llm in (False, True))
    metrics = metrics_month(listed, used)
    words = WORDS.read_text(encoding="utf-8")
    return words.format(
        plain=_thousand(plain),
        cheap=cheap,
        cheap_usd=cheap_usd,
        dear=dear,
        dear_usd=dear_usd,
        idle=idle,
        idle_llm=idle_llm,
        metrics=metrics,
        small=idle + metrics + 3 * _thousand(plain),
        small_llm=idle_llm + metrics + 3 * dear_usd,
        region=listed["region"],
        x86_64=_questions(plain, "x86_64"),
        arm64=_questions(plain, "arm64"),
        memory=plain.memory_mb,
        architecture=plain.architecture,
        items=_items(plain),
        models=_models(plain),
        idle_items=_idle(plain),
        stored=listed["aws"]["tableGbMonth"]["usd"],
        retention=given["LogRetentionDays"],
        as_of=used["asOf"],
        waits=", ".join(f"{each['llmWaitMs']:,} ms in {name}" for name, each in used["profiles"].items()),
        calls="\n".join(_calls(name, each["models"]) for name, each in used["profiles"].items()),
        prices=_prices(listed),
        **{name: used[name] for name in ("function", "request", "table")},
    )


def _defaults() -> Mapping[str, Any]:
    """The parameters' defaults in infra/template.yaml."""
    from ruamel.yaml import YAML  # late: other generated pages need none

    parameters = YAML(typ="rt").load(TEMPLATE)["Parameters"]
    return {name: each["Default"] for name, each in parameters.items()}


def _deployment(given: Mapping[str, Any]) -> Deployment:
    return Deployment(
        profile=given["Profile"],
        memory_mb=given["MemorySize"],
        architecture=given["Architecture"],
        store=given["Store"] == "dynamodb",
        llm=given["LlmSecretName"] != "",
        log_days=given["LogRetentionDays"],
        alarms=given["AlarmTopicArn"] != "",
    )


def _thousand(what: Deployment) -> float:
    return sum(per_thousand(prices(), usage(), what).values())


def _questions(plain: Deployment, architecture: Architecture) -> str:
    columns = [(llm, hits) for llm in (False, True) for hits in HITS]
    rows = []
    for profile in usage()["profiles"]:
        for memory in MEMORIES:
            base = replace(plain, profile=profile, memory_mb=memory, architecture=architecture)
            costs = (_thousand(replace(base, llm=llm, hits=hits)) for llm, hits in columns)
            rows.append([profile, f"{memory:,}", *(f"{cost:.3f}" for cost in costs)])
    heads = (f"{'LLM' if llm else 'no LLM'}, {hits:.0%} cached" for llm, hits in columns)
    return _table(["profile", "memory", *heads], rows)


def _items(plain: Deployment) -> str:
    profiles = usage()["profiles"]
    shown = [plain, *(replace(plain, profile=name, llm=True) for name in profiles)]
    sums = [per_thousand(prices(), usage(), one) for one in shown]
    rows = [[text, *(f"{each[item]:.4f}" for each in sums)] for item, text in ITEMS.items()]
    return _table(["", "no LLM", *(f"{name}, LLM" for name in profiles)], rows)


def _models(plain: Deployment) -> str:
    used = usage()
    rows = []
    priced = {model: each for model, each in prices()["llm"].items() if each["inputPerMillionUsd"]}
    for model, listed in priced.items():
        alone = {name: {**each, "models": _all_by(model, each["models"])} for name, each in used["profiles"].items()}
        sums = (
            per_thousand(prices(), {**used, "profiles": alone}, replace(plain, profile=name, llm=True))
            for name in alone
        )
        rows.append([f"`{model}`", *(f"{each['LLM']:.2f}" for each in sums), listed.get("note", "")])
    return _table(["", *used["profiles"], ""], rows)


def _all_by(model: str, models: Table) -> Table:
    """The calls of ``models``, all made to ``model``, as one."""
    kinds = ("promptTokens", "completionTokens")
    tokens = {kind: sum(one["calls"] * one[kind] for one in models.values()) for kind in kinds}
    return {model: {"calls": 1, **tokens}}


def _idle(plain: Deployment) -> str:
    shown = [replace(plain, memory_mb=memory, llm=True, alarms=True) for memory in MEMORIES]
    sums = [idle_month(prices(), usage(), one) for one in shown]
    rows = [[text, *(f"{each[item]:.3f}" for each in sums)] for item, text in IDLE.items()]
    rows.append(["all of it", *(f"{sum(each.values()):.3f}" for each in sums)])
    return _table(["", *(f"{memory:,} MB" for memory in MEMORIES)], rows)


def _calls(profile: str, models: Table) -> str:
    each = (
        f"`{model}` {one['calls']:g} times an answer, {one['promptTokens']:,} tokens in, {one['completionTokens']} out"
        for model, one in models.items()
    )
    return f"- {profile}: {'; '.join(each)}."


def _prices(listed: Table) -> str:
    rows = [
        [each["unit"], f"{each['usd']:.10f}".rstrip("0").rstrip("."), each["asOf"], _pages(each)]
        for each in listed["aws"].values()
    ]
    for model, each in listed["llm"].items():
        usd = f"{each['inputPerMillionUsd']:g}, {each['outputPerMillionUsd']:g}"
        rows.append([f"million tokens in, out: `{model}`", usd, each["asOf"], _pages(each)])
    return _table(["unit", "USD", "as of", "pages"], rows)


def _pages(price: Mapping[str, str]) -> str:
    read = f", [read here]({price['readAt']})" if "readAt" in price else ""
    return f"[vendor]({price['page']}){read}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))
