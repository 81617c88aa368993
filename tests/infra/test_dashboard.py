"""The dashboard and the alarms show metrics that exist, with the names and dimensions that the code sends."""

import itertools
import json
import re
from typing import Any

import pytest
from cloudformation import of_type

pytestmark = pytest.mark.build

type Rows = list[dict[str, Any]]

NAMESPACE = "RagService/stack"
"""Each stack has its own: two with one profile would add up otherwise."""

GATEWAY = {"ApiName": "stack", "Stage": "prod"}
FUNCTION = {"FunctionName": "QueryFunction"}
TABLE = {"TableName": "Table"}
LATENCY = "SuccessfulRequestLatency"
FROM_AWS = {
    **dict.fromkeys(("Count", "4XXError", "5XXError", "Latency"), ("AWS/ApiGateway", GATEWAY)),
    **dict.fromkeys(("Invocations", "Errors", "Throttles", "Duration"), ("AWS/Lambda", FUNCTION)),
    "ConcurrentExecutions": ("AWS/Lambda", FUNCTION),
    **dict.fromkeys(("ReadThrottleEvents", "WriteThrottleEvents", "TransactionConflict"), ("AWS/DynamoDB", TABLE)),
    **dict.fromkeys(("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"), ("AWS/DynamoDB", TABLE)),
}
SEARCHED = {"Errors": "code", "CacheHit": "layer", "SoftFailures": "stage", "Answers": "protocol"}
"""The dimension whose every value has its own line, by metric."""

PLATFORM_LINES: dict[str, dict[str, Any]] = {
    "RestoreMs": {"type": "platform.report", "record": {"metrics": {"durationMs": 31.2, "restoreDurationMs": 700.5}}},
    "InitMs": {"type": "platform.report", "record": {"metrics": {"durationMs": 31.2, "initDurationMs": 700.5}}},
    "SnapshotInitMs": {
        "type": "platform.initReport",
        "record": {"initializationType": "snap-start", "phase": "init", "metrics": {"durationMs": 700.5}},
    },
}
"""Lambda's log lines by the metric that is made of them, as its Telemetry API's schema reference has them."""


@pytest.fixture(scope="module")
def widgets(properties: Any) -> Rows:
    found: Rows = json.loads(properties("Dashboard")["DashboardBody"])["widgets"]
    return found


@pytest.fixture(scope="module")
def shown(widgets: Rows) -> Rows:
    """Every metric on the dashboard: namespace, name, dimensions, statistic."""
    found = []
    for widget in (widget["properties"] for widget in widgets):
        for row in widget["metrics"]:
            options = row[-1] if isinstance(row[-1], dict) else {}
            if "expression" not in options:
                namespace, name, *pairs = row[: len(row) - bool(options)]
                dimensions = dict(zip(pairs[::2], pairs[1::2], strict=True))
                stat = options.get("stat", widget.get("stat"))
                found.append({"namespace": namespace, "name": name, "dimensions": dimensions, "stat": stat})
    return found


@pytest.fixture(scope="module")
def sent(program: Any) -> dict[str, dict[str, Any]]:
    """The code's own metrics by name; every one has one set of dimensions."""
    by_name = {metric["name"]: metric for metric in program["metrics"]}
    for metric in program["metrics"]:
        assert metric["dimensions"].keys() == by_name[metric["name"]]["dimensions"].keys()
    return by_name


@pytest.fixture(scope="module")
def filtered(deploy: Any) -> dict[str, dict[str, Any]]:
    """The metrics that CloudWatch makes of log lines, by name."""
    filters = of_type(deploy()["Resources"], "AWS::Logs::MetricFilter").values()
    return {item["MetricTransformations"][0]["MetricName"]: item for item in filters}


def test_all_metrics_of_the_code_are_shown(shown: Rows, widgets: Rows, sent: Any) -> None:
    names = {metric["name"] for metric in shown if metric["namespace"] == NAMESPACE}
    names |= searches(widgets).keys()
    assert {"RetrievalMs", "GenerationMs", "CitationMs", "TotalMs", "NoResults", "LlmCalls", "Errors"} <= sent.keys()
    assert {"CacheHit", "Reframed", "Reranked", "SoftFailures", "FeedbackReceived"} <= sent.keys()
    assert sent.keys() <= names


def test_metrics_shown_have_the_codes_names_and_dimensions(shown: Rows, sent: Any, filtered: Any) -> None:
    ours = [metric for metric in shown if metric["namespace"] == NAMESPACE and metric["name"] not in filtered]
    for metric in ours:
        code = sent[metric["name"]]
        here = code["dimensions"] | ({"function_name": "QueryFunction"} if metric["name"] == "ColdStart" else {})
        assert (metric["namespace"], metric["dimensions"]) == (code["namespace"], here), metric


@pytest.mark.parametrize(("name", "dimension"), SEARCHED.items())
def test_searches_are_by_the_dimensions_of_the_code(widgets: Rows, sent: Any, name: str, dimension: str) -> None:
    expression = searches(widgets)[name]["expression"]
    schema = re.search(r"\{(.*?)\}", expression)
    assert schema
    namespace, *dimensions = schema[1].split(",")
    # CloudWatch wants quotes around a namespace with anything but letters and digits in it.
    assert namespace == f'"{sent[name]["namespace"]}"'
    assert set(dimensions) == sent[name]["dimensions"].keys()
    terms = dict(re.findall(r'(\w+)="(\w+)"', expression))
    assert terms.pop("MetricName") == name
    assert terms.items() <= sent[name]["dimensions"].items()
    assert sent[name]["dimensions"].keys() - terms.keys() == {dimension}
    assert expression.endswith("', 'Sum', 300)")


