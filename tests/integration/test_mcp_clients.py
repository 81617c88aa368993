"""The official MCP client against the local server, over HTTP and over stdin and stdout, in both revisions."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import permits
import pytest
from functional.harness import SETTINGS
from local_server import PROGRAM, Server, serving
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.slow

MODES = ("2026-07-28", "legacy", "auto")
QUESTION = permits.QUESTION
ELSEWHERE = "Who won the football world cup in 2018?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return permits.indexed(tmp_path_factory)


@pytest.fixture(scope="module")
def server(index: Path) -> Iterator[Server]:
    with serving(index) as server:
        yield server


@pytest.fixture(params=["http", "stdio"])
def connect(request: pytest.FixtureRequest, server: Server, index: Path) -> Callable[[str], Any]:
    """Makes a client of the given mode."""

    def make(mode: str) -> Any:
        if request.param == "http":
            return Client(f"http://{server.address}/mcp", mode=mode)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        started = StdioServerParameters(command=str(PROGRAM), args=["mcp", "--index", str(index)], env=clean)
        return Client(stdio_client(started, errlog=sys.stderr), mode=mode)

    return make


def run[T](work: Callable[[], Awaitable[T]]) -> T:
    return asyncio.run(asyncio.wait_for(work(), 120))


@pytest.mark.parametrize("mode", MODES)
def test_a_client_asks_searches_reads_and_is_told_what_is_wrong(connect: Callable[[str], Any], mode: str) -> None:
    async def work() -> None:
        async with connect(mode) as client:
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
            assert (wrong.is_error, wrong.content[0].text) == (
                True,
                "Wrong arguments. k is missing or wrong: How many passages, 1 to 50.",
            )
            with pytest.raises(MCPError, match="no such tool"):
                await client.call_tool("delete", {})
            with pytest.raises(MCPError, match="no such chunk"):
                await client.read_resource("chunk://id_999999")

    run(work)
