"""An embedding model behind an API that fails: what callers of each protocol are told."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes_llm import LlmServer, Step, error, html, moved
from functional.harness import REMOTE, Api, post, starting

QUESTION = "How much is demurrage?"
SENTENCE = "Pipeline error: The embedding model cannot be reached"
OUTAGE = {"error": SENTENCE, "code": "embedder_unavailable"}


@pytest.fixture
def embedder() -> Iterator[LlmServer]:
    with LlmServer(embed=[]) as server:
        yield server


@pytest.fixture
def api(embedder: LlmServer, remote_index: Path) -> Iterator[Api]:
    with starting(remote_index) as start:
        yield start(**REMOTE, EMBED_BASE_URL=embedder.url)


def fails(embedder: LlmServer, step: Step) -> None:
    embedder.embed_next([step] * 9)


@pytest.mark.parametrize("step", [error(401), error(503), html(404), moved(307, "/v1/x")])
def test_an_outage_says_whose_it_is(api: Api, embedder: LlmServer, step: Step) -> None:
    fails(embedder, step)
    result = api.ask(QUESTION)
    assert (result.status, result.json) == (503, OUTAGE)
    [line] = [line for line in result.metrics if "Errors" in line]
    assert line["code"] == "embedder_unavailable"


def test_a_refused_request_is_no_outage(api: Api, embedder: LlmServer) -> None:
    fails(embedder, error(400))
    result = api.ask(QUESTION)
    assert (result.status, result.json) == (
        500,
        {"error": "Pipeline error: Retrieval failed", "code": "pipeline_error"},
    )


def test_every_protocol_says_it(api: Api, embedder: LlmServer) -> None:
    fails(embedder, error(401))

    def called(tool: str, **arguments: str) -> Any:
        params = {"name": tool, "arguments": arguments}
        return api.send("/mcp", jsonrpc="2.0", id=1, method="tools/call", params=params).json["result"]

    asked = api.send("/v1/query", question=QUESTION)
    assert (asked.status, asked.json) == (503, OUTAGE)
    chat = api.send("/v1/chat/completions", model="waypoint", messages=[{"role": "user", "content": QUESTION}])
    assert (chat.status, chat.json["error"]["message"]) == (503, SENTENCE)
    assert chat.json["error"]["code"] == "embedder_unavailable"
    streamed = api.call(post({"query": QUESTION}, headers={"Accept": "text/event-stream"}))
    assert streamed.status == 503
    assert f"data: {json.dumps(OUTAGE, separators=(',', ':'))}" in streamed.text
    for result in (called("ask", question=QUESTION), called("search", query=QUESTION)):
        assert (result["isError"], result["content"][0]["text"]) == (True, SENTENCE)
