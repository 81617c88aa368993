"""A deployed stack to publish to: moto as a server, the stand-in for CloudFormation, and a gateway for the health."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
import real_model
from deployed import REGION, Front, serving
from fakes_cloudformation import PARAMETERS, Formation, small_template
from moto.server import ThreadedMotoServer

from knowledge.open.index import open_index
from rag.config.settings import Settings, load
from rag.wiring import build_application
from rag.wiring.rehearsal import rehearse

STACK = "published"


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
        told: str = self.formation.answering()["index"]["version"]
        return told


def real_rehearsal(index: Path) -> None:
    """What the hook before the snapshot does with the index."""
    open_index(index, embedder=real_model.model(), warm=False).close()
    rehearse(build_application(load(Settings, {"INDEX_URI": str(index)})))


@contextmanager
def deployed(place: Path, patch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    """A stack that answers from the index that was built with it; nothing is published yet."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }.items():
        patch.setenv(name, value)
    # All servers of one process have the same state.
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    session = boto3.session.Session()
    real, s3 = session.client("cloudformation"), session.client("s3")
    key = session.client("apigateway").create_api_key(name=STACK, enabled=True)

    def health(_: Any) -> Any:
        return {"statusCode": 200, "headers": {}, "body": json.dumps(formation.answering())}

    try:
        with serving(Front(health, key["value"])) as url:
            given = [{"ParameterKey": name, "ParameterValue": value} for name, value in PARAMETERS.items()]
            real.create_stack(StackName=STACK, TemplateBody=small_template(url, key["id"]), Parameters=given)
            outputs = {o["OutputKey"]: o["OutputValue"] for o in real.describe_stacks()["Stacks"][0]["Outputs"]}
            formation = Formation(real, s3, outputs["IndexBucket"], place / "opt", real_rehearsal)
            client = boto3.session.Session.client

            def clients(session: Any, service: str, **options: Any) -> Any:
                return formation if service == "cloudformation" else client(session, service, **options)

            patch.setattr(boto3.session.Session, "client", clients)
            yield Deployed(formation, s3, outputs["IndexBucket"])
    finally:
        server.stop()
