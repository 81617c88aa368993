"""A stack as it is deployed: moto's AWS, and a gateway that does what the template says of API Gateway."""

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
from listening import listening
from scripted_dynamodb import KEYED
from werkzeug.serving import WSGIRequestHandler, make_server

from emulator.template import read_template
from serve.gateway import http_response, rest_event

TEMPLATE = Path(__file__).resolve().parents[1] / "infra" / "template.yaml"
REGION = "eu-central-1"
STACK = "smoked"
FUNCTION = f"{STACK}-query"
ALIAS = f"arn:aws:lambda:{REGION}:123456789012:function:{FUNCTION}:live"
RATE, BURST = 10, 20
CAPACITY = 60
"""Requests with a key that the gateway lets through; it never refills, so that no test depends on how long it takes."""

type Json = dict[str, Any]
type Handle = Callable[[Json], Mapping[str, Any]]
"""The function: from an event to a proxy response."""
type Bend = Callable[[int, Any], tuple[int, Any]]
"""What becomes of a status and a body on their way."""


_template = cache(read_template)
"""It takes long to read."""


class Front:
    """API Gateway as a WSGI application: the template's paths, keys and own answers in front of ``handle``.

    ``bends`` change what a path answers, ``capacity`` is how many requests with a key are let through.
    """

    def __init__(self, handle: Handle, key: str) -> None:
        resources: Json = _template(TEMPLATE)["Resources"]
        properties = resources["Api"]["Properties"]
        scope: Json = {}
        exec(resources["Authorizer"]["Properties"]["Code"]["ZipFile"], scope)
        self._authorize = scope["handler"]
        self.bends: dict[str, Bend] = {}
        self.capacity: float = CAPACITY
        self.wants_key = True
        self.streams = False
        self._handle = handle
        self._key = key
        self._says: Json = properties["GatewayResponses"]
        self._turn = threading.Lock()
        self._paths = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), methods)
            for path, methods in properties["DefinitionBody"]["paths"].items()
        ]

    def __call__(self, environ: Json, start_response: Callable[..., object]) -> Iterable[bytes]:
        path = environ["PATH_INFO"].removeprefix("/prod")
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        with self._turn:
            status, answer = self._answer(path, environ, body)
        if bend := self.bends.get(path):
            status, answer = bend(status, answer)
        kind, told = "application/json", json.dumps(answer).encode()
        if isinstance(answer, str):
            kind, told = "text/html" if path == "/" else "text/event-stream", answer.encode()
        length = [] if self.streams else [("Content-Length", str(len(told)))]
        start_response(f"{status} Told", [("Content-Type", kind), *length])
        return iter([told])  # of a list of one part the server would say the length itself

    def _answer(self, path: str, environ: Json, body: bytes) -> tuple[int, Any]:
        methods: Json = next((m for pattern, m in self._paths if pattern.fullmatch(path)), {})
        method = methods.get(environ["REQUEST_METHOD"].lower())
        if method is None:
            return self._own("MISSING_AUTHENTICATION_TOKEN", 403)
        if method.get("security") and self.wants_key:
            headers = {"x-api-key": environ.get("HTTP_X_API_KEY"), "Authorization": environ.get("HTTP_AUTHORIZATION")}
            found = self._authorize({"headers": headers, "methodArn": path}, None)
            if found["policyDocument"]["Statement"][0]["Effect"] == "Deny":
                return self._own("ACCESS_DENIED", 403)
            if found["usageIdentifierKey"] != self._key:
                return self._own("INVALID_API_KEY", 403)
            self.capacity -= 1
            if self.capacity < 0:
                return self._own("THROTTLED", 429)
        event = rest_event({**environ, "PATH_INFO": path}, body, request_id=str(uuid.uuid4()), at=datetime.now(UTC))
        response = http_response(self._handle(event), request_id="")
        kinds = {value for name, value in response.headers if name.lower() == "content-type"}
        told = response.body.decode()
        return int(response.status.split()[0]), json.loads(told) if kinds == {"application/json"} else told

    def _own(self, kind: str, usual: int) -> tuple[int, Any]:
        said = self._says[kind]
        return int(said.get("StatusCode", usual)), json.loads(said["ResponseTemplates"]["application/json"])


