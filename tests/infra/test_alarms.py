"""Alarms and saved queries: they watch and read what the handler really sends and logs, and each has its paragraph."""

import json
import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
import real_model
from cloudformation import TOPIC, lint, of_type
from fakes_llm import LlmServer, error, reply
from functional.harness import API_KEY, IN_SCOPE, OUT_OF_SCOPE, Reply, post, starting

from rag.config.settings import Settings

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
USAGE = json.loads((ROOT / "tools" / "ragctl" / "usage.json").read_text(encoding="utf-8"))
FROM_AWS = {
    ("AWS/ApiGateway", "5XXError", ("ApiName", "stack"), ("Stage", "prod")),
    ("AWS/Lambda", "Throttles", ("FunctionName", "QueryFunction")),
}
REPORT = {
    "time": "2026-11-23T10:00:00.000Z",
    "type": "platform.report",
    "record": {
        "requestId": "6d68ca91-49c9-448d-89b8-7ca3e6dc66aa",
        "metrics": {
            "durationMs": 31.2, "billedDurationMs": 32, "memorySizeMB": 1769, "maxMemoryUsedMB": 300,
            "initDurationMs": 700.5, "restoreDurationMs": 700.5,
        },
        "status": "success",
    },
}  # fmt: skip
"""Lambda's own line, as its Telemetry API's schema reference has it; one request has an init or a restore."""

NOT_FIELDS = {
    *("fields", "filter", "stats", "sort", "limit", "by", "as", "and", "or", "asc", "desc"),
    *("count", "avg", "max", "pct", "bin", "ispresent", "d", "h"),
}
"""Words of the queries' language."""


@pytest.fixture(scope="module")
def alarms(deploy: Any) -> dict[str, dict[str, Any]]:
    """The alarms of a stack with all of them."""
    return alarms_of(deploy(AlarmTopicArn=TOPIC, NoTrafficHours=72))


@pytest.fixture(scope="module")
def replies(properties: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Reply]:
    """What the handler says in a stack with a store that is out of order and an LLM that fails in several ways."""
    told = properties("QueryFunction")["Environment"]["Variables"]
    with (
        LlmServer([reply("Yes."), error(401), error(400)]) as server,
        starting(real_model.sample_index("waypoint", tmp_path_factory)) as start,
    ):
        api = start(
            RAG_PROFILE="house",  # the template's default
            POWERTOOLS_METRICS_NAMESPACE=told["POWERTOOLS_METRICS_NAMESPACE"],
            LLM_BASE_URL=server.url,
            LLM_API_KEY=API_KEY,
            STORE_PATH=str(tmp_path_factory.mktemp("no-database")),
        )
        said = [api.ask(IN_SCOPE, sessionId="s" * 22), *(api.ask(q) for q in (IN_SCOPE, IN_SCOPE, OUT_OF_SCOPE))]
        said.append(api.call(post("{")))
    assert [one.status for one in said] == [200, 503, 503, 200, 400]
    return said


