"""infra/refresh.yaml: what it makes lints under all conditions, starts one build at a time, and may do little."""

import json
from pathlib import Path
from typing import Any

import pytest
from cloudformation import Stack, Template, lint, long_names, under_all_conditions

from emulator.template import read_template
from publish.refresh import MAX_ROUNDS

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "infra" / "refresh.yaml"
GIVEN = {"StackName": "rag", "IndexBucket": "rag-index", "ApiKeyId": "abc", "WheelKey": "tools/x.whl"}
CHOICES = {
    "PermissionsBoundary": "arn:aws:iam::123456789012:policy/p",
    "KmsKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/1-2",
    "AlarmTopicArn": "arn:aws:sns:eu-central-1:123456789012:ops",
}


@pytest.fixture(scope="module")
def raw() -> Template:
    template: Template = long_names(read_template(TEMPLATE))
    for name, value in GIVEN.items():
        template["Parameters"][name]["Default"] = value
    return template


@pytest.fixture
def resources(raw: Template) -> dict[str, Any]:
    return Stack(raw, {**GIVEN, **CHOICES}).section("Resources")


def test_it_lints_as_it_is_and_under_all_conditions(raw: Template, tmp_path: Path) -> None:
    assert lint([TEMPLATE, *under_all_conditions(raw, CHOICES)], tmp_path) == ""


def test_one_build_at_a_time_and_refused_events_are_not_tried_again(resources: dict[str, Any]) -> None:
    assert resources["Project"]["Properties"]["ConcurrentBuildLimit"] == 1
    documents, ended, schedule = (
        resources[name]["Properties"] for name in ("WhenDocumentsChange", "WhenABuildEnds", "OnSchedule")
    )
    assert documents["Targets"][0]["RetryPolicy"] == {"MaximumRetryAttempts": 0}
    assert documents["EventPattern"]["detail"] == {"bucket": {"name": ["Documents"]}}
    # No build follows one that was itself started by the end of another
    said = {
        name: json.loads(rule["Targets"][0]["Input"]) for name, rule in (("documents", documents), ("ended", ended))
    }
    wanted = ended["EventPattern"]["detail"]["additional-information"]["environment"]["environment-variables"]
    [override] = said["documents"]["environmentVariablesOverride"]
    assert wanted == {"name": [override["name"]], "value": [override["value"]]}
    assert said["ended"] == {}
    usual = {
        one["Name"]: one["Value"] for one in resources["Project"]["Properties"]["Environment"]["EnvironmentVariables"]
    }
    assert usual["REASON"] != override["value"]
    assert schedule["ScheduleExpression"] == "rate(1 day)"
    longest = read_template(TEMPLATE)["Parameters"]["RefreshMinutes"]["MaxValue"]
    assert resources["Project"]["Properties"]["TimeoutInMinutes"] > MAX_ROUNDS * longest


def test_the_build_may_publish_to_that_stack_and_little_else(resources: dict[str, Any]) -> None:
    statements = [
        line
        for policy in resources["BuildRole"]["Properties"]["Policies"]
        for line in policy["PolicyDocument"]["Statement"]
    ]
    wide = {action for line in statements if line["Resource"] == "*" for action in actions(line)}
    assert wide == {
        "cloudwatch:PutMetricData",
        *(f"ec2:Describe{what}" for what in ("SecurityGroups", "Subnets", "Vpcs")),
    }
    assert not any("*" in action for line in statements for action in actions(line))
    [deletion] = [line["Resource"] for line in statements if "lambda:DeleteFunction" in actions(line)]
    assert deletion.endswith(":function:rag-QueryFunction-*:*")
    [passed] = [line for line in statements if "iam:PassRole" in actions(line)]
    assert passed["Resource"] == "arn:aws:iam::123456789012:role/rag-QueryRole-*"
    assert passed["Condition"] == {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}
    assert [line["Resource"] for line in statements if actions(line) == ["s3:DeleteObject"]] == [
        "arn:aws:s3:::rag-index/index/*"
    ]


def actions(statement: dict[str, Any]) -> list[str]:
    named = statement["Action"]
    return [named] if isinstance(named, str) else named
