"""POST /v1/chat/completions, POST /v1/responses and GET /v1/models, as OpenAI's clients speak."""

import json
from typing import Any

import pytest
from fakes_llm import drip, error, reply
from functional.harness import DECLINE, IN_SCOPE, OUT_OF_SCOPE, SAID, Api, Json, Reply, Start, rest_event
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter


def chat(api: Api, *messages: tuple[str, Any], **fields: Any) -> Reply:
    said = [{"role": role, "content": content} for role, content in messages]
    return api.send("/v1/chat/completions", **{"model": "waypoint", "messages": said, **fields})


def chunks(told: Reply) -> list[dict[str, Any]]:
    *data, done = [line.removeprefix("data: ") for line in told.text.split("\n\n") if line.startswith("data: ")]
    assert done == "[DONE]"
    return [json.loads(one) for one in data]


def test_an_answer_is_a_completion_with_its_sources_beside_it(api: Api) -> None:
    plain = api.ask(IN_SCOPE).json
    body = chat(api, ("system", "Talk like a pirate."), ("user", IN_SCOPE)).json
    [choice] = body["choices"]
    assert choice["message"].pop("annotations")
    assert choice["message"] == {"role": "assistant", "content": plain["answer"], "refusal": None}
    assert (choice["finish_reason"], body["object"], body["model"]) == ("stop", "chat.completion", "waypoint")
    assert body["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    for name in ("citations", "references", "sources", "confidence", "refused", "partial"):
        assert body[name] == plain[name]
    assert body["id"] == f"chatcmpl-{body['responseId']}"
    decline = chat(api, ("user", OUT_OF_SCOPE)).json
    assert (decline["choices"][0]["message"]["content"], decline["refused"]) == (DECLINE, True)


def test_the_conversation_before_is_understood(with_llm: Start) -> None:
    api = with_llm(reply("Which documents are needed for export?"), reply(SAID))
    chat(api, ("user", IN_SCOPE), ("assistant", SAID), ("user", "And for export?"))
    rewriting = api.llm.requests[0].json["messages"][0]["content"]
    assert (IN_SCOPE in rewriting, "And for export?" in rewriting) == (True, True)


def test_a_stream_begins_with_the_role_and_ends_with_what_is_beside_the_text(with_llm: Start) -> None:
    image = ("![the invoice](", "https://evil.example/?q=1", ") ")  # which a program would load
    api = with_llm(drip("You need ", "three papers: ", *image, "and the packing list [Nowhere]."))
    told = chat(api, ("user", IN_SCOPE), stream=True, stream_options={"include_usage": True})
    assert "evil.example" not in told.text
    assert (told.status, told.headers["content-type"]) == (200, "text/event-stream")
    first, *texts, cited, last, usage = chunks(told)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    # The mark of what was not found is never shown; the check puts that of the passage that says so.
    shown = "".join(one["choices"][0]["delta"]["content"] for one in texts)
    assert shown == f"You need three papers: the invoice and the packing list. {last['citations'][0]['raw']}"
    [annotation] = cited["choices"][0]["delta"]["annotations"]
    assert shown[annotation["url_citation"]["start_index"] :] == last["citations"][0]["raw"]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["confidence"]["level"] == "Low"
    assert "answer" not in last
    assert (usage["choices"], usage["usage"]["total_tokens"]) == ([], 17)
    assert len({one["id"] for one in (first, *texts, cited, last, usage)}) == 1


def test_quotes_follow_a_streamed_text_that_no_document_supports(with_llm: Start) -> None:
    sung = "Purple whales sing for nine days."
    api = with_llm(drip(sung), drip(sung), reply(sung))
    _, *texts, _, last = chunks(chat(api, ("user", IN_SCOPE), stream=True))
    read = events(respond(api, IN_SCOPE, stream=True))
    plain = chat(api, ("user", IN_SCOPE)).json["choices"][0]["message"]["content"]
    streamed = f"{sung}\n\nNothing of this is in the documents.\n\n{plain}"
    assert plain == last["answer"] == read[-1].response.output_text
    assert plain.startswith("This may not be what you asked for:")
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in texts) == streamed
    assert "".join(one.delta for one in read if one.type == "response.output_text.delta") == streamed


def test_the_model_with_sources_ends_with_them(api: Api) -> None:
    body = chat(api, ("user", IN_SCOPE), model="waypoint-sources").json
    assert body["model"] == "waypoint-sources"
    text = body["choices"][0]["message"]["content"]
    assert "\n\n**Sources**\n\n1. [Singapore Import Permits and TradeNet" in text
    streamed = chunks(chat(api, ("user", IN_SCOPE), model="waypoint-sources", stream=True))
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in streamed) == text


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, "invalid_json"),
        ('{"messages": [{"role": "system", "content": "x"}]}', 400, "invalid_parameter"),
        ('{"messages": [{"role": "user", "content": ""}]}', 400, "empty_query"),
        ('{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}', 400, "invalid_parameter"),
        (json.dumps({"messages": [{"role": "user", "content": "x" * 8001}]}), 400, "context_length_exceeded"),
        ('{"messages": [{"role": "user", "content": "x"}], "stream": 1}', 400, "invalid_parameter"),
        (json.dumps({"messages": [{"role": "user", "content": "x" * 1_100_000}]}), 413, "body_too_large"),
    ],
)
def test_errors_have_openais_shape(api: Api, body: str, status: int, code: str) -> None:
    told = api.call(rest_event("POST", "/v1/chat/completions", body))
    assert told.status == status
    assert told.json["error"].keys() == {"message", "type", "param", "code"}
    assert (told.json["error"]["type"], told.json["error"]["code"]) == ("invalid_request_error", code)