class _Silent(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Nothing: a test's output is its own."""


@contextmanager
def serving(front: Callable[..., Iterable[bytes]]) -> Iterator[str]:
    """The gateway on a free port of this machine; the address of its stage."""
    server = make_server("127.0.0.1", 0, front, threaded=True, request_handler=_Silent)
    with listening(server) as address:
        yield f"{address}/prod"


def template(url: str, key_id: str, table_name: str) -> str:
    """A small stack with the outputs of ours. What moto cannot make from a template is made beside it."""
    table = {"TableName": table_name, **KEYED}
    resources = {
        "QueryLogGroup": ("AWS::Logs::LogGroup", {"LogGroupName": f"/aws/lambda/{STACK}-query"}),
        "Table": ("AWS::DynamoDB::Table", table),
        "Api": ("AWS::ApiGateway::RestApi", {"Name": STACK}),
    }
    named = {"QueryLogGroup": {"Ref": "QueryLogGroup"}, "TableName": {"Ref": "Table"}}
    outputs = {"ApiUrl": url, "ApiKeyId": key_id, "QueryFunctionAlias": ALIAS, **named}
    typed = {name: {"Type": kind, "Properties": given} for name, (kind, given) in resources.items()}
    return json.dumps({"Resources": typed, "Outputs": {name: {"Value": value} for name, value in outputs.items()}})


@cache
def _session() -> Any:
    """One for all accounts: it reads the services' models, which takes longer than what a test does with them."""
    return boto3.session.Session("x", "x", region_name=REGION)


@dataclass
class Account:
    """An AWS account of moto's, in the region of the stack. ``layers`` are the function's, as their ARNs."""

    session: Any = field(default_factory=_session)
    clients: dict[str, Any] = field(default_factory=dict)
    layers: list[str] = field(default_factory=list)

    def client(self, service: str) -> Any:
        """A client of the account."""
        if service not in self.clients:
            self.clients[service] = self.session.client(service)
        return self.clients[service]

    def make_key(self) -> tuple[str, str]:
        """An API key under a usage plan: its id and its value."""
        gateway = self.client("apigateway")
        key = gateway.create_api_key(name=STACK, enabled=True)
        plan = gateway.create_usage_plan(name=STACK, throttle={"rateLimit": RATE, "burstLimit": BURST})
        gateway.create_usage_plan_key(usagePlanId=plan["id"], keyId=key["id"], keyType="API_KEY")
        return key["id"], key["value"]

    def make_stack(self, url: str, key_id: str, table: str) -> Mapping[str, str]:
        """The stack; its outputs."""
        formation = self.client("cloudformation")
        formation.create_stack(StackName=STACK, TemplateBody=template(url, key_id, table))
        outputs = formation.describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
        return {output["OutputKey"]: output["OutputValue"] for output in outputs}

    def make_function(self, variables: Mapping[str, str]) -> None:
        """The function, its first version and the alias. Nobody calls it: the gateway has a handler of its own."""
        document = json.dumps({"Version": "2012-10-17", "Statement": []})
        role = self.client("iam").create_role(RoleName=STACK, AssumeRolePolicyDocument=document)["Role"]["Arn"]
        client = self.client("lambda")
        client.create_function(
            FunctionName=FUNCTION, Role=role, Runtime="python3.13", Handler="app.lambda_handler",
            Code={"ZipFile": b"code"}, Environment={"Variables": dict(variables)}, Layers=[self.make_layer()],
        )  # fmt: skip
        version = client.publish_version(FunctionName=FUNCTION)["Version"]
        client.create_alias(FunctionName=FUNCTION, Name="live", FunctionVersion=version)

    def make_layer(self) -> str:
        """A new version of the index's layer."""
        made = self.client("lambda").publish_layer_version(LayerName=f"{STACK}-index", Content={"ZipFile": b"index"})
        self.layers.append(made["LayerVersionArn"])
        return self.layers[-1]

    def change(self, operation: str, edit: Callable[[Json], object]) -> None:
        """Let ``edit`` change what AWS says to ``operation`` ("lambda.GetAlias"): what moto cannot be told to say."""

        def after(parsed: Json, **_: object) -> None:
            if "Error" not in parsed:
                edit(parsed)

        self.client(operation.partition(".")[0]).meta.events.register(f"after-call.{operation}", after)

    def log_restore(self, group: str, version: str, milliseconds: float) -> None:
        """The line that Lambda logs of a call before which an environment of ``version`` was restored."""
        logs, stream = self.client("logs"), f"2026/11/23/{FUNCTION}[{version}]{uuid.uuid4().hex}"
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        metrics = {"durationMs": 41.5, "billedDurationMs": 500, "memorySizeMB": 1769, "restoreDurationMs": milliseconds}
        line = {"time": "", "type": "platform.report", "record": {"requestId": "", "metrics": metrics}}
        event = {"timestamp": int(1000 * time.time()), "message": json.dumps(line)}
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=[event])

    def count(self, lines: Iterable[Json]) -> None:
        """What CloudWatch makes of lines in its embedded metric format."""
        for line in lines:
            for directive in line["_aws"]["CloudWatchMetrics"]:
                dimensions = [{"Name": name, "Value": line[name]} for name in directive["Dimensions"][0]]
                told = {one["Name"]: line[one["Name"]] for one in directive["Metrics"]}
                data = [
                    {"MetricName": name, "Dimensions": dimensions, "Values": value if type(value) is list else [value]}
                    for name, value in told.items()
                ]
                self.client("cloudwatch").put_metric_data(Namespace=directive["Namespace"], MetricData=data)
