"""Clients of other people, and ``make smoke``, against the built function: HTTP becomes API Gateway's events."""

import asyncio
import io
import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import openai
import pytest
from deployed import REGION, STACK, Account, Front, Json, serving
from langchain_openai import ChatOpenAI
from mcp import Client
from moto import mock_aws
from moto.server import ThreadedMotoServer

from emulator.session import Session, built
from serve.wsgi import Gateway, StartResponse
from smoke.__main__ import main
from smoke.stack import Patience

pytestmark = pytest.mark.build

QUESTION = "Do I need an import permit to bring goods into Singapore?"
TABLE = f"{STACK}-table"
ELSEWHERE = "Who won the football world cup in 2018?"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the built function answers over HTTP, in the buffered runtime."""
    with Session(built()) as session:
        one_at_a_time = threading.Lock()  # as an environment of Lambda

        def invoke(event: dict[str, object], _: object) -> object:
            with one_at_a_time:
                return session.invoke(event).body

        gateway = Gateway(invoke)

        def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))  # the socket itself has no end
            return gateway({**environ, "wsgi.input": io.BytesIO(body)}, start_response)

        with serving(application) as url:
            yield url.removesuffix("/prod")


@pytest.mark.parametrize("stream", [False, True])
def test_openais_client(address: str, stream: bool) -> None:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="x", max_retries=0) as client:
        asked = [{"role": "user", "content": QUESTION}]
        told = client.chat.completions.create(model="waypoint", messages=asked, stream=stream)  # type: ignore[arg-type]
        text = (
            "".join(part.choices[0].delta.content or "" for part in told) if stream else told.choices[0].message.content  # type: ignore[union-attr]
        )
        assert "permit" in text  # type: ignore[operator]
        responded = client.responses.create(model="waypoint", input=QUESTION, stream=stream)
        if stream:
            responded = next(event.response for event in responded if event.type == "response.completed")  # type: ignore[union-attr]
        assert "permit" in responded.output_text  # type: ignore[union-attr]
        with pytest.raises(openai.BadRequestError, match="cannot be empty"):
            client.chat.completions.create(model="waypoint", messages=[{"role": "user", "content": " "}])


def test_langchain(address: str) -> None:
    model = ChatOpenAI(base_url=f"{address}/v1", api_key="x", model="waypoint", max_retries=0)  # type: ignore[arg-type]
    assert "permit" in str(model.invoke(QUESTION).content)
    assert "permit" in "".join(str(part.content) for part in model.stream(QUESTION))


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_the_mcp_client(address: str, mode: str) -> None:
    async def work() -> None:
        async with Client(f"{address}/mcp", mode=mode) as client:
            answered = await client.call_tool("ask", {"question": QUESTION})
            assert answered.structured_content is not None
            assert answered.structured_content["refused"] is False
            chunk = answered.structured_content["citations"][0]["chunkId"]
            assert (await client.read_resource(f"chunk://{chunk}")).contents
            declined = await client.call_tool("ask", {"question": ELSEWHERE})
            assert declined.structured_content is not None
            assert declined.structured_content["refused"] is True

    asyncio.run(asyncio.wait_for(work(), 60))


# make smoke: a gateway before the emulator, and moto's AWS around it


@pytest.fixture
def dynamodb() -> Iterator[str]:
    """The address of moto's DynamoDB, which has what ``mock_aws`` has in this process."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with mock_aws():
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


def test_the_built_function_passes_every_check_of_make_smoke(dynamodb: str, capsys: pytest.CaptureFixture[str]) -> None:
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