def test_metrics_of_aws_have_the_names_and_dimensions_of_aws(shown: Rows) -> None:
    theirs = [one for one in shown if one["namespace"].startswith("AWS/") and one["name"] != LATENCY]
    assert {metric["name"] for metric in theirs} == FROM_AWS.keys()
    for metric in theirs:
        assert (metric["namespace"], metric["dimensions"]) == FROM_AWS[metric["name"]]


def test_latency_of_the_table_is_shown_for_every_call_that_the_code_makes(shown: Rows, program: Any) -> None:
    latencies = [metric for metric in shown if metric["name"] == LATENCY]
    operations = [metric["dimensions"]["Operation"] for metric in latencies]

    # Permission for a transaction is that for its parts.
    actions = {action.removeprefix("dynamodb:") for action in program["table_actions"]}
    assert sorted(operations) == sorted(actions | {"TransactWriteItems"})
    for metric in latencies:
        assert (metric["namespace"], metric["stat"]) == ("AWS/DynamoDB", "Average")
        assert metric["dimensions"].items() >= TABLE.items()
        assert metric["dimensions"].keys() == {"TableName", "Operation"}


def test_the_function_sends_to_the_namespace_of_its_stack(properties: Any, program: Any) -> None:
    variables = properties("QueryFunction")["Environment"]["Variables"]
    assert variables["POWERTOOLS_METRICS_NAMESPACE"] == NAMESPACE
    assert {metric["namespace"] for metric in program["metrics"]} == {NAMESPACE}


@pytest.mark.parametrize(("name", "line"), PLATFORM_LINES.items())
def test_restores_and_inits_are_read_from_lambda_s_lines_and_told_apart(
    shown: Rows, filtered: Any, properties: Any, name: str, line: dict[str, Any]
) -> None:
    assert [other for other, item in filtered.items() if matched(item["FilterPattern"], line)] == [name]
    [change] = filtered[name]["MetricTransformations"]
    assert filtered[name]["LogGroupName"] == properties("QueryFunction")["LoggingConfig"]["LogGroup"]
    assert change["MetricNamespace"] == NAMESPACE
    assert at(change["MetricValue"], line) == 700.5
    uses = [metric for metric in shown if metric["name"] == name]
    assert {"p50", "p99"} <= {metric["stat"] for metric in uses}
    assert all((metric["namespace"], metric["dimensions"]) == (NAMESPACE, {}) for metric in uses)


def test_requests_that_waited_for_a_restore_or_init_are_counted_and_snapshots_not(shown: Rows, filtered: Any) -> None:
    # Nobody waits for the init that a snapshot is taken of, and Lambda does not say how often it writes of it.
    counted = {metric["name"] for metric in shown if metric["name"] in filtered and metric["stat"] == "SampleCount"}
    assert counted == {"RestoreMs", "InitMs"}


def matched(pattern: str, line: dict[str, Any]) -> bool:
    """Whether a metric filter matches a log line; of the syntax, what the template uses."""
    terms = re.findall(r'(\$[\w.]+) (=|>=) ("[^"]*"|\d+)', pattern)
    assert pattern == "{ " + " && ".join(" ".join(term) for term in terms) + " }"
    return all(
        (value := at(path, line)) is not None
        and (value == json.loads(wanted) if sign == "=" else value >= json.loads(wanted))
        for path, sign, wanted in terms
    )


def at(path: str, line: dict[str, Any]) -> Any:
    """The value at ``$.a.b`` in a log line, None where there is none."""
    node: Any = line
    for name in path.removeprefix("$.").split("."):
        node = node.get(name) if isinstance(node, dict) else None
    return node


@pytest.mark.parametrize("store", ["dynamodb", "none"])
def test_widgets_tile_a_page_that_each_region_has(properties: Any, store: str) -> None:
    dashboard = properties("Dashboard", Store=store)
    body = dashboard["DashboardBody"]
    assert dashboard["DashboardName"] == "stack-eu-central-1", "an account's have one name space for all regions"
    assert ("AWS/DynamoDB" in body) is (store == "dynamodb")
    cells = [
        cell
        for w in json.loads(body)["widgets"]
        for cell in itertools.product(range(w["x"], w["x"] + w["width"]), range(w["y"], w["y"] + w["height"]))
    ]
    assert len(cells) == len(set(cells)), "widgets overlap"
    assert len(cells) == 24 * (max(y for _, y in cells) + 1), "there are holes"


def searches(widgets: Rows) -> dict[str, dict[str, Any]]:
    """The options of the rows that search for metrics, by the metric's name."""
    rows = [row[0] for widget in widgets for row in widget["properties"]["metrics"] if isinstance(row[0], dict)]
    named = [(re.search(r'MetricName="(\w+)"', options["expression"]), options) for options in rows]
    return {found[1]: options for found, options in named if found}
