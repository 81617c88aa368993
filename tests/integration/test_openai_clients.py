"""The official openai client and LangChain against the local server, which streams while the model writes."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import openai
import permits
import pytest
from fakes_llm import Exchange, LlmServer, drip
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from local_server import Server, serving

pytestmark = pytest.mark.slow

QUESTION = permits.QUESTION
WAIT_S = 60


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return permits.indexed(tmp_path_factory)


@pytest.fixture(scope="module")
def server(index: Path) -> Iterator[Server]:
    with serving(index) as server:
        yield server


@pytest.fixture
def client(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"http://{server.address}/v1", api_key="x", max_retries=0)


def test_openais_client_asks_streams_and_lists(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["waypoint", "waypoint-sources"]
    asked = [{"role": "user", "content": QUESTION}]
    plain = client.chat.completions.create(model="waypoint", messages=asked)  # type: ignore[arg-type]
    assert plain.choices[0].message.content is not None
    assert "25 dollars" in plain.choices[0].message.content
    assert plain.model_extra is not None
    assert plain.model_extra["refused"] is False
    stream = client.chat.completions.create(model="waypoint", messages=asked, stream=True)  # type: ignore[arg-type]
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == plain.choices[0].message.content  # type: ignore[attr-defined]
    assert chunks[-1].model_extra["confidence"]["level"] in {"High", "Medium", "Low"}  # type: ignore[attr-defined]


def test_openais_asynchronous_client_asks(server: Server) -> None:
    async def ask() -> str | None:
        async with openai.AsyncOpenAI(base_url=f"http://{server.address}/v1", api_key="x") as client:
            asked = [{"role": "user", "content": QUESTION}]
            told = await client.chat.completions.create(model="waypoint", messages=asked)  # type: ignore[arg-type]
            return told.choices[0].message.content

    assert "25 dollars" in (asyncio.run(ask()) or "")


def test_errors_are_openais_own(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="cannot be empty") as wrong:
        client.chat.completions.create(model="waypoint", messages=[{"role": "user", "content": " "}])
    assert wrong.value.code == "empty_query"
    with pytest.raises(openai.BadRequestError, match="n is not supported") as formed:
        client.chat.completions.create(model="waypoint", messages=[{"role": "user", "content": QUESTION}], n=2)
    assert (formed.value.code, formed.value.param) == ("unsupported_parameter", "n")
    with pytest.raises(openai.NotFoundError, match="No such path") as missing:
        client.embeddings.create(model="waypoint", input="x")
    assert missing.value.code == "not_found"
    assert client.models.retrieve("gpt-4").id == "waypoint"


def test_openais_client_asks_for_responses(client: openai.OpenAI) -> None:
    plain = client.responses.create(model="waypoint", input=QUESTION)
    assert "25 dollars" in plain.output_text
    with client.responses.stream(model="waypoint", input=QUESTION) as stream:
        told = "".join(one.delta for one in stream if one.type == "response.output_text.delta")
        whole = stream.get_final_response()
    assert told == whole.output_text == plain.output_text
    asked = [{"role": "user", "content": QUESTION}, *plain.output, {"role": "user", "content": "and who may sell it?"}]
    assert "pharmacist" in client.responses.create(model="waypoint", input=asked).output_text  # type: ignore[arg-type]
    with pytest.raises(openai.BadRequestError, match="previous_response_id is not supported"):
        client.responses.create(model="waypoint", input="and then?", previous_response_id=plain.id)


def test_a_stream_that_breaks_off_loses_nothing(index: Path) -> None:
    with (
        LlmServer([drip("The licence costs", ended=False)]) as llm,
        serving(index, LLM_BASE_URL=llm.url) as server,
    ):
        client = openai.OpenAI(base_url=f"http://{server.address}/v1", api_key="x", max_retries=0)
        asked = [{"role": "user", "content": QUESTION}]
        stream = client.chat.completions.create(model="x", messages=asked, stream=True)  # type: ignore[arg-type]
        told = [choice.delta.content or "" for chunk in stream for choice in chunk.choices]  # type: ignore[union-attr]
    assert "".join(told).startswith("The licence costs")


def test_a_stream_that_fails_before_its_first_text_is_an_error(index: Path) -> None:
    with (
        LlmServer([drip(ended=False)]) as llm,
        serving(index, LLM_BASE_URL=llm.url, LLM_MAX_RETRIES="0") as server,
    ):
        client = openai.OpenAI(base_url=f"http://{server.address}/v1", api_key="x", max_retries=0)
        asked = [{"role": "user", "content": QUESTION}]
        with pytest.raises(openai.APIError, match="LLM request failed"):
            list(client.chat.completions.create(model="x", messages=asked, stream=True))  # type: ignore[arg-type]


def test_langchain_asks_streams_and_goes_on(server: Server) -> None:
    chat = ChatOpenAI(base_url=f"http://{server.address}/v1", api_key="x", model="waypoint")  # type: ignore[arg-type]
    told = chat.invoke(QUESTION)
    assert "25 dollars" in str(told.content)
    assert "".join(str(chunk.content) for chunk in chat.stream(QUESTION)) == told.content
    assert [str(one.content) for one in chat.batch([QUESTION, QUESTION])] == [told.content] * 2
    turns = [HumanMessage(QUESTION), AIMessage(str(told.content)), HumanMessage("and who may sell it?")]
    assert "pharmacist" in str(chat.invoke(turns).content)


def test_the_first_text_is_there_before_the_model_writes_the_second(index: Path) -> None:
    go_on = threading.Event()
    with (
        LlmServer([drip("The licence costs 25 dollars", go_on, " a year.")]) as llm,
        serving(index, LLM_BASE_URL=llm.url) as server,
    ):
        connection = http.client.HTTPConnection(server.address, timeout=WAIT_S)
        connection.request("POST", "/api/query", json.dumps({"query": QUESTION}), EVENTS)
        response = connection.getresponse()
        assert response.getheader("Transfer-Encoding") == "chunked"
        assert b"event: sources\n" in until(response, b"event: delta\n")
        assert json.loads(response.readline().removeprefix(b"data: ")) == {"text": "The licence costs 25"}
        go_on.set()
        assert b"event: answer" in response.read()
        connection.close()


def test_a_client_that_leaves_ends_the_models_call(index: Path) -> None:
    ended = threading.Event()

    def endless(exchange: Exchange) -> None:
        try:
            drip("The licence costs", *[" and costs" for _ in range(200_000)])(exchange)
        except OSError:
            ended.set()

    with LlmServer([endless]) as llm, serving(index, LLM_BASE_URL=llm.url) as server:
        connection = http.client.HTTPConnection(server.address, timeout=WAIT_S)
        connection.request("POST", "/api/query", json.dumps({"query": QUESTION}), EVENTS)
        until(connection.getresponse(), b"event: delta\n")
        connection.close()
        assert ended.wait(WAIT_S)


def test_another_name_for_this_machine_is_refused(server: Server) -> None:
    status, told = server.request("GET", "/api/health", None, Host="evil.example")
    assert (status, told["code"]) == (403, "forbidden")
    assert server.request("GET", "/api/health", None, Host="localhost:3000")[0] == 200


def until(response: http.client.HTTPResponse, line: bytes) -> list[bytes]:
    """The lines before ``line``, which is read too."""
    return list(iter(response.readline, line))


EVENTS = {"Content-Type": "application/json", "Accept": "text/event-stream"}
