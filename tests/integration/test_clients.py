"""Official clients against the local server: OpenAI's and LangChain's, while the model writes, and MCP's.

MCP's is asked over HTTP and over stdin and stdout, in both revisions. At the end: the lines of docs/clients.md.
"""

import asyncio
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import permits
import pytest
import real_model
from fakes_llm import LlmServer, drip, noting_the_end
from functional.harness import SETTINGS
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from local_server import PROGRAM, Server, serving
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.slow

QUESTION = permits.QUESTION
ASKED: Any = [{"role": "user", "content": QUESTION}]
EVENTS = {"Content-Type": "application/json", "Accept": "text/event-stream"}
WAIT_S = 60
ELSEWHERE = "Who won the football world cup in 2018?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return permits.indexed(tmp_path_factory)


@pytest.fixture(scope="module")
def server(index: Path) -> Iterator[Server]:
    with serving(index) as server:
        yield server


@pytest.fixture(scope="module")
def llm() -> Iterator[LlmServer]:
    with LlmServer([drip(ended=False)]) as llm:
        yield llm


@pytest.fixture(scope="module")
def writing(index: Path, llm: LlmServer) -> Iterator[Server]:
    """A server whose model streams what a test lets it."""
    with serving(index, LLM_BASE_URL=llm.url, LLM_MAX_RETRIES="0") as server:
        yield server


def client_of(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"http://{server.address}/v1", api_key="x", max_retries=0)


@pytest.fixture
def client(server: Server) -> openai.OpenAI:
    return client_of(server)


