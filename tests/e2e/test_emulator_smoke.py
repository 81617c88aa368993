"""``make smoke`` against the function as built: the emulator behind a gateway, and moto's AWS around it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from deployed import REGION, STACK, Account, Front, Json, serving
from moto import mock_aws
from moto.server import ThreadedMotoServer

from emulator.session import Session, built
from smoke.__main__ import main
from smoke.stack import Patience

pytestmark = pytest.mark.build

TABLE = f"{STACK}-table"


@pytest.fixture
def dynamodb() -> Iterator[str]:
    """The address of moto's DynamoDB, which has what ``mock_aws`` has in this process."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with mock_aws():
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


def test_the_built_function_passes_every_check(dynamodb: str, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account()
    region = {"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
    environment = {"TABLE_NAME": TABLE, "TABLE_ENDPOINT": dynamodb, **region}
    with Session(built(), parameters={"Profile": "waypoint"}, environment=environment, network=True) as session:

        def handle(event: Json) -> Any:
            invocation = session.invoke(event)
            account.count(json.loads(line) for line in invocation.lines if '"_aws"' in line)
            return invocation.body

        key_id, key = account.make_key()
        with serving(Front(handle, key)) as url:
            outputs = account.make_stack(url, key_id, TABLE)
            account.make_function({"RAG_PROFILE": "waypoint"})
            on = {"ApplyOn": "PublishedVersions", "OptimizationStatus": "On"}
            account.change("lambda.GetFunctionConfiguration", lambda found: found.update(SnapStart=on))
            account.log_restore(outputs["QueryLogGroup"], "1", 812.5)
            status = main([STACK, "--json"], aws=account, patience=Patience(seconds=0))
    said = json.loads(capsys.readouterr().out)
    assert [each for each in said["checks"] if each["status"] != "ok"] == []
    assert (status, len(said["checks"])) == (0, 15)