@pytest.mark.parametrize("stream", [False, True])
def test_an_empty_question_is_named_in_the_protocol_s_words_and_a_model_that_is_away_is_a_server_error(
    with_llm: Start, stream: bool
) -> None:
    api = with_llm(error(503), LLM_MAX_RETRIES="0")
    empty = chat(api, ("user", " "), stream=stream)
    assert (empty.status, empty.json["error"]["message"]) == (400, "The last message of the user cannot be empty")
    for told in (chat(api, ("user", IN_SCOPE), stream=stream), respond(api, IN_SCOPE, stream=stream)):
        assert (told.status, told.json["error"]["type"]) == (503, "server_error")
        assert told.json["error"]["message"] == "Pipeline error: LLM request failed"


def test_parts_of_text_are_one_question_and_what_only_tunes_is_ignored(api: Api) -> None:
    parts = [{"type": "text", "text": "Which documents do you need"}, {"type": "text", "text": IN_SCOPE}]
    tuned = {"n": 1, "response_format": {"type": "text"}, "tools": [], "tool_choice": "auto", "logprobs": False}
    more = {"temperature": 2, "max_tokens": 1, "stop": "a", "seed": 7, "user": "me", "model": "gpt-4o-mini"}
    none = {"function_call": "none", "modalities": ["text"]}
    # What an assistant was about to say is no question either.
    body = chat(api, ("user", parts), ("assistant", "Well, "), **tuned, **more, **none).json
    assert (body["model"], body["refused"]) == ("waypoint", False)


def test_a_long_conversation_is_cut_and_a_pasted_mail_is_a_question(api: Api) -> None:
    before = [(role, f"{number} " + "x" * 2000) for number in range(200) for role in ("user", "assistant")]
    mail = f"{'Good morning, we have a shipment under way. ' * 150}{IN_SCOPE}"
    assert chat(api, *before, ("user", mail)).status == 200
    assert (len(mail) > 6000, api.ask(mail).status) == (True, 400)


def test_the_models_are_the_profile_and_itself_with_sources(api: Api) -> None:
    listed = api.get("/v1/models").json
    assert [one["id"] for one in listed["data"]] == ["waypoint", "waypoint-sources"]
    assert api.get("/v1/models/waypoint").json["object"] == "model"
    # As for what asks: any other name means the profile.
    assert api.get("/v1/models/gpt-4").json["id"] == "waypoint"


@pytest.mark.parametrize(
    ("param", "value"),
    [
        ("n", 2),
        ("logprobs", True),
        ("top_logprobs", 3),
        ("response_format", {"type": "json_object"}),
        ("tool_choice", "required"),
        ("function_call", {"name": "x"}),
        ("modalities", ["text", "audio"]),
    ],
)
def test_what_would_change_the_result_s_form_is_refused_by_name(api: Api, param: str, value: Any) -> None:
    told = chat(api, ("user", IN_SCOPE), **{param: value})
    said = told.json["error"]
    assert (told.status, said["code"], said["param"]) == (400, "unsupported_parameter", param)
    assert said["message"].startswith(f"{param} is not supported")


def test_side_tasks_of_open_webui_get_an_empty_object_and_its_questions_are_asked(with_llm: Start) -> None:
    api = with_llm(reply(SAID))

    def ask(text: str, **headers: str) -> Json:
        body = json.dumps({"messages": [{"role": "user", "content": text}], "max_completion_tokens": 1000})
        message = api.call(rest_event("POST", "/v1/chat/completions", body, headers=headers)).json
        return {"text": message["choices"][0]["message"]["content"], "calls": len(api.llm.requests)}

    title = f"### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: {IN_SCOPE}\n</chat_history>"
    assert ask(title) == {"text": "{}", "calls": 0}
    assert ask("In welchem Ton ist das?", **{"X-OpenWebUI-Task": "emoji"}) == {"text": "{}", "calls": 0}
    templated = f"### Task:\nRespond to the query.\n<context>\n</context>\n{IN_SCOPE}"
    assert ask(templated, **{"X-OpenWebUI-Task": "{{TASK}}"})["calls"] == 1


def test_all_of_the_protocol_s_addresses_err_in_its_shape(api: Api) -> None:
    for method, path, status, code in (
        ("POST", "/v1/embeddings", 404, "not_found"),
        ("GET", "/v1/responses/resp_1", 404, "not_found"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("POST", "/v1/models", 405, "method_not_allowed"),
    ):
        told = api.call(rest_event(method, path, "{}"))
        said = told.json["error"]
        assert (told.status, said["code"], said["type"]) == (status, code, "invalid_request_error")
    assert isinstance(api.get("/v1/query").json["error"], str)


EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def respond(api: Api, asked: Any, **fields: Any) -> Reply:
    return api.send("/v1/responses", **{"model": "waypoint", "input": asked, **fields})


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
    api = with_llm(drip("You need ", "three papers: the invoice and the packing list [Nowhere]."))
    told = respond(api, IN_SCOPE, stream=True)
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
    told = api.send("/v1/responses", **fields)
    said = told.json["error"]
    assert (told.status, said["type"], said["code"], said["param"]) == (400, "invalid_request_error", code, param)
