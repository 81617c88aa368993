"""``make smoke`` on a stack in moto's AWS, with the real handler behind a gateway: each check passes, and fails."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import real_model
from deployed import FUNCTION, REGION, STACK, Account, Front, Json, serving
from functional.harness import Api, starting
from moto import mock_aws

from smoke import lifecycle
from smoke.__main__ import main
from smoke.api_checks import API_CHECKS
from smoke.aws_checks import AFTER_API, BEFORE_API
from smoke.stack import Patience, Stack, open_stack, run_checks

pytestmark = pytest.mark.slow

CHECKS = {check.name: check for check in (*BEFORE_API, *API_CHECKS, *AFTER_API)}
IMPATIENT = Patience(seconds=0)
SAMCONFIG = f"""version = 0.1
[default.global.parameters]
stack_name = "another"
[prod.deploy.parameters]
stack_name = "{STACK}"
"""


@dataclass
class World:
    """A deployed stack that is as it should be; tests break it."""

    account: Account
    front: Front
    group: str
    key: str
    config: Path

    def stack(self) -> Stack:
        return open_stack(self.account, STACK, since=0.0, patience=IMPATIENT)

    def smoke(self, *options: str, run: Callable[[Sequence[str]], int] = lambda _: 1) -> int:
        return main([STACK, *options], aws=self.account, run=run, patience=IMPATIENT, config=self.config)


@pytest.fixture(scope="module")
def function(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, str]]:
    """The function, started once on the sample, and the table that it was told of."""
    with starting(real_model.sample_index("waypoint", tmp_path_factory)) as start:
        yield start(TABLE_NAME=f"{STACK}-table", AWS_DEFAULT_REGION=REGION), f"{STACK}-table"


@pytest.fixture
def world(function: tuple[Api, str], tmp_path: Path) -> Iterator[World]:
    config = tmp_path / "samconfig.toml"
    config.write_text(SAMCONFIG, encoding="utf-8")
    api, table = function
    with mock_aws():
        account = Account()

        def handle(event: Json) -> Any:
            reply = api.call(event)
            account.count(reply.metrics)
            return {"statusCode": reply.status, "headers": dict(reply.headers), "body": reply.text}

        key_id, key = account.make_key()
        front = Front(handle, key)
        with serving(front) as url:
            outputs = account.make_stack(url, key_id, table)
            account.make_function({"RAG_PROFILE": "waypoint"})
            account.change("lambda.GetFunctionConfiguration", has_snapshot)
            account.log_restore(outputs["QueryLogGroup"], "1", 812.5)
            yield World(account, front, outputs["QueryLogGroup"], key, config)


def has_snapshot(configuration: Json) -> None:
    """moto says Off, whatever it is told."""
    configuration["SnapStart"] = {"ApplyOn": "PublishedVersions", "OptimizationStatus": "On"}


def answering(status: int, body: Any) -> Callable[[int, Any], tuple[int, Any]]:
    return lambda *_: (status, body)


def test_a_stack_as_it_should_be_passes_every_check(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.smoke("--json") == 0
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert [(each["name"], each["status"]) for each in said["checks"]] == [(name, "ok") for name in CHECKS]
    seen = {each["name"]: each["seen"] for each in said["checks"]}
    assert seen["version active"] == "version 1 is Active"
    assert seen["restore time in the log"] == "1 restores, 812 to 812 ms, median 812 ms"
    assert "x 429 too_many_requests" in seen["429 by burst"]
    assert seen["403 without key"] == "403 forbidden without a key and with a wrong one"
    assert world.key not in out + err


def test_a_failure_says_what_was_seen_and_where_to_look(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.front.bends["/api/health"] = answering(503, {"error": "No index", "code": "index_not_ready"})
    assert world.smoke() == 1
    out, _ = capsys.readouterr()
    assert "FAILED  health: GET /api/health answered 503 index_not_ready\n        look at: the function's log" in out
    assert f"{len(CHECKS)} checks, " in out


def test_a_request_that_is_throttled_is_sent_again(world: World) -> None:
    """The default usage plan allows five at once, and the checks before the burst are more."""
    told = [429, 429, 200]

    def bend(_: int, body: Any) -> tuple[int, Any]:
        status = told.pop(0) if told else 200
        return (status, body if status == 200 else {"error": "Too many requests at once", "code": "too_many_requests"})

    world.front.bends["/api/suggestions"] = bend
    slept: list[float] = []
    stack = open_stack(world.account, STACK, since=0.0, patience=replace(IMPATIENT, sleep=slept.append))
    [result] = run_checks([CHECKS["answer"]], stack)
    assert (result.status, slept) == ("ok", [2.0, 2.0])


def lambda_says(**fields: Any) -> Callable[[World], None]:
    return lambda world: world.account.change("lambda.GetFunctionConfiguration", lambda found: found.update(fields))


def path_says(path: str, status: int, body: Any) -> Callable[[World], None]:
    return lambda world: world.front.bends.__setitem__(path, answering(status, body))


def front_has(**fields: Any) -> Callable[[World], None]:
    return lambda world: vars(world.front).update(fields)


def alias_at_latest(world: World) -> None:
    world.account.client("lambda").update_alias(FunctionName=FUNCTION, Name="live", FunctionVersion="$LATEST")


def empty_log(world: World) -> None:
    world.account.client("logs").delete_log_group(logGroupName=world.group)
    world.account.client("logs").create_log_group(logGroupName=world.group)


def of_another_version(world: World) -> None:
    empty_log(world)
    world.account.log_restore(world.group, "7", 500)


def says_sources_of_a_decline(world: World) -> None:
    world.front.bends["/api/query"] = lambda status, body: (status, {**body, "sources": [{"title": "Permits"}]})


ANSWER: Json = {"refused": False, "citations": [{}], "sources": [], "responseId": "r", "confidence": {"level": "High"}}
OFF = {"ApplyOn": "PublishedVersions", "OptimizationStatus": "Off"}


@pytest.mark.parametrize(
    ("name", "break_it", "seen"),
    [
        ("version active", lambda_says(State="Failed", StateReason="init"), "version 1 is Failed: init"),
        ("version active", alias_at_latest, "points at $LATEST"),
        ("SnapStart on", lambda_says(SnapStart=OFF), "OptimizationStatus Off"),
        ("health", path_says("/api/health", 200, {"status": "ok", "index": {}}), "index None"),
        ("answer", path_says("/api/query", 200, {**ANSWER, "citations": []}), "no answer with a citation"),
        ("answer", path_says("/api/query", 200, {**ANSWER, "refused": True}), "declined"),
        ("answer", path_says("/api/suggestions", 200, {"questions": []}), "with 0 questions"),
        ("decline", path_says("/api/query", 200, ANSWER), "not declined"),
        ("decline", says_sources_of_a_decline, "declined, but with sources"),
        ("403 without key", front_has(wants_key=False), "without a key got 200, not 403 forbidden"),
        ("bearer token", path_says("/v1/models", 403, {"code": "forbidden"}), "as bearer token got 403 forbidden"),
        ("bearer token", front_has(wants_key=False), "with a wrong bearer token got 200, not 403 forbidden"),
        ("streaming", path_says("/v1/chat/completions", 502, {"code": "pipeline_error"}), "got 502 pipeline_error"),
        ("streaming", path_says("/v1/chat/completions", 200, "data: {}\n\n"), "broke off"),
        ("streaming", front_has(streams=True), "Streaming=off, but the answer came in pieces"),
        ("404", path_says("/api/no-such-path", 403, {"message": "Missing Authentication Token"}), "got 403, not 404"),
        ("413", path_says("/api/query", 200, ANSWER), "got 200, not 413"),
        ("feedback", path_says("/api/feedback", 404, {"code": "unknown_response"}), "got 404 unknown_response"),
        ("429 by burst", front_has(capacity=float("inf")), "no 429 among 80 requests at once (80 x 200)"),
        ("restore time in the log", of_another_version, "no platform.report"),
        ("metrics visible", lambda _: None, "TotalMs in RagService has no value"),
    ],
)
def test_each_check_fails_when_its_subject_is_wrong(
    world: World, name: str, break_it: Callable[[World], None], seen: str
) -> None:
    break_it(world)
    [result] = run_checks([CHECKS[name]], world.stack())
    assert (result.status, bool(result.look)) == ("failed", True)
    assert seen in result.seen


def test_a_stack_that_streams_is_seen_to(world: World) -> None:
    check = CHECKS["streaming"]
    stack = replace(world.stack(), parameters={"Streaming": "on"})
    assert next(run_checks([check], stack)).seen == "Streaming=on, but the answer came in one piece"
    world.front.streams = True
    assert next(run_checks([check], stack)).seen == "event stream, in pieces"


def test_the_namespace_is_the_function_s_own(world: World) -> None:
    variables = {"RAG_PROFILE": "waypoint", "POWERTOOLS_METRICS_NAMESPACE": "RagService/smoked"}
    world.account.change("lambda.GetFunctionConfiguration", lambda f: f["Environment"].update(Variables=variables))
    assert world.stack().api.ask("Which permits are there?").status == 200
    [*_, result] = run_checks(AFTER_API, world.stack())
    assert result.seen == "TotalMs in RagService/smoked has no value after 0 s"


def test_what_comes_late_is_waited_for(world: World) -> None:
    empty_log(world)
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        now[0] += seconds
        slept.append(seconds)
        if len(slept) == 3:
            world.account.log_restore(world.group, "1", 700)

    patient = Patience(seconds=300, pause_s=10, clock=lambda: now[0], sleep=sleep)
    [result] = run_checks(AFTER_API[:1], replace(world.stack(), patience=patient))
    assert (result.status, slept) == ("ok", [10, 10, 10])


def test_stacks_without_snapstart_by_choice_on_efs_or_without_a_table_skip_what_they_have_not(world: World) -> None:
    lambda_says(SnapStart={"ApplyOn": "None"})(world)
    stack = replace(world.stack(), parameters={"SnapStart": "off"})
    assert [result.status for result in run_checks(BEFORE_API, stack)] == ["ok", "skipped"]
    lambda_says(
        SnapStart={"ApplyOn": "PublishedVersions"}, FileSystemConfigs=[{"Arn": "", "LocalMountPath": "/mnt/index"}]
    )(world)
    stack = world.stack()
    outputs = {name: value for name, value in stack.outputs.items() if name != "TableName"}
    checks = [CHECKS[name] for name in ("SnapStart on", "feedback", AFTER_API[0].name)]
    results = run_checks(checks, replace(stack, outputs=outputs))
    assert [result.status for result in results] == ["skipped"] * 3


def test_no_stack_is_deployed_with_the_answers_of_another(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.config.write_text('[default.deploy.parameters]\nstack_name = "another"\n', encoding="utf-8")
    assert world.smoke("--update", run=lambda _: pytest.fail("it was deployed")) == 1
    assert f"No table of samconfig.toml has stack_name = '{STACK}'" in capsys.readouterr().out


def deploy(world: World, command: Sequence[str]) -> int:
    """What CloudFormation does for a new index: a layer, a version, the alias, and the old ones deleted."""
    assert command == ("sam", "deploy", "--config-env", "prod", "--stack-name", STACK, "--no-confirm-changeset")
    client = world.account.client("lambda")
    layer = world.account.make_layer()
    client.update_function_configuration(FunctionName=FUNCTION, Layers=[layer], Description="again")
    client.update_function_code(FunctionName=FUNCTION, ZipFile=b"code, again")
    version = client.publish_version(FunctionName=FUNCTION)["Version"]
    client.update_alias(FunctionName=FUNCTION, Name="live", FunctionVersion=version)
    client.delete_function(FunctionName=FUNCTION, Qualifier="1")
    client.delete_layer_version(LayerName=f"{STACK}-index", VersionNumber=1)
    world.account.log_restore(world.group, version, 900)
    world.front.bends["/api/health"] = lambda status, body: (
        status,
        {**body, "index": {**body["index"], "version": "another"}} if status == 200 else body,
    )
    return 0


def test_an_update_is_watched(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.smoke("--update", "--json", run=partial(deploy, world)) == 0
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert [each["status"] for each in checks.values()] == ["ok"] * (len(lifecycle.UPDATE_CHECKS) + len(CHECKS))
    assert checks["version moved"]["seen"] == "from version 1 to 2"
    assert checks["new index"]["seen"].endswith(" to another")
    assert checks["old layers gone"]["seen"] == f"deleted: {STACK}-index:1"
    assert checks["version active"]["seen"] == "version 2 is Active"


def test_an_update_that_changes_nothing_fails(world: World) -> None:
    before = lifecycle.before_update(world.stack(), ("sam", "deploy"), lambda _: 0)
    failed = [result.name for result in run_checks(lifecycle.UPDATE_CHECKS, before) if result.status == "failed"]
    assert failed == ["version moved", "new index", "old version gone", "old layers gone"]


def test_an_update_that_fails_or_is_an_outage_is_said(world: World) -> None:
    world.front.bends["/api/health"] = answering(200, {"status": "ok", "index": {"version": "one"}})
    before = lifecycle.before_update(world.stack(), ("sam", "deploy"), lambda _: 3)
    world.front.bends["/api/health"] = answering(502, {"code": "pipeline_error"})
    deployed, stayed, *_ = run_checks(lifecycle.UPDATE_CHECKS[:2], before)
    assert deployed.seen == "`sam deploy` ended with status 3"
    assert stayed.seen.endswith("the first: GET /api/health answered 502 pipeline_error")


def delete(world: World, command: Sequence[str], leaves: str = "") -> int:
    assert command == ("sam", "delete", "--stack-name", STACK, "--no-prompts")
    world.account.client("cloudformation").delete_stack(StackName=STACK)
    for api in world.account.client("apigateway").get_rest_apis()["items"]:  # which moto leaves
        world.account.client("apigateway").delete_rest_api(restApiId=api["id"])
    if leaves:
        world.account.client("logs").create_log_group(logGroupName=leaves)
    return 0


def test_nothing_is_left_of_a_deleted_stack(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.smoke("--delete", "--yes", run=partial(delete, world)) == 0
    out, err = capsys.readouterr()
    assert "ok      stack gone: DELETE_COMPLETE" in out
    for kind in ("LogGroup", "Table", "RestApi"):
        assert f"ok      no {kind} left: 1 deleted" in out
    assert "What stays, on purpose: the role of API Gateway's logs" in err


def test_what_is_left_is_named(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.smoke("--delete", "--yes", run=partial(delete, world, leaves=world.group)) == 1
    assert f"FAILED  no LogGroup left: still there: {world.group}" in capsys.readouterr().out


def test_a_stack_that_stays_is_no_deletion(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.smoke("--delete", "--yes", run=lambda _: 1) == 1
    out, _ = capsys.readouterr()
    assert "FAILED  stack gone: the stack is CREATE_COMPLETE" in out
    assert "FAILED  no Table left: still there: " in out


def test_nothing_is_deleted_unless_the_name_is_typed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("another\n"))
    assert world.smoke("--delete", run=lambda _: pytest.fail("it ran")) == 2


def test_a_stack_that_is_not_there_is_one_sentence(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["other"], aws=world.account, patience=IMPATIENT) == 1
    assert "FAILED  stack: There is no stack 'other' in this account and region" in capsys.readouterr().out
