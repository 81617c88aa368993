"""What the template deploys: routes, versions, the index, the table, permissions, logs."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cloudformation import BOUNDARY, EFS, KEY, NETWORK, Stack, lint, of_type, rights, statements

from rag.config.settings import Settings

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]
DEPLOYING = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
SUBNETS = [NETWORK["SubnetA"], NETWORK["SubnetB"]]
NETWORK_ACTIONS = {
    (f"ec2:{action}", "*")
    for action in (
        *("CreateNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets", "DeleteNetworkInterface"),
        *("AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"),
    )
}
"""Lambda's developer guide, "Giving Lambda functions access to resources in an Amazon VPC"."""


def samconfig() -> dict[str, Any]:
    """The commands' saved parameters."""
    found: dict[str, Any] = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))["default"]
    return found


def waits_for(resources: dict[str, Any], name: str) -> set[str]:
    """The resources that CloudFormation makes before that one."""
    found: set[str] = set()
    todo = [name]
    while todo:
        resource = resources[todo.pop()]
        text = json.dumps([resource.get(part) for part in ("Properties", "Metadata")])
        pairs = re.findall(r'"Ref": "(\w+)"|"Fn::GetAtt": \["(\w+)"|\$\{(\w+)', text)
        named = {each for pair in pairs for each in pair} & resources.keys()
        todo += named - found
        found |= named
    return found


WITHOUT_A_KEY = {"/", "/docs", "/openapi.json"}
"""What a browser opens before anybody could have given a key."""


