"""What the smoke checks share: the deployed stack and its API, how a check runs, and how long it waits."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

type Status = Literal["ok", "failed", "skipped"]


class Failed(Exception):
    """A check did not pass; the message is its finding."""


class Skipped(Exception):
    """A check does not apply to this stack; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check. ``look`` says where to look next, if it failed."""

    name: str
    status: Status
    seen: str
    look: str = ""


@dataclass(frozen=True, slots=True)
class Check[Subject]:
    """A check: ``run`` returns what it saw, or raises ``Failed`` or ``Skipped``."""

    name: str
    run: Callable[[Subject], str]
    look: str


@dataclass(frozen=True, slots=True)
class Patience:
    """The wait for a late result: ``seconds`` in all, ``pause_s`` between two looks."""

    seconds: float = 300.0
    pause_s: float = 10.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def until[T](self, look: Callable[[], T | None]) -> T | None:
        """Return the first result of ``look`` that is not None; None when the time is over."""
        give_up_at = self.clock() + self.seconds
        while (found := look()) is None and self.clock() < give_up_at:
            self.sleep(self.pause_s)
        return found


def run_checks[Subject](checks: Sequence[Check[Subject]], subject: Subject) -> Iterator[Result]:
    """Run all ``checks`` in order, whatever one finds, and yield each result as it comes."""
    for check in checks:
        yield _run_check(check, subject)


def _run_check[Subject](check: Check[Subject], subject: Subject) -> Result:
    try:
        return Result(check.name, "ok", check.run(subject))
    except Skipped as reason:
        return Result(check.name, "skipped", str(reason))
    except Failed as finding:
        seen = str(finding)
    except ClientError as error:
        seen = f"AWS refused {error.operation_name}: {error.response['Error']['Code']}"
    except (BotoCoreError, OSError) as error:
        seen = f"{type(error).__name__}: {error}"
    return Result(check.name, "failed", seen, check.look)


TIMEOUT_S = 60
"""API Gateway answers within 30 s, whatever the function does."""
TRIES, PAUSE_S = 5, 2.0
"""For a request that is throttled."""
OFF_TOPIC = "Who won the football world cup in 2018?"


class Aws(Protocol):
    """A boto3 session: ``client("lambda")``."""

    def client(self, service: str, /) -> Any:
        """The client of a service."""
        ...


@dataclass(frozen=True, slots=True)
class ApiReply:
    """A reply: ``body`` is the decoded JSON object, empty for anything else; ``text`` is the body as sent."""

    status: int
    body: Mapping[str, Any]
    text: str = ""
    media_type: str = ""
    has_length: bool = True
    """Whether it has a Content-Length."""

    @property
    def summary(self) -> str:
        """The status, and the code of an error."""
        code = self.body.get("code")
        return f"{self.status} {code}" if code else str(self.status)


@dataclass(frozen=True, slots=True)
class Api:
    """The API at ``url``; ``key`` is never shown."""

    url: str
    key: str = field(repr=False)
    sleep: Callable[[float], None] = time.sleep

    def send(
        self, method: str, path: str, content: object = None, *, key: str | None = "", bearer: bool = False
    ) -> ApiReply:
        """Send a request as ``send_once`` does; after a pause again while the usage plan says 429."""
        for _ in range(TRIES - 1):
            if (reply := self.send_once(method, path, content, key=key, bearer=bearer)).status != 429:
                return reply
            self.sleep(PAUSE_S)
        return self.send_once(method, path, content, key=key, bearer=bearer)

    def send_once(
        self, method: str, path: str, content: object = None, *, key: str | None = "", bearer: bool = False
    ) -> ApiReply:
        """Send one request on a new connection; ``key`` replaces the stack's key, None sends none.

        With ``bearer`` the key is sent as a bearer token, as OpenAI's clients do.

        Raises:
            OSError, Failed: there is no answer.
        """
        place = urlsplit(self.url)
        connect = http.client.HTTPConnection if place.scheme == "http" else http.client.HTTPSConnection
        headers = {"content-type": "application/json"}
        if (given := self.key if key == "" else key) is not None:
            headers |= {"Authorization": f"Bearer {given}"} if bearer else {"x-api-key": given}
        connection = connect(place.netloc, timeout=TIMEOUT_S)
        try:
            connection.request(method, place.path + path, None if content is None else json.dumps(content), headers)
            response = connection.getresponse()
            data, has_length = response.read(), response.getheader("Content-Length") is not None
            text = data.decode("utf-8", "replace")
            try:
                decoded = json.loads(data)
            except ValueError:
                decoded = None
            body = decoded if isinstance(decoded, dict) else {}
            return ApiReply(response.status, body, text, response.getheader("Content-Type", ""), has_length)
        except http.client.HTTPException as error:
            raise Failed(f"{method} {path}: {type(error).__name__}, no HTTP answer") from error
        finally:
            connection.close()

    def ask(self, question: str, **fields: object) -> ApiReply:
        """POST /api/query."""
        return self.send("POST", "/api/query", {"query": question, **fields})


@dataclass(frozen=True, slots=True)
class Stack:
    """One deployed stack. ``since`` (Unix seconds) is the start of the checks."""

    name: str
    id: str
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]
    aws: Aws
    api: Api
    since: float
    patience: Patience
    off_topic: str = OFF_TOPIC

    @property
    def function(self) -> str:
        """The function's name."""
        return self.outputs["QueryFunctionAlias"].split(":")[6]

    def live_version(self) -> str:
        """Return the version that the alias points at."""
        alias = self.outputs["QueryFunctionAlias"].rpartition(":")[2]
        version: str = self.aws.client("lambda").get_alias(FunctionName=self.function, Name=alias)["FunctionVersion"]
        return version

    def configuration(self) -> Mapping[str, Any]:
        """Return Lambda's configuration of the live version."""
        found: Mapping[str, Any] = self.aws.client("lambda").get_function_configuration(
            FunctionName=self.function, Qualifier=self.live_version()
        )
        return found

    def health(self) -> Mapping[str, Any]:
        """Return the body of GET /api/health.

        Raises:
            Failed: anything but 200.
        """
        reply = self.api.send("GET", "/api/health")
        if reply.status != 200 or not reply.body:
            raise Failed(f"GET /api/health answered {reply.summary}")
        return reply.body