def test_openais_client_asks_streams_and_lists(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["waypoint", "waypoint-sources"]
    plain = client.chat.completions.create(model="waypoint", messages=ASKED)
    assert plain.choices[0].message.content is not None
    assert "25 dollars" in plain.choices[0].message.content
    assert plain.model_extra is not None
    assert plain.model_extra["refused"] is False
    chunks = list(client.chat.completions.create(model="waypoint", messages=ASKED, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == plain.choices[0].message.content
    assert chunks[-1].model_extra is not None
    assert chunks[-1].model_extra["confidence"]["level"] in {"High", "Medium", "Low"}


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


def test_a_stream_that_breaks_off_loses_nothing_and_one_without_text_fails(writing: Server, llm: LlmServer) -> None:
    llm.play_next(drip("The licence costs", ended=False))
    stream = client_of(writing).chat.completions.create(model="x", messages=ASKED, stream=True)
    told = [choice.delta.content or "" for chunk in stream for choice in chunk.choices]
    assert "".join(told).startswith("The licence costs")
    llm.play_next(drip(ended=False))
    with pytest.raises(openai.APIError, match="LLM request failed"):
        list(client_of(writing).chat.completions.create(model="x", messages=ASKED, stream=True))


def test_langchain_asks_streams_and_goes_on(server: Server) -> None:
    chat = ChatOpenAI(base_url=f"http://{server.address}/v1", api_key="x", model="waypoint")  # type: ignore[arg-type]
    told = chat.invoke(QUESTION)
    assert "25 dollars" in str(told.content)
    assert "".join(str(chunk.content) for chunk in chat.stream(QUESTION)) == told.content
    assert [str(one.content) for one in chat.batch([QUESTION, QUESTION])] == [told.content] * 2
    turns = [HumanMessage(QUESTION), AIMessage(str(told.content)), HumanMessage("and who may sell it?")]
    assert "pharmacist" in str(chat.invoke(turns).content)


def test_the_first_text_is_there_before_the_model_writes_the_second(writing: Server, llm: LlmServer) -> None:
    go_on = threading.Event()
    llm.play_next(drip("The licence costs 25 dollars", go_on, " a year."))
    connection = http.client.HTTPConnection(writing.address, timeout=WAIT_S)
    connection.request("POST", "/api/query", json.dumps({"query": QUESTION}), EVENTS)
    response = connection.getresponse()
    assert response.getheader("Transfer-Encoding") == "chunked"
    assert b"event: sources\n" in lines_before(response, b"event: delta\n")
    assert json.loads(response.readline().removeprefix(b"data: ")) == {"text": "The licence costs 25"}
    go_on.set()
    assert b"event: answer" in response.read()
    connection.close()


def test_a_client_that_leaves_ends_the_models_call(writing: Server, llm: LlmServer) -> None:
    ended = threading.Event()
    llm.play_next(noting_the_end(drip("The licence costs", *[" and costs" for _ in range(200_000)]), ended))
    connection = http.client.HTTPConnection(writing.address, timeout=WAIT_S)
    connection.request("POST", "/api/query", json.dumps({"query": QUESTION}), EVENTS)
    lines_before(connection.getresponse(), b"event: delta\n")
    connection.close()
    assert ended.wait(WAIT_S)


def test_another_name_for_this_machine_is_refused(server: Server) -> None:
    status, told = server.request("GET", "/api/health", None, Host="evil.example")
    assert (status, told["code"]) == (403, "forbidden")
    assert server.request("GET", "/api/health", None, Host="localhost:3000")[0] == 200


def lines_before(response: http.client.HTTPResponse, line: bytes) -> list[bytes]:
    """The lines before ``line``, which is read too."""
    return list(iter(response.readline, line))


# The Model Context Protocol


@pytest.mark.parametrize(
    ("over", "mode"),
    [("http", "2026-07-28"), ("http", "legacy"), ("http", "auto"), ("stdio", "2026-07-28"), ("stdio", "legacy")],
)
def test_a_client_asks_searches_reads_and_is_told_what_is_wrong(
    server: Server, index: Path, over: str, mode: Any
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    program = StdioServerParameters(command=str(PROGRAM), args=["mcp", "--index", str(index)], env=clean)
    place = f"http://{server.address}/mcp" if over == "http" else stdio_client(program, errlog=sys.stderr)
    connecting: Any = Client(place, mode=mode)

    async def work() -> None:
        async with connecting as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["ask", "search"]
            answered = await client.call_tool("ask", {"question": QUESTION})
            assert answered.is_error is not True
            told = answered.structured_content
            assert told["refused"] is False
            assert told["answer"] in answered.content[0].text
            chunk = told["citations"][0]["chunkId"]
            read = await client.read_resource(f"chunk://{chunk}")
            assert told["citations"][0]["fullTitle"] in read.contents[0].text
            found = await client.call_tool("search", {"query": QUESTION, "k": 2})
            assert len(found.structured_content["passages"]) == 2
            assert found.structured_content["passages"][0]["id"] == chunk
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == ["chunk://{id}", "document://{id}"]
            told_of: list[str | None] = []

            async def heard(_: float, __: float | None, message: str | None) -> None:
                told_of.append(message)

            await client.call_tool("ask", {"question": QUESTION}, progress_callback=heard)
            assert told_of[:2] == ["searching", "reading"]
            document = (await client.list_resources()).resources[0]
            assert (await client.read_resource(document.uri)).contents[0].text.startswith("# ")
            [prompt] = (await client.list_prompts()).prompts
            asked = await client.get_prompt(prompt.name, {"question": QUESTION})
            assert QUESTION in asked.messages[0].content.text

            declined = await client.call_tool("ask", {"question": ELSEWHERE})
            assert (declined.is_error, declined.structured_content["refused"]) == (False, True)
            empty = await client.call_tool("ask", {"question": " "})
            assert (empty.is_error, empty.content[0].text) == (True, "Query cannot be empty")
            wrong = await client.call_tool("search", {"query": "x", "k": 99})
            assert wrong.is_error is True
            assert wrong.content[0].text == "Wrong arguments. k is missing or wrong: How many passages, 1 to 50."
            with pytest.raises(MCPError, match="no such tool"):
                await client.call_tool("delete", {})
            with pytest.raises(MCPError, match="no such chunk"):
                await client.read_resource("chunk://id_999999")

    asyncio.run(asyncio.wait_for(work(), 120))


# The lines of docs/clients.md, in Python and JavaScript, and clients made of the description


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
MODULES = ROOT / ".cache/javascript/node_modules"
LOCAL = "http://127.0.0.1:3000"
PAGE_QUESTION = "What does it cost to change an ocean booking?"
ANSWER = "free of charge until 72 hours before departure"


@pytest.fixture(scope="module")
def sample_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(real_model.sample_index("waypoint", tmp_path_factory)) as server:
        yield server


@pytest.fixture
def javascript(tmp_path: Path) -> Path:
    """A folder in which the modules of tests/integration/javascript can be imported."""
    if shutil.which("node") is None or not MODULES.with_name(".done").exists():
        pytest.skip("needs Node.js, and npm when `make test` sets up")
    (tmp_path / "node_modules").symlink_to(MODULES)
    return tmp_path


def lines_of_page(name: str, server: Server) -> str:
    """What the page says under ``name``, for ``server``."""
    found = re.search(rf"^\*\*{re.escape(name)}\*\*.*?^```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found, name
    assert LOCAL in found[1]
    assert PAGE_QUESTION in found[1]
    return found[1].replace(LOCAL, f"http://{server.address}")


def run_command(folder: Path, *command: str) -> str:
    """What the command prints; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["openai, Python", "LangChain"])
def test_the_lines_in_python(sample_server: Server, tmp_path: Path, name: str) -> None:
    (tmp_path / "ask.py").write_text(lines_of_page(name, sample_server), encoding="utf-8")
    assert ANSWER in run_command(tmp_path, sys.executable, "ask.py")


@pytest.mark.parametrize("name", ["openai, JavaScript", "Vercel AI SDK"])
def test_the_lines_in_javascript(sample_server: Server, javascript: Path, name: str) -> None:
    (javascript / "ask.mjs").write_text(lines_of_page(name, sample_server), encoding="utf-8")
    assert ANSWER in run_command(javascript, "node", "ask.mjs")


def test_a_python_client_made_of_the_description(sample_server: Server, tmp_path: Path) -> None:
    (tmp_path / "as-made.yaml").write_text("post_hooks: []", encoding="utf-8")  # ruff's mends would be checked too
    made = run_command(
        tmp_path, sys.executable, "-m", "openapi_python_client", "generate", "--config", "as-made.yaml",
        "--path", str(ROOT / "docs/openapi.json"), "--meta", "none", "--output-path", "ragclient",
    )  # fmt: skip
    assert "Warning" not in made
    (tmp_path / "ask.py").write_text(lines_of_page("Python", sample_server), encoding="utf-8")
    checked = run_command(tmp_path, sys.executable, "-m", "mypy", "--cache-dir", ".mypy", "ragclient", "ask.py")
    assert "no issues found" in checked
    assert ANSWER in run_command(tmp_path, sys.executable, "ask.py")


def test_a_typescript_client_made_of_the_description(sample_server: Server, javascript: Path) -> None:
    programs = MODULES / ".bin"
    run_command(javascript, str(programs / "openapi-typescript"), str(ROOT / "docs/openapi.json"), "--output", "api.ts")
    (javascript / "ask.mts").write_text(lines_of_page("TypeScript", sample_server), encoding="utf-8")
    run_command(javascript, str(programs / "tsc"), "--strict", "--module", "nodenext", "--target", "es2022", "ask.mts")
    assert ANSWER in run_command(javascript, "node", "ask.mjs")
