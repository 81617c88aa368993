"""A deployed stack to publish to: moto as a server, a stand-in for CloudFormation, and a gateway for the health.

The stand-in does what moto's CloudFormation and Lambda leave out of a publication. moto takes the update (the previous
template, the parameters, the resources that it knows). What is stated here, after AWS's documentation, and tried in no
account: the update is under way for a look or two; each resource has its events, with the update's token; a version
rehearses, which is here the real opening of the index in the zip and the real rehearsal; where that raises, the
version's event says CREATE_FAILED, the parameters are those of before, and the status ends as
UPDATE_ROLLBACK_COMPLETE.
"""

import io
import json
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
import real_model
from deployed import REGION, Front, Json, serving
from moto.server import ThreadedMotoServer

from knowledge.engines.server.address import ServerAddress
from knowledge.open.index import open_index
from knowledge.open.place import read_manifest
from rag.config.settings import Settings, load
from rag.wiring.application import build_application
from rag.wiring.rehearsal import rehearse
from smoke.stack import Patience

STACK = "published"
EMPTY = dict.fromkeys(("IndexKey", "IndexUri", "EmbedModel", "Revision"), "")
PARAMETERS = {**EMPTY, "Profile": "house", "IndexSource": "layer"}
UNDER_WAY = 2
"""So many times the status is asked for before the update is over."""


def small_template(url: str, key_id: str) -> str:
    """A stack with those parameters, resources and outputs of infra/template.yaml that publishing knows."""
    content = {"S3Bucket": {"Ref": "IndexBucket"}, "S3Key": {"Ref": "IndexKey"}}
    layer = {"LayerName": "published-index", "Content": content, "CompatibleRuntimes": ["python3.13"]}
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"VersioningConfiguration": {"Status": "Enabled"}}}
    made = {"Type": "AWS::Lambda::LayerVersion", "Condition": "IsPublished", "Properties": layer}
    alias = "arn:aws:lambda:eu-central-1:123456789012:function:published-query:live"
    outputs = {
        "ApiUrl": url, "ApiKeyId": key_id, "QueryFunctionAlias": alias,
        "QueryLogGroup": "/aws/lambda/published-query", "IndexBucket": {"Ref": "IndexBucket"},
    }  # fmt: skip
    body = {
        "Parameters": {name: {"Type": "String", "Default": value} for name, value in PARAMETERS.items()},
        "Conditions": {"IsPublished": {"Fn::Not": [{"Fn::Equals": [{"Ref": "IndexKey"}, ""]}]}},
        "Resources": {"IndexBucket": bucket, "PublishedIndexLayer": made},
        "Outputs": {name: {"Value": value} for name, value in outputs.items()},
    }
    return json.dumps(body)