def methods_of(template: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Every method of the API by method and path."""
    paths = template["Resources"]["Api"]["Properties"]["Body"]["paths"]
    return {
        (method.upper(), path): told
        for path, methods in paths.items()
        for method, told in methods.items()
        if method != "parameters"
    }


def test_every_route_of_the_handler_is_deployed_and_no_other(deploy: Any, program: Any) -> None:
    deployed = methods_of(deploy())
    assert sorted([*route] for route in deployed if route[0] != "OPTIONS") == program["routes"]
    # Which pages of others may ask the function says (tests/functional/test_events.py).
    asked_first = {path for method, path in deployed if method == "OPTIONS"}
    assert asked_first == {path for _, path in deployed} - WITHOUT_A_KEY - {"/mcp"}


def test_every_route_but_the_pages_needs_the_api_key(deploy: Any) -> None:
    for (name, path), method in methods_of(deploy()).items():
        needs = name != "OPTIONS" and path not in WITHOUT_A_KEY
        assert method.get("security") == ([{"caller": []}, {"api_key": []}] if needs else None), path


@pytest.mark.parametrize(
    ("streaming", "mode", "most_ms", "ending"),
    [
        ("off", "BUFFERED", 29_000, "2015-03-31/functions/QueryFunctionAliaslive/invocations"),
        ("on", "STREAM", 900_000, "2021-11-15/functions/QueryFunctionAliaslive/response-streaming-invocations"),
    ],
)
def test_every_route_calls_the_alias_as_its_runtime_answers(
    deploy: Any, streaming: str, mode: str, most_ms: int, ending: str
) -> None:
    template = deploy(Streaming=streaming)
    for method in methods_of(template).values():
        integration = method["x-amazon-apigateway-integration"]
        assert (integration["responseTransferMode"], integration["timeoutInMillis"]) == (mode, most_ms)
        assert integration["uri"].endswith(ending)
    # With the deployment the stage's variable changes, by which the function knows how to answer.
    assert template["Resources"]["ApiprodStage"]["Properties"]["Variables"] == {"streaming": streaming}
    function = template["Resources"]["QueryFunction"]["Properties"]
    wrapper = function["Environment"]["Variables"].get("AWS_LAMBDA_EXEC_WRAPPER")
    assert wrapper == ("/var/task/stream.sh" if streaming == "on" else None)
    permission = template["Resources"]["ApiPermission"]["Properties"]
    assert (permission["FunctionName"], permission["Action"]) == ("QueryFunctionAliaslive", "lambda:InvokeFunction")
    assert permission["SourceArn"].endswith(":Api/prod/*")


def test_a_stream_may_last_as_long_as_the_program_lets_it(properties: Any) -> None:
    longest_s = Settings().stream_deadline_s
    streaming = properties("QueryFunction", Streaming="on", Timeout=29)
    assert streaming["Timeout"] == 900 > longest_s > Settings().request_deadline_s
    assert properties("QueryFunction", Timeout=31)["Timeout"] == 31


def test_with_bedrock_the_role_may_invoke_the_named_model_and_no_other(properties: Any) -> None:
    model = "openai.gpt-oss-20b-1:0"
    allowed = rights(properties("QueryRole", LlmAuth="aws", LlmModel=model))
    assert {(action, on.rpartition("::")[2]) for action, on in allowed if action.startswith("bedrock:")} == {
        ("bedrock:InvokeModel", f"foundation-model/{model}"),
        ("bedrock:InvokeModelWithResponseStream", f"foundation-model/{model}"),
        ("bedrock:CallWithBearerToken", "*"),
    }
    assert "bedrock" not in {policy["PolicyName"] for policy in properties("QueryRole")["Policies"]}


def test_the_program_that_streams_is_shipped_and_started_by_the_wrapper() -> None:
    makefile = (ROOT / "functions" / "query" / "Makefile").read_text(encoding="utf-8")
    for name in ("stream.sh", "routes", "runtime", "serve.web_pages", "../../docs/openapi.json"):
        assert f" {name} " in makefile
    wrapper = ROOT / "functions" / "query" / "stream.sh"
    assert wrapper.stat().st_mode & 0o111 == 0o111
    assert "$LAMBDA_TASK_ROOT/runtime/__main__.py" in wrapper.read_text(encoding="utf-8")


NEW_ACCOUNT = 10
"""What a new AWS account has of concurrent executions, for all of its functions in a region."""
SLOW_ANSWER_S = 2.5
"""With an LLM: what docs/cost.md reckons with for the middle one of the profiles."""


def test_api_key_is_in_a_usage_plan_that_fits_a_new_account_and_the_page_has_limits_of_its_own(deploy: Any) -> None:
    resources = deploy(ThrottleRate=3, ThrottleBurst=5, MonthlyQuota=70)["Resources"]
    plan = resources["ApiUsagePlan"]["Properties"]
    assert plan["Throttle"] == {"RateLimit": 3, "BurstLimit": 5}
    assert plan["Quota"] == {"Limit": 70, "Period": "MONTH"}
    assert plan["ApiStages"] == [{"ApiId": "Api", "Stage": "ApiprodStage"}]
    plan_key = resources["ApiUsagePlanKey"]["Properties"]
    assert (plan_key["UsagePlanId"], plan_key["KeyId"]) == ("ApiUsagePlan", "ApiKey")
    assert resources["ApiprodStage"]["Properties"]["MethodSettings"] == [
        {"ResourcePath": path, "HttpMethod": method, "ThrottlingRateLimit": rate, "ThrottlingBurstLimit": 200}
        for path, method, rate in (("/*", "*", 3), ("/", "GET", 5), ("/~1docs", "GET", 5))
    ]
    throttle = deploy()["Resources"]["ApiUsagePlan"]["Properties"]["Throttle"]
    # A token bucket admits its burst and then its rate: so many answers are under way at once at most.
    assert throttle["BurstLimit"] + throttle["RateLimit"] * SLOW_ANSWER_S <= NEW_ACCOUNT


def test_gateway_errors_have_the_shape_of_the_handlers_errors_and_are_documented(properties: Any) -> None:
    told = properties("Api")["Body"]["x-amazon-apigateway-gateway-responses"]

    seen = {}
    for kind, response in told.items():
        template = response["responseTemplates"]["application/json"]
        body = json.loads(template.replace("$context.error.messageString", '"M"'))
        assert body.keys() == {"error", "code"}
        assert body["error"]
        headers = response["responseParameters"]
        assert headers["gatewayresponse.header.X-Content-Type-Options"] == "'nosniff'"
        assert headers["gatewayresponse.header.Cache-Control"] == "'no-store'"
        seen[kind] = (response.get("statusCode"), body["code"])
    assert seen == {
        "DEFAULT_4XX": (None, "bad_request"),
        "DEFAULT_5XX": (None, "pipeline_error"),
        "INTEGRATION_TIMEOUT": ("504", "timeout"),
        "UNAUTHORIZED": ("401", "unauthorized"),
        "ACCESS_DENIED": ("403", "forbidden"),
        "INVALID_API_KEY": ("403", "forbidden"),
        "MISSING_AUTHENTICATION_TOKEN": ("404", "not_found"),
        "REQUEST_TOO_LARGE": ("413", "body_too_large"),
        "UNSUPPORTED_MEDIA_TYPE": ("415", "unsupported_media_type"),
        "THROTTLED": ("429", "too_many_requests"),
        "QUOTA_EXCEEDED": ("429", "too_many_requests"),
    }
    # The handler's own have the same codes and statuses; unauthorized needs an authorizer.
    rows = set(re.findall(r"^\| [^|]*\d[^|]* \| `(\w+)` \|", DEPLOYING, re.MULTILINE))
    own = {"body_too_large", "unsupported_media_type", "unauthorized"}
    assert rows == {code for _, code in seen.values()} - own


LOGS = {("logs:CreateLogStream", "QueryLogGroup.Arn"), ("logs:PutLogEvents", "QueryLogGroup.Arn")}
SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:{}-??????"
EFS_ACTIONS = {("elasticfilesystem:ClientMount", "IndexFileSystem.Arn")}
TRACES = {("xray:PutTraceSegments", "*"), ("xray:PutTelemetryRecords", "*")}


CHROMA = "chroma://chroma.rag.internal:8000/default_tenant/default_database?version=abc123def456"
CLOUD = "https://api.trychroma.com/0e3f/handbook?version=abc123def456"
OWN = "FunctionGroup.GroupId"


@pytest.mark.parametrize(
    ("parameters", "uri", "snapshots", "groups"),
    [
        ({}, "/opt/index", "PublishedVersions", []),
        ({"SnapStart": "off"}, "/opt/index", "None", []),
        (NETWORK, "/opt/index", "PublishedVersions", [OWN]),
        ({**EFS, "EfsPath": "october"}, "/mnt/index/october", "None", [OWN, "IndexClientGroup.GroupId"]),
        ({**NETWORK, "IndexUri": CHROMA, "IndexSecurityGroup": "sg-1"}, CHROMA, "PublishedVersions", [OWN, "sg-1"]),
        ({"IndexUri": CLOUD, "IndexSecretName": "rag/chroma"}, CLOUD, "PublishedVersions", []),
    ],
    ids=["layer", "SnapStart off", "layer in a network", "efs", "server", "cloud"],
)
def test_index_is_where_it_was_chosen_with_the_network_files_and_snapshots_of_that_place(
    deploy: Any, properties: Any, parameters: dict[str, str], uri: str, snapshots: str, groups: list[str]
) -> None:
    resources = deploy(**parameters)["Resources"]
    function = resources["QueryFunction"]["Properties"]
    on_efs = "IndexSource" in parameters

    assert function["Environment"]["Variables"]["INDEX_URI"] == uri
    # None said, and not the property left out: that leaves a function as it was.
    assert function["SnapStart"] == {"ApplyOn": snapshots}
    assert function["Layers"] == properties("QueryFunction")["Layers"]
    network = {"SubnetIds": SUBNETS, "SecurityGroupIds": groups} if groups else None
    assert function.get("VpcConfig") == network
    files = [{"Arn": "IndexReader.Arn", "LocalMountPath": "/mnt/index"}] if on_efs else None
    assert function.get("FileSystemConfigs") == files
    mounted = [target["SubnetId"] for target in of_type(resources, "AWS::EFS::MountTarget").values()]
    assert mounted == (SUBNETS if on_efs else [])
    kinds = {item["Type"].split("::")[1] for item in resources.values()}
    assert kinds & {"EC2", "EFS"} == ({"EC2"} if groups else set()) | ({"EFS"} if on_efs else set())
    assert any("ec2:" in action for action, _ in rights(resources["QueryRole"]["Properties"])) is bool(groups)


def test_function_in_a_network_calls_anybody_and_is_called_by_nobody(deploy: Any) -> None:
    [(name, group)] = of_type(deploy(**NETWORK)["Resources"], "AWS::EC2::SecurityGroup").items()
    assert (name, group["VpcId"]) == ("FunctionGroup", NETWORK["VpcId"])
    assert [(rule["IpProtocol"], rule["CidrIp"]) for rule in group["SecurityGroupEgress"]] == [("-1", "0.0.0.0/0")]
    assert "SecurityGroupIngress" not in group


def test_index_on_efs_may_have_room_to_be_copied_to(properties: Any) -> None:
    assert properties("QueryFunction")["EphemeralStorage"] == {"Size": 512}
    assert properties("QueryFunction", **EFS, EfsTmpSize=4096)["EphemeralStorage"] == {"Size": 4096}


@pytest.mark.parametrize(
    ("uri", "fits"),
    [
        ("", True),
        (CHROMA, True),
        (CLOUD, True),
        ("https://chroma.example:8443/t/d", True),
        ("chroma://chroma.internal/t/d", False),  # no port
        ("http://chroma.internal:8000/t/d", False),
        ("https://api.trychroma.com/t", False),
        ("/mnt/index/current", False),  # IndexSource=efs has its own parameter
        ("https://key@api.trychroma.com/t/d", False),  # a key is in a secret
        ("https://api.trychroma.com/t/d?version=a&token=b", False),
    ],
)
def test_address_of_a_server_names_tenant_and_database_and_holds_no_key(raw: Any, uri: str, fits: bool) -> None:
    assert bool(re.fullmatch(raw["Parameters"]["IndexUri"]["AllowedPattern"], uri)) is fits


@pytest.mark.parametrize(
    ("parameters", "about"),
    [
        ({"IndexUri": CLOUD, "IndexSecretName": "rag/chroma"}, None),
        ({"IndexUri": CHROMA, **NETWORK, "IndexSecurityGroup": "sg-01234567"}, None),
        ({"IndexUri": CLOUD, "IndexKey": "index/0123456789ab.zip"}, None),  # what answers again when IndexUri is empty
        ({"IndexUri": CLOUD, **EFS}, "IndexUri needs no file system"),
        ({"IndexUri": CLOUD, "EfsPath": "october"}, "EfsPath is for IndexSource=efs alone"),
        ({"IndexSecretName": "rag/chroma"}, None),  # before the first publication, which sets IndexUri
        ({"IndexUri": CHROMA, "IndexSecurityGroup": "sg-01234567"}, "IndexSecurityGroup needs VpcId"),
    ],
)
def test_what_does_not_go_with_a_server_is_refused(raw: Any, parameters: dict[str, str], about: str | None) -> None:
    refusals = Stack(raw, parameters).refusals()
    assert [text.startswith(about or "") for text in refusals] == [True] * bool(about)


def test_function_waits_for_the_mount_targets_and_access_logs_for_the_account_s_role(deploy: Any, raw: Any) -> None:
    assert waits_for(raw["Resources"], "QueryFunction") >= {"MountTargetA", "MountTargetB"}
    # Written out where there is something to wait for, and nothing where there is not
    assert deploy(**EFS)["Resources"]["QueryRole"]["Metadata"] == {"After": ["MountTargetA", "MountTargetB"]}
    assert deploy()["Resources"]["QueryRole"]["Metadata"] == {"After": []}
    assert "ApiLogsAccount" in waits_for(raw["Resources"], "ApiprodStage")
    assert deploy(AccessLogs="setup")["Resources"]["ApiLogGroup"]["Metadata"] == {"After": ["ApiLogsAccount"]}
    # A setting of the account and region is nobody's by accident.
    assert not {"ApiLogGroup", "ApiLogsAccount", "ApiLogsRole"} & deploy()["Resources"].keys()
    assert deploy(AccessLogs="on")["Resources"]["ApiLogGroup"]["Metadata"] == {"After": []}


def test_function_may_read_but_not_own_the_index_on_efs(deploy: Any) -> None:
    points = of_type(deploy(**EFS)["Resources"], "AWS::EFS::AccessPoint")
    folder = points["IndexReader"]["RootDirectory"]
    reader, owner = points["IndexReader"]["PosixUser"], folder["CreationInfo"]
    assert points["IndexWriter"]["RootDirectory"] == folder
    assert owner["Permissions"] == "0755"
    assert points["IndexWriter"]["PosixUser"]["Uid"] == owner["OwnerUid"] != reader["Uid"]
    assert reader["Gid"] != owner["OwnerGid"]


def test_the_index_is_mounted_with_tls_and_an_access_point_and_written_by_who_has_the_policy(deploy: Any) -> None:
    resources = deploy(**EFS, RolePath="/teams/")["Resources"]

    policy = resources["IndexFileSystem"]["Properties"]["FileSystemPolicy"]["Statement"]
    assert {line["Sid"]: (line["Effect"], line["Principal"], line.get("Condition")) for line in policy} == {
        "WithoutTls": ("Deny", {"AWS": "*"}, {"Bool": {"aws:SecureTransport": "false"}}),
        "WithoutAnAccessPoint": ("Deny", {"AWS": "*"}, {"Null": {"elasticfilesystem:AccessPointArn": "true"}}),
        "AsRoot": ("Deny", {"AWS": "*"}, None),
    }
    writer = resources["IndexWriterPolicy"]["Properties"]
    [allowed] = writer["PolicyDocument"]["Statement"]
    assert (writer["Path"], allowed["Effect"], allowed["Resource"]) == ("/teams/", "Allow", "IndexFileSystem.Arn")
    assert set(allowed["Action"]) == {"elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"}
    assert allowed["Condition"] == {"StringEquals": {"elasticfilesystem:AccessPointArn": "IndexWriter.Arn"}}
    # Who has neither right is nobody: the policy allows nothing, and takes away that without one anybody may mount.
    assert "Allow" not in {line["Effect"] for line in policy}
    assert "IndexWriterPolicy" not in deploy()["Resources"]


def test_table_has_the_keys_and_the_expiry_of_the_code_and_can_be_restored(deploy: Any, program: Any) -> None:
    resource = deploy()["Resources"]["Table"]
    table, written = resource["Properties"], program["table_item"]
    keys = [(key["AttributeName"], key["KeyType"]) for key in table["KeySchema"]]
    expiry = table["TimeToLiveSpecification"]

    assert keys == [("pk", "HASH"), ("sk", "RANGE")]
    assert expiry == {"AttributeName": "expiresAt", "Enabled": True}
    types = {item["AttributeName"]: item["AttributeType"] for item in table["AttributeDefinitions"]}
    assert types == {name: next(iter(written[name])) for name, _ in keys}
    assert written.keys() == {*types, expiry["AttributeName"]}
    assert written[expiry["AttributeName"]].keys() == {"N"}, "TTL reads numbers only"
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    # A fixed name would make two stacks collide, and what replaces a table would have no name to take.
    assert "TableName" not in table
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Delete", "Delete")


@pytest.mark.parametrize(("store", "name"), [("dynamodb", "Table"), ("none", "")])
def test_function_knows_the_table_there_is(deploy: Any, store: str, name: str) -> None:
    stack = deploy(Store=store)
    assert stack["Resources"]["QueryFunction"]["Properties"]["Environment"]["Variables"]["TABLE_NAME"] == name
    assert list(of_type(stack["Resources"], "AWS::DynamoDB::Table")) == ([name] if name else [])
    assert ("TableName" in stack["Outputs"]) is bool(name)


@pytest.mark.parametrize(
    ("parameters", "chosen"),
    [({}, set()), ({"Tracing": "Active"}, TRACES), (NETWORK, NETWORK_ACTIONS), (EFS, EFS_ACTIONS | NETWORK_ACTIONS)],
    ids=["nothing", "traces", "network", "efs"],
)
def test_role_may_log_and_do_what_was_chosen_and_no_more(
    properties: Any, program: Any, parameters: dict[str, str], chosen: set[tuple[str, str]]
) -> None:
    given = {"Tracing": "PassThrough", **parameters}
    role = properties("QueryRole", **given)
    table = {(action, "Table.Arn") for action in program["table_actions"]}

    assert len(table) > 3
    assert rights(properties("QueryRole", Store="none", **given)) == LOGS | chosen
    assert rights(role) == LOGS | chosen | table
    denied = statements(role, "Deny")
    assert len(denied) == (chosen >= NETWORK_ACTIONS)
    for line in denied:  # Lambda itself makes the interfaces; the code that runs in a function may not
        assert {(action, "*") for action in line["Action"]} >= NETWORK_ACTIONS
        functions = "arn:aws:lambda:eu-central-1:123456789012:function:*"
        assert line["Condition"] == {"ArnLike": {"lambda:SourceFunctionArn": functions}}
    assert "ManagedPolicyArns" not in role


@pytest.mark.parametrize("named", [("Llm",), ("Embed",), ("Index",), ("Llm", "Embed", "Index")])
def test_role_reads_the_named_secrets_alone(deploy: Any, named: tuple[str, ...]) -> None:
    secrets = {f"{name}SecretName": f"rag/{name}" for name in named}
    resources = deploy(**secrets, Store="none", Tracing="PassThrough")["Resources"]
    reads = {("secretsmanager:GetSecretValue", SECRET.format(name)) for name in secrets.values()}
    assert rights(resources["QueryRole"]["Properties"]) == LOGS | reads
    variables = resources["QueryFunction"]["Properties"]["Environment"]["Variables"]
    told = {variables[f"{whose}_SECRET_NAME"] for whose in ("LLM", "EMBED", "INDEX")}
    assert told - {""} == set(secrets.values())
    assert not [name for name in variables if name.endswith(("_API_KEY", "_TOKEN"))]


def test_every_role_has_the_boundary_and_the_path_where_they_are_given(deploy: Any) -> None:
    given = {"PermissionsBoundary": BOUNDARY, "RolePath": "/teams/rag/", "AccessLogs": "setup"}
    roles = of_type(deploy(**given)["Resources"], "AWS::IAM::Role")
    limits = {name: (role["PermissionsBoundary"], role["Path"]) for name, role in roles.items()}
    assert limits == dict.fromkeys(("QueryRole", "AuthorizerRole", "ApiLogsRole"), (BOUNDARY, "/teams/rag/"))
    for role in of_type(deploy()["Resources"], "AWS::IAM::Role").values():
        assert "PermissionsBoundary" not in role
        assert role["Path"] == "/"


def test_key_encrypts_the_table_the_logs_and_the_function_where_it_is_given(deploy: Any) -> None:
    resources = deploy(KmsKeyArn=KEY, AccessLogs="on")["Resources"]
    encrypted = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert resources["Table"]["Properties"]["SSESpecification"] == encrypted
    groups = {name: group["KmsKeyId"] for name, group in of_type(resources, "AWS::Logs::LogGroup").items()}
    assert groups == dict.fromkeys(LOG_GROUPS, KEY)
    assert resources["QueryFunction"]["Properties"]["KmsKeyArn"] == KEY

    resources = deploy()["Resources"]
    assert "SSESpecification" not in resources["Table"]["Properties"]
    assert "KmsKeyArn" not in resources["QueryFunction"]["Properties"]
    assert not [name for name, group in of_type(resources, "AWS::Logs::LogGroup").items() if "KmsKeyId" in group]


@pytest.mark.parametrize("store", ["dynamodb", "none"])
def test_role_decrypts_its_environment_and_uses_the_key_for_the_table(properties: Any, store: str) -> None:
    role = properties("QueryRole", KmsKeyArn=KEY, Store=store)
    lines = statements({"Policies": [policy for policy in role["Policies"] if policy["PolicyName"] == "key"]})
    told = {
        line["Condition"]["StringEquals"]["kms:ViaService"] if "Condition" in line else "any": set(line["Action"])
        for line in lines
    }

    assert {line["Resource"] for line in lines} == {KEY}
    table = {
        *("kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt"),
        *("kms:GenerateDataKey*", "kms:ReEncrypt*"),
    }
    of_table = {"dynamodb.eu-central-1.amazonaws.com": table} if store == "dynamodb" else {}
    assert told == {"any": {"kms:Decrypt"}, **of_table}


LOG_GROUPS = ("QueryLogGroup", "AuthorizerLogGroup", "ApiLogGroup")


def test_logs_are_kept_for_as_long_as_asked_in_json_with_the_report_that_the_filters_read(deploy: Any) -> None:
    resources = deploy(LogRetentionDays=7, AccessLogs="on")["Resources"]
    groups = of_type(resources, "AWS::Logs::LogGroup")
    assert {name: group["RetentionInDays"] for name, group in groups.items()} == dict.fromkeys(LOG_GROUPS, 7)
    assert resources["QueryFunction"]["Properties"]["LoggingConfig"] == {
        "LogGroup": "QueryLogGroup",
        "LogFormat": "JSON",
        "ApplicationLogLevel": "INFO",
        "SystemLogLevel": "INFO",
    }


@pytest.mark.parametrize(
    ("choice", "logs", "sets_account"), [("setup", True, True), ("on", True, False), ("off", False, False)]
)
def test_access_logs(deploy: Any, choice: str, logs: bool, sets_account: bool) -> None:
    resources = deploy(AccessLogs=choice)["Resources"]
    stage = resources["ApiprodStage"]["Properties"]
    assert ("AccessLogSetting" in stage) is logs
    assert ("ApiLogsAccount" in resources) is ("ApiLogsRole" in resources) is sets_account
    if logs:
        assert stage["AccessLogSetting"]["DestinationArn"] == "ApiLogGroup.Arn"
        line = json.loads(stage["AccessLogSetting"]["Format"])
        assert not [value for value in line.values() if "sourceIp" in value or "userAgent" in value]


@pytest.mark.parametrize(("tracing", "traced"), [("Active", True), ("PassThrough", False)])
def test_tracing_is_on_or_off_everywhere(properties: Any, tracing: str, traced: bool) -> None:
    assert properties("QueryFunction", Tracing=tracing).get("TracingConfig", {}).get("Mode") == tracing
    assert properties("ApiprodStage", Tracing=tracing)["TracingEnabled"] is traced


def test_schedule_calls_the_alias_twice_while_a_snapshot_lives_unless_it_is_off(deploy: Any, program: Any) -> None:
    resources = deploy()["Resources"]  # a snapshot that is not asked is gone after a fortnight
    [rule] = of_type(resources, "AWS::Events::Rule").values()
    permission = resources["KeepReadyPermission"]["Properties"]

    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(5 days)", "ENABLED")
    assert [target["Arn"] for target in rule["Targets"]] == ["QueryFunctionAliaslive"]
    assert permission["FunctionName"] == "QueryFunctionAliaslive"
    assert (permission["Principal"], permission["SourceArn"]) == ("events.amazonaws.com", "KeepReadyRule.Arn")
    # What the schedule sends is a question's event: here, without an index, it gets as far as one does.
    assert program["answers"]["keep_ready"] == program["answers"]["query"] == [503, "index_not_ready"]
    resources = deploy(KeepReady="off")["Resources"]
    assert not of_type(resources, "AWS::Events::Rule")
    assert "KeepReadyPermission" not in resources


def test_published_versions_lie_in_a_bucket_of_the_stack_s_own_that_outlives_it(deploy: Any) -> None:
    template = deploy()
    bucket = template["Resources"]["IndexBucket"]
    told = bucket["Properties"]
    assert bucket["DeletionPolicy"] == "RetainExceptOnCreate"
    assert told["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(told["PublicAccessBlockConfiguration"].values()) == {True}
    assert encryption(told) == {"SSEAlgorithm": "AES256"}
    own = deploy(KmsKeyArn=KEY)["Resources"]["IndexBucket"]["Properties"]
    assert encryption(own) == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}
    [rule] = told["LifecycleConfiguration"]["Rules"]
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    [deny] = template["Resources"]["IndexBucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert (deny["Effect"], deny["Action"]) == ("Deny", "s3:*")
    assert deny["Resource"] == ["IndexBucket.Arn", "IndexBucket.Arn/*"]
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert template["Outputs"]["IndexBucket"]["Value"] == "IndexBucket"


def encryption(bucket: dict[str, Any]) -> Any:
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    return rule["ServerSideEncryptionByDefault"]


def test_cfn_lint_finds_nothing(raw: Any, tmp_path: Path) -> None:
    # `make lint` has the source; this is what SAM makes of it. There Revision has done its work (W2001: not used);
    # W1030 the source ignores itself. eu-north-1 is a region where CloudFormation has fewer types.
    assert lint([raw], tmp_path, regions=["eu-central-1", "eu-north-1"]) == ""


def test_a_release_is_packaged_with_the_saved_configuration() -> None:
    # SAM reads samconfig.toml beside a template that it is given, and there is none in .aws-sam/build.
    [command] = [line.split() for line in DEPLOYING.splitlines() if line.startswith("    sam package ")]
    assert "--template-file" not in command
    assert command[command.index("--s3-prefix") + 1] == samconfig()["global"]["parameters"]["stack_name"]


def test_samconfig_names_the_source_template_for_build_and_validate_only() -> None:
    # Under [default.global] deploy and local would take the template that was not built.
    commands = {name: table["parameters"] for name, table in samconfig().items()}
    named = {name: given["template_file"] for name, given in commands.items() if "template_file" in given}
    assert named == {"build": "infra/template.yaml", "validate": "infra/template.yaml"}
    assert commands["build"]["build_in_source"] is True
    assert not [name for name, given in commands.items() if given.get("cached")]
