"""infra/chroma.yaml, its compose file and infra/refresh.yaml: who reaches and may do what, under all conditions."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from cloudformation import ACCOUNT, NETWORK, Stack, lint, read_with_defaults, rights, statements, under_all_conditions
from web_server import Answer, WebServer

from emulator.template import read_template
from publish.refresh import MAX_ROUNDS

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]
REFRESH = {"StackName": "rag", "IndexBucket": "rag-index", "ApiKeyId": "abc", "WheelKey": "tools/x.whl"}
COMPOSE = ROOT / "infra" / "chroma.compose.yaml"
CHOICES = {"EcrRepository": "chroma", "RouteTableIds": "rtb-01234567", **ACCOUNT}


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    return read_with_defaults(ROOT / "infra" / "chroma.yaml", NETWORK)


def properties(raw: dict[str, Any]) -> dict[str, Any]:
    """Those of all that a template can make, by logical id."""
    return {name: item["Properties"] for name, item in Stack(raw, CHOICES).section("Resources").items()}


@pytest.fixture
def resources(raw: Any) -> dict[str, Any]:
    return properties(raw)


@pytest.fixture
def container(resources: Any) -> dict[str, Any]:
    [told] = resources["Task"]["ContainerDefinitions"]
    return dict(told)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file."""
    return dict(yaml.safe_load(COMPOSE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def service(compose: Any) -> dict[str, Any]:
    """The compose file's service."""
    [told] = compose["services"].values()
    return dict(told)


@pytest.mark.parametrize(
    ("file", "given", "choices"), [("chroma.yaml", NETWORK, CHOICES), ("refresh.yaml", REFRESH, ACCOUNT)]
)
def test_each_lints_as_it_is_and_under_all_conditions(file: str, given: Any, choices: Any, tmp_path: Path) -> None:
    template = ROOT / "infra" / file
    variants = under_all_conditions(read_with_defaults(template, given), choices)
    assert lint([template, *variants], tmp_path) == ""


def test_two_tasks_never_have_the_files_at_once(resources: Any) -> None:
    service = resources["Service"]
    assert (service["DesiredCount"], service["AvailabilityZoneRebalancing"]) == (1, "DISABLED")
    deployment = service["DeploymentConfiguration"]
    assert (deployment["MaximumPercent"], deployment["MinimumHealthyPercent"]) == (100, 0)


def test_the_server_is_reached_on_its_port_by_the_client_group_alone(resources: Any) -> None:
    assert resources["Service"]["NetworkConfiguration"]["AwsvpcConfiguration"]["AssignPublicIp"] == "DISABLED"
    let_in = {
        (rule["GroupId"], rule["FromPort"], rule["ToPort"], rule["SourceSecurityGroupId"])
        for name, rule in resources.items()
        if name in ("ServerFromClient", "FilesFromServer")
    }
    assert let_in == {
        ("ServerGroup.GroupId", 8000, 8000, "ClientGroup.GroupId"),
        ("FilesGroup.GroupId", 2049, 2049, "ServerGroup.GroupId"),
    }
    open_groups = {name for name, told in resources.items() if "SecurityGroupIngress" in told}
    assert open_groups == {"EndpointGroup"}, "the other groups have the two rules above alone"


def test_the_files_are_the_tasks_alone_encrypted_and_kept(raw: Any, resources: Any) -> None:
    files = resources["Files"]
    assert files["Encrypted"] is True
    assert files["BackupPolicy"] == {"Status": "ENABLED"}
    kept = raw["Resources"]["Files"]
    assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    policy = {line["Sid"]: line for line in files["FileSystemPolicy"]["Statement"]}
    assert [sid for sid, line in policy.items() if line["Effect"] == "Allow"] == ["TheTask"]
    assert policy["TheTask"]["Principal"] == {"AWS": "TaskRole.Arn"}
    assert set(policy["TheTask"]["Action"]) == {"elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"}
    assert policy["NobodyElse"]["Condition"] == {"ArnNotEquals": {"aws:PrincipalArn": "TaskRole.Arn"}}
    assert policy["WithoutTls"]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    [volume] = resources["Task"]["Volumes"]
    mounted = volume["EFSVolumeConfiguration"]
    assert mounted["TransitEncryption"] == "ENABLED"
    assert mounted["AuthorizationConfig"] == {"AccessPointId": "DataFolder", "IAM": "ENABLED"}


def test_the_roles_may_fetch_one_image_and_write_one_log(raw: Any, resources: Any) -> None:
    assert "Policies" not in resources["TaskRole"]
    repository = "arn:aws:ecr:eu-central-1:123456789012:repository/chroma"
    assert rights(resources["ExecutionRole"]) == {
        *((f"logs:{what}", "Log.Arn") for what in ("CreateLogStream", "PutLogEvents")),
        *((f"ecr:{what}", repository) for what in ("BatchCheckLayerAvailability", "BatchGetImage")),
        ("ecr:GetDownloadUrlForLayer", repository),
        ("ecr:GetAuthorizationToken", "*"),
    }
    plain = Stack(raw, {}).section("Resources")["ExecutionRole"]["Properties"]
    assert [policy["PolicyName"] for policy in plain["Policies"]] == ["log"]


@pytest.mark.parametrize(
    ("cpu", "memory", "fits"),
    [
        (1024, 8192, True),
        (1024, 16384, False),
        (2048, 16384, True),
        (2048, 30720, False),
        (4096, 4096, False),
        (4096, 30720, True),
    ],
)
def test_sizes_that_fargate_does_not_have_are_refused(raw: Any, cpu: int, memory: int, fits: bool) -> None:
    [rule] = raw["Rules"].values()
    [assertion] = rule["Assertions"]
    assert Stack(raw, {"Cpu": cpu, "Memory": memory}).holds(assertion["Assert"]) is fits


def test_its_output_is_an_address_that_the_other_template_takes(raw: Any) -> None:
    outputs = Stack(raw, {}).section("Outputs")
    pattern = read_template(ROOT / "infra" / "template.yaml")["Parameters"]["IndexUri"]["AllowedPattern"]
    assert re.fullmatch(pattern, outputs["IndexUri"]["Value"])
    assert outputs["IndexUri"]["Value"].startswith("chroma://chroma.stack.internal:8000/")
    assert outputs["ClientSecurityGroup"]["Value"] == "ClientGroup.GroupId"


def test_server_and_client_are_of_one_version(raw: Any, container: Any, service: Any) -> None:
    lock = (ROOT / "requirements" / "chroma.txt").read_text(encoding="utf-8")
    [version] = re.findall(r"^chromadb==([\d.]+)", lock, re.MULTILINE)
    assert service["image"] == f"chromadb/chroma:{version}"
    assert container["Image"].endswith(f"/chroma:{version}")
    plain = Stack(raw, {}).section("Resources")["Task"]["Properties"]["ContainerDefinitions"]
    assert plain[0]["Image"] == f"docker.io/chromadb/chroma:{version}"


@pytest.mark.parametrize("place", ["stack", "compose"])
@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check_asks_the_heartbeat(place: str, status: int, code: int, container: Any, service: Any) -> None:
    told = container["HealthCheck"]["Command"] if place == "stack" else service["healthcheck"]["test"]
    kind, *command = [part.replace("$$", "$") for part in told]  # compose reads $$ as $
    assert kind == "CMD"
    with WebServer().running() as server:
        server.site["/api/v2/heartbeat"] = Answer(status=status)
        port = server.address.rpartition(":")[2]
        asked = [part.replace("127.0.0.1/8000", f"127.0.0.1/{port}") for part in command]
        assert subprocess.run(asked, check=False).returncode == code


SERVICE_FIELDS = {"image", "ports", "volumes", "restart", "stop_grace_period", "healthcheck"}
"""Of the Compose Specification's fields of a service, those that are used here."""
DURATION = re.compile(r"(\d+(us|ms|s|m|h))+")


def test_the_compose_file_is_one_as_the_specification_has_it(compose: Any, service: Any) -> None:
    assert set(compose) == {"name", "services", "volumes"}
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*", compose["name"])
    assert set(service) <= SERVICE_FIELDS
    assert service["restart"] in {"no", "always", "on-failure", "unless-stopped"}
    check = service["healthcheck"]
    assert set(check) <= {"test", "interval", "timeout", "retries", "start_period"}
    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    assert isinstance(check["retries"], int)
    durations = [service["stop_grace_period"], *(check[name] for name in ("interval", "timeout", "start_period"))]
    assert all(DURATION.fullmatch(duration) for duration in durations)
    # A lone $ is a variable of compose's
    assert re.findall(r"\$+", " ".join(check["test"])) == ["$$"]


def test_the_laptops_server_is_for_that_laptop_and_keeps_its_data(compose: Any, service: Any) -> None:
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    [(volume, path)] = [each.split(":") for each in service["volumes"]]
    assert path == "/data"
    assert volume in compose["volumes"]


@pytest.fixture(scope="module")
def refresh() -> dict[str, Any]:
    return read_with_defaults(ROOT / "infra" / "refresh.yaml", REFRESH)


def test_one_build_at_a_time_and_refused_events_are_not_tried_again(refresh: Any) -> None:
    resources = properties(refresh)
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
    assert project["TimeoutInMinutes"] > MAX_ROUNDS * refresh["Parameters"]["RefreshMinutes"]["MaxValue"]


def test_the_build_may_publish_to_that_stack_and_little_else(refresh: Any) -> None:
    allowed = statements(properties(refresh)["BuildRole"])
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