def absent(error: ClientError) -> bool:
    """Whether the error says that the resource does not exist."""
    code = error.response["Error"]["Code"]
    missing = code == "ValidationError" and "does not exist" in error.response["Error"]["Message"]
    return missing or "NotFound" in code or "NoSuchEntity" in code


def open_stack(aws: Aws, name: str, *, since: float, patience: Patience, off_topic: str = OFF_TOPIC) -> Stack:
    """Return the stack called ``name``, with the key of its API.

    Raises:
        Failed: it does not exist, or it lacks an output that ``infra/template.yaml`` names.
        ClientError, BotoCoreError: AWS refused, or there are no credentials.
    """
    try:
        found = aws.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if not absent(error):
            raise
        raise Failed(f"There is no stack {name!r} in this account and region") from error
    parameters = {given["ParameterKey"]: given["ParameterValue"] for given in found.get("Parameters", [])}
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
    if lacking := [key for key in ("ApiUrl", "ApiKeyId", "QueryFunctionAlias", "QueryLogGroup") if key not in outputs]:
        raise Failed(f"The stack {name!r} ({found['StackStatus']}) has no output {', '.join(lacking)}")
    key = aws.client("apigateway").get_api_key(apiKey=outputs["ApiKeyId"], includeValue=True)
    api = Api(outputs["ApiUrl"], key["value"], patience.sleep)
    return Stack(name, found["StackId"], parameters, outputs, aws, api, since, patience, off_topic)