@dataclass
class Formation:
    """In front of moto's client ``real``."""

    real: Any
    s3: Any
    bucket: str
    place: Path
    updates: list[Json] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    status: list[str] = field(default_factory=list)

    def describe_stacks(self, **asked: Any) -> Json:
        """moto's answer, with the status of the update that is under way."""
        told: Json = self.real.describe_stacks(**asked)
        if self.status:
            told["Stacks"][0]["StackStatus"] = self.status.pop(0) if len(self.status) > 1 else self.status[0]
        return told

    def update_stack(self, **asked: Any) -> Json:
        """moto's update, and then what CloudFormation does with the function."""
        self.updates.append(asked)
        former = self._parameters()
        told: Json = self.real.update_stack(**asked)
        now = self._parameters()
        token = asked["ClientRequestToken"]
        for kind in ("LayerVersion", "Function"):
            self._event(token, kind, "UPDATE_IN_PROGRESS")
        try:
            if not now["IndexUri"]:  # what is on a server is not rehearsed before the snapshot
                real_rehearsal(self.unpacked(now["IndexKey"]))
        except Exception as error:  # noqa: BLE001 - whatever a hook raises makes the version fail
            said = f"Error: Runtime exited before the snapshot ({type(error).__name__})"
            self._event(token, "Version", "CREATE_FAILED", f"Resource handler returned message: {said}")
            self._event(token, "Function", "UPDATE_FAILED", "Resource update cancelled")
            kept = [{"ParameterKey": name, "ParameterValue": value} for name, value in former.items()]
            self.real.update_stack(StackName=asked["StackName"], UsePreviousTemplate=True, Parameters=kept)
            ends = ["UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE"]
        else:
            self._event(token, "Version", "CREATE_IN_PROGRESS")
            ends = ["UPDATE_COMPLETE"]
        self.status = ["UPDATE_IN_PROGRESS"] * UNDER_WAY + ends
        return told

    def get_paginator(self, _: str) -> Any:
        """Of the events, the newest first."""
        return SimpleNamespace(paginate=lambda **_: iter([{"StackEvents": self.events[::-1]}]))

    def unpacked(self, key: str) -> Path:
        """The index in a version's zip, as a layer has it below /opt; moto has stored the layer already."""
        body = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        folder = self.place / key.replace("/", "-")
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            packed.extractall(folder)
        return folder / "index"

    def answering(self) -> str:
        """The version that the stack names, which GET /api/health shows."""
        now = self._parameters()
        if uri := now["IndexUri"]:
            return ServerAddress.parse(uri).version
        manifest = read_manifest(self.unpacked(now["IndexKey"])) if now["IndexKey"] else None
        return manifest.version if manifest else "built"

    def _parameters(self) -> dict[str, str]:
        told = self.real.describe_stacks()["Stacks"][0]["Parameters"]
        return {one["ParameterKey"]: one["ParameterValue"] for one in told}

    def _event(self, token: str, kind: str, status: str, reason: str = "") -> None:
        event = {"ClientRequestToken": token, "ResourceType": f"AWS::Lambda::{kind}", "ResourceStatus": status}
        self.events.append({**event, **({"ResourceStatusReason": reason} if reason else {})})


@dataclass(frozen=True)
class Deployed:
    """The stack, as AWS and its callers see it."""

    formation: Formation
    s3: Any
    bucket: str

    def keys(self) -> Sequence[str]:
        """What is in the bucket of versions."""
        found = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return [one["Key"] for one in found if one["Key"].startswith("index/")]

    def serves(self) -> str:
        """The version that callers get."""
        return self.formation.answering()


def real_rehearsal(index: Path) -> None:
    """What the hook before the snapshot does with the index."""
    open_index(index, embedder=real_model.model(), warm=False).close()
    rehearse(build_application(load(Settings, {"INDEX_URI": str(index)})))


@contextmanager
def deployed(place: Path, patch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    """A stack that answers from the index that was built with it; nothing is published yet.

    The folder ``place`` is the working directory, and nobody waits between two looks.
    """
    patch.chdir(place)
    patch.setattr("publish.stack.UPDATE_PATIENCE", Patience(seconds=60, pause_s=0))
    patch.setattr("publish.stack.HEALTH_PATIENCE", Patience(seconds=0, pause_s=0))
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    patch.setenv("AWS_DEFAULT_REGION", REGION)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "x")
    # All servers of one process have the same state.
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    session = boto3.session.Session()
    real, s3 = session.client("cloudformation"), session.client("s3")
    key = session.client("apigateway").create_api_key(name=STACK, enabled=True)

    def health(_: Any) -> Any:
        body = {"status": "ok", "index": {"version": formation.answering()}}
        return {"statusCode": 200, "headers": {}, "body": json.dumps(body)}

    try:
        with serving(Front(health, key["value"])) as url:
            given = [{"ParameterKey": name, "ParameterValue": value} for name, value in PARAMETERS.items()]
            real.create_stack(StackName=STACK, TemplateBody=small_template(url, key["id"]), Parameters=given)
            outputs = {o["OutputKey"]: o["OutputValue"] for o in real.describe_stacks()["Stacks"][0]["Outputs"]}
            formation = Formation(real, s3, outputs["IndexBucket"], place / "opt")
            client = boto3.session.Session.client
            made: dict[str, Any] = {"cloudformation": formation}

            def clients(session: Any, service: str, **options: Any) -> Any:
                """One for all commands: making it takes longer than most of what they do with it."""
                if service not in made:
                    made[service] = client(session, service, **options)
                return made[service]

            patch.setattr(boto3.session.Session, "client", clients)
            yield Deployed(formation, s3, outputs["IndexBucket"])
    finally:
        server.stop()
