"""POST /mcp from the handler: what tools say of answers, of errors, and who is refused."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from fakes_llm import error
from functional.harness import IN_SCOPE, OUT_OF_SCOPE, Api, Reply, Start, rest_event

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Host": "abc.test"}


def send(api: Api, method: str, *, headers: dict[str, str] | None = None, **params: Any) -> Reply:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return api.call(rest_event("POST", "/mcp", json.dumps(message), headers={**HEADERS, **(headers or {})}))


def call(api: Api, tool: str, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = send(api, "tools/call", name=tool, arguments=arguments).json["result"]
    return result


def test_an_answer_keeps_to_the_schema_that_the_tool_promises(api: Api) -> None:
    tools = {tool["name"]: tool for tool in send(api, "tools/list").json["result"]["tools"]}
    for tool, arguments in (("ask", {"question": IN_SCOPE}), ("search", {"query": IN_SCOPE})):
        jsonschema.validate(arguments, tools[tool]["inputSchema"])
        result = call(api, tool, **arguments)
        jsonschema.validate(result["structuredContent"], tools[tool]["outputSchema"])
        assert result["isError"] is False
    plain = api.ask(IN_SCOPE).json
    told = call(api, "ask", question=IN_SCOPE)
    assert told["structuredContent"]["answer"] == plain["answer"]
    assert f"Confidence: {plain['confidence']['level']}" in told["content"][0]["text"]
    assert plain["citationsMarkdown"] in told["content"][0]["text"]


def test_a_decline_is_a_result_and_asks_no_model(with_llm: Start) -> None:
    api = with_llm(error(500))
    result = call(api, "ask", question=OUT_OF_SCOPE)
    assert api.llm.requests == []
    assert (result["isError"], result["structuredContent"]["refused"]) == (False, True)


def test_filters_are_a_wall_and_no_word_of_the_question_is_logged(api: Api) -> None:
    arguments = {"question": f"{IN_SCOPE} zebra", "filters": {"category": "no such category"}}
    told = send(api, "tools/call", name="ask", arguments=arguments)
    assert told.json["result"]["structuredContent"]["refused"] is True
    assert "zebra" not in told.output


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("ask", {"question": " "}, "Query cannot be empty"),
        ("ask", {}, "Wrong arguments. question is missing or wrong: The question, complete in itself, in plain words."),
        ("ask", {"question": "x", "colour": "red"}, "Wrong arguments. Accepted are question, filters"),
        ("search", {"query": "x", "k": 0}, "Wrong arguments. k is missing or wrong: How many passages, 1 to 50."),
    ],
)
def test_what_a_model_can_mend_is_told_in_the_result(
    api: Api, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    result = call(api, tool, **arguments)
    assert (result["isError"], result["content"][0]["text"]) == (True, sentence)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Origin": "https://evil.example"}, 403, "forbidden"),
        ({"Accept": "text/html"}, 406, "not_acceptable"),
        ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
    ],
)
def test_who_is_refused(api: Api, headers: dict[str, str], status: int, code: str) -> None:
    told = send(api, "ping", headers=headers)
    assert (told.status, told.json["code"]) == (status, code)
    assert send(api, "ping", headers={"Origin": "https://abc.test"}).status == 200  # its own page


def test_a_notification_is_accepted_without_a_word_and_there_is_no_stream_and_no_session(api: Api) -> None:
    body = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    told = api.call(rest_event("POST", "/mcp", body, headers=HEADERS))
    assert (told.status, told.text) == (202, "")
    for method in ("GET", "DELETE"):
        told = api.call(rest_event(method, "/mcp", headers=HEADERS))
        assert (told.status, told.headers["allow"]) == (405, "POST")


def test_a_model_is_told_what_the_documents_are_about(api: Api) -> None:
    said = send(api, "initialize", protocolVersion="2025-11-25").json["result"]
    assert said["capabilities"].keys() == {"tools", "resources", "prompts"}
    assert "a fixed set of 28 documents" in said["instructions"]
    ask, search = send(api, "tools/list").json["result"]["tools"]
    for tool in (ask, search):
        assert "Their categories: " in tool["description"]
        filters, _ = tool["inputSchema"]["properties"]["filters"]["anyOf"]
        categories = filters["properties"]["category"]["anyOf"][0]["enum"]
        assert ", ".join(categories) in said["instructions"]
    found = call(api, "search", query="booking", filters={"category": categories[0]})["structuredContent"]["passages"]
    assert found
    listed = send(api, "resources/list").json["result"]["resources"]
    of_category = {one["title"] for one in listed if one["name"].endswith(f"({categories[0]})")}
    assert {one["title"] for one in found} <= of_category


def test_documents_are_listed_and_read(api: Api) -> None:
    listed = send(api, "resources/list").json["result"]
    assert len(listed["resources"]) == 28
    assert "nextCursor" not in listed
    uri = listed["resources"][0]["uri"]
    [whole] = send(api, "resources/read", uri=uri).json["result"]["contents"]
    [first] = send(api, "resources/read", uri=uri.replace("document://", "chunk://")).json["result"]["contents"]
    assert first["text"].split("\n\n", 1)[1] in whole["text"]
    assert len(whole["text"]) > len(first["text"])
    assert send(api, "resources/list", cursor="x").json["error"]["code"] == -32602
    assert send(api, "resources/read", uri="document://id_999999").json["error"]["code"] == -32602
    elsewhere = send(api, "resources/read", uri="file:///etc/passwd").json["error"]
    assert (elsewhere["code"], elsewhere["data"]) == (-32602, {"uri": "file:///etc/passwd"})


def test_the_prompt_holds_the_question(api: Api) -> None:
    [prompt] = send(api, "prompts/list").json["result"]["prompts"]
    told = send(api, "prompts/get", name=prompt["name"], arguments={"question": IN_SCOPE}).json["result"]
    assert IN_SCOPE in told["messages"][0]["content"]["text"]
    assert send(api, "prompts/get", name=prompt["name"]).json["error"]["code"] == -32602
