"""infra/refresh.yaml: what it makes lints under all conditions, starts one build at a time, and may do little."""

import json
from pathlib import Path
from typing import Any

import pytest
from cloudformation import ACCOUNT, Stack, Template, lint, read_with_defaults, statements, under_all_conditions

from publish.refresh import MAX_ROUNDS

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "infra" / "refresh.yaml"
GIVEN = {"StackName": "rag", "IndexBucket": "rag-index", "ApiKeyId": "abc", "WheelKey": "tools/x.whl"}


@pytest.fixture(scope="module")
def raw() -> Template:
    return read_with_defaults(TEMPLATE, GIVEN)


@pytest.fixture
def resources(raw: Template) -> dict[str, Any]:
    """The properties of all that the template can make, by logical id."""
    return {name: item["Properties"] for name, item in Stack(raw, ACCOUNT).section("Resources").items()}


def test_it_lints_as_it_is_and_under_all_conditions(raw: Template, tmp_path: Path) -> None:
    assert lint([TEMPLATE, *under_all_conditions(raw, ACCOUNT)], tmp_path) == ""


def test_one_build_at_a_time_and_refused_events_are_not_tried_again(raw: Template, resources: Any) -> None:
    project = resources["Project"]
    assert project["ConcurrentBuildLimit"] == 1
    documents, ended = resources["WhenDocumentsChange"], resources["WhenABuildEnds"]
    assert documents["Targets"][0]["RetryPolicy"] == {"MaximumRetryAttempts": 0}
    assert documents["EventPattern"]["detail"] == {"bucket": {"name": ["Documents"]}}
    # No build follows one that was itself started by the end of another
    [override] = json.loads(documents["Targets"][0]["Input"])["environmentVariablesOverride"]
    wanted = ended["EventPattern"]["detail"]["additional-information"]["environment"]["environment-variables"]
    assert wanted == {"name": [override["name"]], "value": [override["value"]]}
    assert json.loads(ended["Targets"][0]["Input"]) == {}
    usual = {one["Name"]: one["Value"] for one in project["Environment"]["EnvironmentVariables"]}
    assert usual["REASON"] != override["value"]
    assert resources["OnSchedule"]["ScheduleExpression"] == "rate(1 day)"
    assert project["TimeoutInMinutes"] > MAX_ROUNDS * raw["Parameters"]["RefreshMinutes"]["MaxValue"]


def test_the_build_may_publish_to_that_stack_and_little_else(resources: Any) -> None:
    allowed = statements(resources["BuildRole"])
    wide = {action for line in allowed if line["Resource"] == "*" for action in line["Action"]}
    described = {f"ec2:Describe{what}" for what in ("SecurityGroups", "Subnets", "Vpcs")}
    assert wide == {"cloudwatch:PutMetricData", *described}
    assert not any("*" in action for line in allowed for action in line["Action"])
    [deletion] = [line["Resource"] for line in allowed if "lambda:DeleteFunction" in line["Action"]]
    assert deletion.endswith(":function:rag-QueryFunction-*:*")
    [passed] = [line for line in allowed if "iam:PassRole" in line["Action"]]
    assert passed["Resource"] == "arn:aws:iam::123456789012:role/rag-QueryRole-*"
    assert passed["Condition"] == {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}
    deleted = [line["Resource"] for line in allowed if line["Action"] == ["s3:DeleteObject"]]
    assert deleted == ["arn:aws:s3:::rag-index/index/*"]
