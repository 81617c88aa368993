"""DynamoDB for tests: moto as a server behind a script.

A step of the script answers in moto's place, so that throttling, conflicts and outages come when a test needs them.
"""

import json
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3  # type: ignore[import-untyped]
from listening import listening
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

type StartResponse = Callable[..., object]
type Wsgi = Callable[[dict[str, Any], StartResponse], Any]
type Step = Wsgi | None

REGION = "eu-central-1"
API = "com.amazonaws.dynamodb.v20120810"
KEYED: Mapping[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
}
"""A table as the template makes it."""


@dataclass
class ScriptedServer:
    """moto behind a script: each request takes the next step; without one, or on None, moto answers."""

    url: str = ""
    script: deque[Step] = field(default_factory=deque)
    calls: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    """Of the callers, one for each call: those of one connection are the same."""

    def wrap(self, moto: Wsgi) -> Wsgi:
        turn = threading.Lock()

        def app(environ: dict[str, Any], start_response: StartResponse) -> Any:
            operation = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
            if operation and operation not in ("CreateTable", "DeleteTable"):
                self.calls.append(operation)
                self.ports.append(environ["REMOTE_PORT"])
                step = self.script.popleft() if self.script else None
                if step:
                    return step(environ, start_response)
            with turn:  # moto copies its tables for a transaction, and breaks when another thread writes meanwhile
                return moto(environ, start_response)

        return app


def refuse(code: str, *, status: int = 400, **more: object) -> Wsgi:
    """A step: DynamoDB's error ``code``."""
    return reply({"__type": f"{API}#{code}", "message": "the vendor's words", **more}, status=status)


def reply(body: Mapping[str, object] | Callable[[dict[str, Any]], Mapping[str, object]], *, status: int = 200) -> Wsgi:
    """A step: this body, or what a function makes of the request's."""

    def step(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        request = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        answer = json.dumps(body(request) if callable(body) else body).encode()
        start_response(f"{status} Scripted", [("Content-Type", "application/x-amz-json-1.0")])
        return [answer]

    return step


def conflict() -> Wsgi:
    """A step: another transaction has an item of this one."""
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}]
    return refuse("TransactionCanceledException", CancellationReasons=reasons)


def silence(released: threading.Event) -> Wsgi:
    """A step: no answer until ``released``."""

    def step(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        released.wait(600)
        start_response("500 Too late", [])
        return [b""]

    return step


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    """Run one for the length of the block."""
    scripted = ScriptedServer()
    server = make_server("127.0.0.1", 0, scripted.wrap(DomainDispatcherApplication(create_backend_app)), threaded=True)
    with listening(server) as scripted.url:
        yield scripted


def create_table(endpoint_url: str | None, name: str = "") -> str:
    """A table as the template makes it, under a name of its own if it has none; None is for moto's AWS."""
    name = name or f"table-{uuid.uuid4()}"
    boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint_url).create_table(TableName=name, **KEYED)
    return name


def delete_table(name: str, endpoint_url: str) -> None:
    boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint_url).delete_table(TableName=name)
