"""Checks by AWS's own interfaces: the live version, its snapshot, its log and its metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from smoke.stack import Check, Failed, Skipped, Stack

NAMESPACE = "RagService"
"""The default namespace of the metrics."""
RESTORES = '{ $.type = "platform.report" && $.record.metrics.restoreDurationMs >= 0 }'
METRIC = "TotalMs"
"""Written with each answer and each decline."""


def version_active(stack: Stack) -> str:
    """The alias points at a published version that can be called."""
    live = stack.configuration()
    version, state = live["Version"], live.get("State")
    if version == "$LATEST":
        raise Failed("the alias points at $LATEST, which has no snapshot")
    if state != "Active":
        raise Failed(f"version {version} is {state}: {live.get('StateReason') or 'Lambda gives no reason'}")
    return f"version {version} is Active"


def snapstart_on(stack: Stack) -> str:
    """The live version has a snapshot."""
    live = stack.configuration()
    _skip_without_snapshots(stack, live)
    snap = live.get("SnapStart") or {}
    if (snap.get("ApplyOn"), snap.get("OptimizationStatus")) != ("PublishedVersions", "On"):
        raise Failed(f"ApplyOn {snap.get('ApplyOn')}, OptimizationStatus {snap.get('OptimizationStatus')}")
    return "PublishedVersions, On"


def restore_logged(stack: Stack) -> str:
    """The log has the restore times of the version since it was published.

    A version that was just published has restored at least once, because the API checks called it.
    """
    live = stack.configuration()
    _skip_without_snapshots(stack, live)
    published = datetime.fromisoformat(live["LastModified"]).timestamp()
    times = stack.patience.until(lambda: sorted(_restore_times(stack, live["Version"], since=published)) or None)
    if not times:
        raise Failed(f"no platform.report with restoreDurationMs in {stack.outputs['QueryLogGroup']}")
    return f"{len(times)} restores, {times[0]:.0f} to {times[-1]:.0f} ms, median {times[len(times) // 2]:.0f} ms"


def metrics_visible(stack: Stack) -> str:
    """The answers of this run are counted. ListMetrics would know a new metric only 15 minutes later."""
    variables = stack.configuration().get("Environment", {}).get("Variables", {})
    namespace = variables.get("POWERTOOLS_METRICS_NAMESPACE") or NAMESPACE
    dimensions = [
        {"Name": "service", "Value": variables.get("POWERTOOLS_SERVICE_NAME") or "query"},
        {"Name": "profile", "Value": variables.get("RAG_PROFILE") or "house"},
    ]

    def look() -> float | None:
        points = stack.aws.client("cloudwatch").get_metric_statistics(
            Namespace=namespace,
            MetricName=METRIC,
            Dimensions=dimensions,
            StartTime=datetime.fromtimestamp(stack.since // 60 * 60, UTC),
            EndTime=datetime.now(UTC) + timedelta(minutes=1),  # it is exclusive
            Period=60,
            Statistics=["SampleCount"],
        )["Datapoints"]
        return sum(point["SampleCount"] for point in points) or None

    if not (count := stack.patience.until(look)):
        raise Failed(f"{METRIC} in {namespace} has no value after {stack.patience.seconds:.0f} s")
    return f"{METRIC} in {namespace} has {count:.0f} values"


BEFORE_API = (
    Check("version active", version_active, "the stack's events; `aws lambda get-function-configuration`"),
    Check("SnapStart on", snapstart_on, "the init of this version in the function's log; SnapStart in the template"),
)
AFTER_API = (
    Check("restore time in the log", restore_logged, "LoggingConfig (JSON, SystemLogLevel INFO); call it once cold"),
    Check("metrics visible", metrics_visible, "lines with `_aws` in the function's log; a longer --wait"),
)


def _skip_without_snapshots(stack: Stack, configuration: Mapping[str, Any]) -> None:
    if stack.parameters.get("SnapStart") == "off":
        raise Skipped("the stack was deployed with SnapStart=off")
    if configuration.get("FileSystemConfigs"):
        raise Skipped("the index is on EFS, with which there is no SnapStart")


def _restore_times(stack: Stack, version: str, *, since: float) -> Iterator[float]:
    """Yield the restore times, in ms, that ``version`` logged since the Unix second ``since``."""
    pages = stack.aws.client("logs").get_paginator("filter_log_events")
    given = {"logGroupName": stack.outputs["QueryLogGroup"], "startTime": int(1000 * since)}
    for page in pages.paginate(**given, filterPattern=RESTORES):
        for event in page["events"]:
            if f"[{version}]" in event["logStreamName"]:
                with suppress(ValueError):
                    line = json.loads(event["message"])
                    if line.get("type") == "platform.report" and "restoreDurationMs" in line["record"]["metrics"]:
                        yield float(line["record"]["metrics"]["restoreDurationMs"])