def alarms_of(stack: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return of_type(stack["Resources"], "AWS::CloudWatch::Alarm")


def watched(alarm: dict[str, Any]) -> dict[str, Any]:
    """The one metric of an alarm, whether it is watched itself or in an expression."""
    [metric] = [row["MetricStat"]["Metric"] for row in alarm.get("Metrics", []) if "MetricStat" in row] or [alarm]
    found: dict[str, Any] = metric
    return found


def key(metric: dict[str, Any]) -> tuple[Any, ...]:
    """Namespace, name and dimensions, which is what makes a metric one."""
    dimensions = sorted((item["Name"], item["Value"]) for item in metric["Dimensions"])
    return metric["Namespace"], metric["MetricName"], *dimensions


def sent(replies: list[Reply]) -> set[tuple[Any, ...]]:
    """The keys of the metrics that the handler sent."""
    return {
        (directive["Namespace"], metric["Name"], *sorted((name, line[name]) for name in names))
        for one in replies
        for line in one.metrics
        for directive in line["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]
        for metric in directive["Metrics"]
    }


def test_every_alarm_watches_a_metric_that_is_sent(alarms: Any, replies: list[Reply]) -> None:
    keys = {name: key(watched(alarm)) for name, alarm in alarms.items()}

    assert set(keys.values()) - sent(replies) == FROM_AWS
    assert {name: told[1] for name, told in keys.items()} == {
        "ServerErrorsAlarm": "5XXError",
        "ThrottlesAlarm": "Throttles",
        "SlowAnswersAlarm": "TotalMs",
        "LlmDeniedAlarm": "LlmDenied",
        "SkippedStagesAlarm": "IncompleteAnswers",
        "NoTrafficAlarm": "TotalMs",
    }


def test_alarms_only_with_a_topic_which_hears_when_it_is_over_too(deploy: Any, alarms: Any) -> None:
    assert not alarms_of(deploy(NoTrafficHours=72))
    assert {(*alarm["AlarmActions"], *alarm["OKActions"]) for alarm in alarms.values()} == {(TOPIC, TOPIC)}


def test_silence_is_an_alarm_for_who_asks_and_the_others_are_in_the_costs(deploy: Any, alarms: Any) -> None:
    usual = alarms_of(deploy(AlarmTopicArn=TOPIC))
    assert USAGE["month"]["alarms"] == len(usual)
    assert alarms.keys() - usual.keys() == {"NoTrafficAlarm"}
    silence = alarms["NoTrafficAlarm"]
    assert silence["Period"] * int(silence["EvaluationPeriods"]) == 72 * 3600
    assert silence["Statistic"] == "SampleCount"
    assert {name for name, alarm in alarms.items() if alarm["TreatMissingData"] == "breaching"} == {"NoTrafficAlarm"}


@pytest.mark.parametrize(("deadline", "seconds"), [("", Settings().request_deadline_s), ("60", 60)])
def test_slow_is_four_fifths_of_the_deadline(properties: Any, deadline: str, seconds: float) -> None:
    alarm = properties("SlowAnswersAlarm", AlarmTopicArn=TOPIC, RequestDeadlineS=deadline)
    [total] = [row for row in alarm["Metrics"] if "MetricStat" in row]
    [share] = [row for row in alarm["Metrics"] if "Expression" in row]
    found = re.fullmatch(rf"{total['Id']} / \(10 \* ([\d.]+)\)", share["Expression"])
    assert found
    assert float(found[1]) == seconds
    assert 800 * seconds / (10 * float(found[1])) == alarm["Threshold"]
    assert (total["MetricStat"]["Stat"], total["ReturnData"], share.get("ReturnData", True)) == ("p95", False, True)


def test_every_alarm_and_query_has_its_paragraph(deploy: Any, alarms: Any) -> None:
    queries = of_type(deploy()["Resources"], "AWS::Logs::QueryDefinition").values()
    listed = OPERATIONS.partition("## Saved queries")[2].partition("## ")[0]
    headings = set(re.findall(r"^### (\w+)$", OPERATIONS, re.MULTILINE))
    assert alarms.keys() == headings
    rows = set(re.findall(r"^\| `([\w-]+)` \|", listed, re.MULTILINE))
    assert {query["Name"].removeprefix("stack/") for query in queries} == rows


def test_the_budget_is_a_stack_of_its_own_that_its_region_takes(tmp_path: Path) -> None:
    # In template.yaml it might have the whole service refused in the regions that have no budgets.
    command = OPERATIONS.partition("aws cloudformation deploy ")[2].partition("\n\n")[0]
    region, template = (re.findall(rf"--{name} (\S+)", command)[0] for name in ("region", "template-file"))
    assert lint([ROOT / template], tmp_path, regions=[region], ignored=()) == ""
    given = set(re.findall(r"(\w+)=", command))
    assert given == set(re.findall(r"!Ref (\w+)", (ROOT / template).read_text(encoding="utf-8")))


def test_the_table_of_another_stack_is_one_that_sam_would_read(raw: Any) -> None:
    block = OPERATIONS.partition("## Several stacks")[2].partition("    [")[2].partition("\n\n")[0]
    table = tomllib.loads(textwrap.dedent("    [" + block))["prod"]["deploy"]["parameters"]
    ours = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))["default"]
    common = {name: value for name, value in ours["deploy"]["parameters"].items() if name != "s3_prefix"}
    assert common.items() <= table.items()
    assert table["stack_name"] != ours["global"]["parameters"]["stack_name"]
    assert {pair.partition("=")[0] for pair in table["parameter_overrides"].split()} <= raw["Parameters"].keys()


def test_every_query_reads_the_functions_logs_by_fields_that_they_have(deploy: Any, replies: list[Reply]) -> None:
    lines = [flat(line) for one in replies for line in one.logs] + [flat(REPORT)]
    queries = of_type(deploy()["Resources"], "AWS::Logs::QueryDefinition").values()

    assert len(queries) >= 6
    for query in queries:
        text = query["QueryString"]
        assert query["LogGroupNames"] == ["QueryLogGroup"]
        wanted = {name: value for name, value in re.findall(r'([\w.]+) = "([^"]*)"', text) if name != "correlation_id"}
        assert any(fields_of(text) <= line.keys() and wanted.items() <= line.items() for line in lines), (
            f"{query['Name']}: no line has {fields_of(text)} with {wanted}"
        )


def fields_of(query: str) -> set[str]:
    """The fields that a query names, but for those that CloudWatch adds to each line (@timestamp)."""
    made = set(re.findall(r"\bas (\w+)", query))
    words = re.findall(r"(?<![@\w.])[A-Za-z_][\w.]*", re.sub(r'"[^"]*"', "", query))
    return set(words) - NOT_FIELDS - made


def flat(node: Any, path: str = "") -> dict[str, Any]:
    """A log line as Logs Insights sees it: ``a.b`` for what is nested, ``a.0`` for an item of a list."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else None
    if items is None:
        return {path: node}
    leaves = (flat(item, f"{path}.{name}" if path else str(name)) for name, item in items)
    return {name: value for leaf in leaves for name, value in leaf.items()}
