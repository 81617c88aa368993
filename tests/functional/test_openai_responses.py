"""POST /v1/responses, held to the types of OpenAI's own client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes_llm import LlmServer, drip, error
from functional.harness import IN_SCOPE, OUT_OF_SCOPE, Api, Reply, Start, rest_event
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def respond(api: Api, asked: Any, **fields: Any) -> Reply:
    return api.call(rest_event("POST", "/v1/responses", json.dumps({"model": "waypoint", "input": asked, **fields})))


def events(told: Reply) -> list[Any]:
    blocks = [block.split("\n") for block in told.text.split("\n\n") if block.startswith("event: ")]
    read = [EVENT.validate_json(data.removeprefix("data: ")) for _, data in blocks]
    assert [name.removeprefix("event: ") for name, _ in blocks] == [one.type for one in read]
    assert [one.sequence_number for one in read] == list(range(len(read)))
    return read


def test_an_answer_is_a_response_that_nobody_keeps(api: Api) -> None:
    plain = api.ask(IN_SCOPE).json
    told = respond(api, IN_SCOPE, instructions="Be short.", store=True, metadata={"a": "b"}, temperature=0)
    response = Response.model_validate(told.json)
    assert (response.status, response.output_text) == ("completed", plain["answer"])
    assert (response.instructions, response.metadata) == ("Be short.", {"a": "b"})
    assert told.json["store"] is False
    assert response.id == f"resp_{told.json['responseId']}"
    citation, *_ = told.json["output"][0]["content"][0]["annotations"]
    assert (citation["type"], citation["title"]) == ("url_citation", plain["citations"][0]["fullTitle"])
    assert plain["answer"][citation["start_index"] : citation["end_index"]] == plain["citations"][0]["raw"]


def test_the_input_may_be_a_conversation(api: Api) -> None:
    first = respond(api, "What does it cost to change an ocean booking?").json
    follow = {"role": "user", "content": [{"type": "input_text", "text": "and how late is it free?"}]}
    asked = [
        {"role": "developer", "content": "Talk like a pirate."},
        {"role": "user", "content": "What does it cost to change an ocean booking?"},
        *first["output"],
        follow,
    ]
    assert "72 hours" in respond(api, asked).json["output"][0]["content"][0]["text"]
    assert respond(api, OUT_OF_SCOPE).json["refused"] is True


def test_a_stream_has_the_events_of_the_protocol(with_llm: Start) -> None:
    with LlmServer([drip("You need ", "three papers [Nowhere].")]) as server:
        told = respond(with_llm(server), IN_SCOPE, stream=True)
    assert (told.status, told.headers["content-type"]) == (200, "text/event-stream")
    read = events(told)
    kinds = [one.type.removeprefix("response.") for one in read]
    texts = kinds.count("output_text.delta")
    assert kinds == [
        "created", "in_progress", "output_item.added", "content_part.added", *["output_text.delta"] * texts,
        "output_text.annotation.added", "output_text.done", "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    done = read[-1].response
    assert "".join(one.delta for one in read[4 : 4 + texts]) == read[-4].text == done.output_text
    assert done.usage.total_tokens == 17
    assert {one.response.id for one in (*read[:2], read[-1])} == {done.id}
    assert json.loads(told.text.split("data: ")[-1])["response"]["confidence"]["level"] == "Low"


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"input": []}, "invalid_parameter", "input"),
        ({"input": [{"role": "system", "content": "x"}]}, "invalid_parameter", "input"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "invalid_parameter", "input"),
        ({"input": " "}, "empty_query", "input"),
        ({"input": "x" * 8001}, "context_length_exceeded", "input"),
        ({"input": "x", "previous_response_id": "resp_1"}, "unsupported_parameter", "previous_response_id"),
        ({"input": "x", "conversation": "conv_1"}, "unsupported_parameter", "conversation"),
        ({"input": "x", "background": True}, "unsupported_parameter", "background"),
        ({"input": "x", "tool_choice": "required"}, "unsupported_parameter", "tool_choice"),
        ({"input": "x", "text": {"format": {"type": "json_object"}}}, "unsupported_parameter", "text"),
    ],
)
def test_what_is_wrong_is_named(api: Api, fields: dict[str, Any], code: str, param: str) -> None:
    told = api.call(rest_event("POST", "/v1/responses", json.dumps(fields)))
    said = told.json["error"]
    assert (told.status, said["type"], said["code"], said["param"]) == (400, "invalid_request_error", code, param)


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_is_away_is_a_server_error(with_llm: Start, stream: bool) -> None:
    with LlmServer([error(503)]) as server:
        told = respond(with_llm(server, LLM_MAX_RETRIES="0"), IN_SCOPE, stream=stream)
    assert (told.status, told.json["error"]["type"]) == (503, "server_error")
