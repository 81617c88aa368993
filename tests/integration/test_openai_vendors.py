"""The LLM adapter against what vendors stream, byte for byte in shape, and against the ways in which bytes may come."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fakes_chat import Chat, connecting
from fakes_llm import Exchange, Step, completion, drip, error, html, json_body, model_not_found, raw, reply

from rag.errors import LlmUnavailable
from rag.values.chat import Message, Usage

MESSAGES = (Message("user", "What needs a permit?"),)
TEXT = "Every import needs a permit."
USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}


@pytest.fixture
def chat() -> Iterator[Chat]:
    with connecting({"retries": 1}) as connect:
        yield Chat(connect, time.monotonic, MESSAGES)


def delta(
    content: object = None, *, finish: str | None = None, index: int | None = 0, **more: object
) -> dict[str, Any]:
    """One choice of an event."""
    said = {} if content is None else {"content": content}
    return {**({} if index is None else {"index": index}), "delta": {**said, **more}, "finish_reason": finish}


def event(*choices: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [*choices], **more}


def sse(*events: dict[str, Any] | str, done: bool = True) -> bytes:
    """A stream of these events; a text is sent as it is, as a block of its own."""
    blocks = [e if isinstance(e, str) else f"data: {json.dumps(e)}" for e in events]
    return "".join(f"{block}\n\n" for block in [*blocks, *(["data: [DONE]"] if done else [])]).encode()


HALVES = (event(delta("Every import ")), event(delta("needs a permit.")))
STOP = event(delta(finish="stop"))
TOTAL = event(usage=USAGE)
SAFE = {"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}

VENDORS = {
    "OpenAI": sse(event(delta("", role="assistant", refusal=None), obfuscation="x9"), *HALVES, STOP, TOTAL),
    "Groq": sse(
        event(delta("", role="assistant"), x_groq={"id": "req_1"}), *HALVES, STOP,
        event(delta(finish=None), x_groq={"id": "req_1", "usage": {**USAGE, "queue_time": 0.1}}), TOTAL,
    ),
    "Mistral": sse(
        event(delta("", role="assistant")), HALVES[0], event(delta("needs a permit.", finish="stop"), usage=USAGE),
    ),
    "Mistral's reasoning models": sse(
        event(delta([{"type": "thinking", "thinking": [{"type": "text", "text": "Which one?"}]}])),
        event(delta([{"type": "text", "text": "Every import "}])), HALVES[1], STOP, TOTAL,
    ),
    "OpenRouter": sse(
        ": OPENROUTER PROCESSING", ": OPENROUTER PROCESSING", event(delta("", role="assistant"), provider="P"), *HALVES,
        event({**delta("", finish="stop", role="assistant"), "native_finish_reason": "stop"}),
        event(delta("", role="assistant"), usage={**USAGE, "cost": 0.1}),
    ),
    "Azure's asynchronous filter": sse(
        {"choices": [], "created": 0, "id": "", "model": "", "object": ""}, *HALVES, STOP,
        event({"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 9}, **SAFE}),
        {**event({**SAFE, "index": 0, "finish_reason": None}), "model": ""}, TOTAL,
    ),
    "Gemini": sse(
        event(delta("Every import ", role="assistant"), usage={**USAGE, "completion_tokens": 2}),
        event(delta("needs a permit.", finish="stop", role="assistant"), usage=USAGE),
    ),
    "DeepSeek": sse(
        ": keep-alive", event(delta(None, role="assistant", reasoning_content="")),
        event({"index": 0, "delta": {"content": None, "reasoning_content": "Which one?"}, "finish_reason": None}),
        event({"index": 0, "delta": {"content": "Every import ", "reasoning_content": None}, "finish_reason": None}),
        HALVES[1], event(delta("", finish="stop", reasoning_content=None), usage=USAGE),
    ),
}  # fmt: skip

PLAIN = sse(event(delta("", role="assistant")), *HALVES, STOP, TOTAL)
FORMS = {
    "byte order mark": b"\xef\xbb\xbf" + sse(*HALVES, STOP, TOTAL),
    "CR LF": PLAIN.replace(b"\n", b"\r\n"),
    "CR": PLAIN.replace(b"\n", b"\r"),
    "no space": PLAIN.replace(b"data: ", b"data:"),
    "two lines": PLAIN.replace(b', "choices"', b',\ndata: "choices"'),
    "named events": b"retry: 100\n\n" + PLAIN.replace(b"data: ", b"id: 7\nevent: message\nx: y\ndata\ndata: "),
    "no end of the last line": PLAIN.removesuffix(b"\n\n"),
    "no [DONE]": PLAIN.removesuffix(b"data: [DONE]\n\n"),
    "other choices": sse(
        event(delta("No. ", index=1), delta("Every import ", index=0)), event(delta("Never.", finish="stop", index=1)),
        HALVES[1], STOP, TOTAL,
    ),
    "choices without a number": sse(
        event(delta("Every import ", index=None)), event(delta("needs a permit.", finish="stop", index=None)), TOTAL,
    ),
}  # fmt: skip


def stream(body: bytes) -> Step:
    return raw(200, body, kind="text/event-stream")


def bytewise(body: bytes) -> Step:
    """The stream in pieces of a byte each, as the network may cut it."""

    def step(exchange: Exchange) -> None:
        exchange.handler.send_response(200)
        exchange.handler.send_header("Content-Type", "text/event-stream")
        exchange.handler.send_header("Transfer-Encoding", "chunked")
        exchange.handler.end_headers()
        exchange.handler.wfile.write(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        exchange.hang_up()

    return step


@pytest.mark.parametrize(
    "step",
    [*map(stream, VENDORS.values()), *map(bytewise, FORMS.values()), stream(FORMS["CR LF"])],
    ids=[*VENDORS, *FORMS, "CR LF at once"],
)
def test_a_stream_is_read_as_its_vendor_means_it(chat: Chat, step: Step) -> None:
    made = chat.stream(step)
    assert len(chat.requests) == 1
    assert "".join(chat.heard) == made.text == TEXT
    assert (made.finish_reason, made.usage, made.model) == ("stop", Usage(12, 5, 17), "m")


@pytest.mark.parametrize(
    "body",
    [
        sse("event: error\ndata: {\"message\": \"overloaded\"}", done=False),
        sse({"error": {"code": 502, "message": "x"}, "choices": [delta("", finish="error")]}, done=False),
        sse(": OPENROUTER PROCESSING", done=False),
        sse(HALVES[0], done=False)[:-9],
    ],
    ids=["named error", "OpenRouter's error", "comments alone", "a torn event"],
)  # fmt: skip
def test_a_stream_that_its_vendor_ends_is_asked_for_again(chat: Chat, body: bytes) -> None:
    made = chat.stream(stream(body), stream(PLAIN))
    assert (made.text, made.retries) == (TEXT, 1)


NO_COMPLETION = {
    "a page": (html(), False),
    "a page as text": (reply("<html>\r\n<head><title>502 Bad Gateway</title></head>"), False),
    "no choices": (json_body({**completion("x"), "choices": []}), False),
    "filtered": (reply("", finish_reason="content_filter"), False),
    "422": (error(422), False),
    "a page, streamed": (html(), True),
    "a page as a stream": (drip("<htm", "l>\r\n<head><title>", "502 Bad Gateway</title>"), True),
    "dots, streamed": (reply("..."), True),
    "nothing, streamed": (raw(200, b""), True),
    "an error, streamed": (json_body({"error": {"message": "overloaded"}}), True),
    "400, streamed": (error(400), True),
}
"""All of them yield no completion from a model; none of them says that the next one has none."""


@pytest.mark.parametrize(("step", "streamed"), NO_COMPLETION.values(), ids=NO_COMPLETION)
def test_what_yields_no_completion_falls_back_to_the_next_model_and_is_unavailable_then(
    chat: Chat, step: Step, streamed: bool
) -> None:
    def only_second(exchange: Exchange) -> None:
        (reply(TEXT) if exchange.request.json["model"] == "second" else step)(exchange)

    asked: dict[str, Any] = {"fallback_models": ("second",), "on_text": chat.heard.append if streamed else None}
    made = chat.ask(only_second, **asked)
    assert chat.models == ["first", "second"]
    assert (made.text, made.calls, made.retries, chat.model.model) == (TEXT, 2, 0, "first")

    failed = chat.fail(step, kind=LlmUnavailable, **asked)
    assert chat.models == ["first", "second"]
    assert (failed.code, chat.model.last_error, failed.spent.calls) == ("llm_unavailable", str(failed), 2)


@pytest.mark.parametrize("gone", [error(422), model_not_found("first")], ids=["refused", "not there"])
def test_a_retry_asks_the_model_that_was_fallen_back_to(chat: Chat, gone: Step) -> None:
    made = chat.ask(gone, error(503), reply(TEXT), fallback_models=("second",))
    assert chat.models == ["first", "second", "second"]
    assert (made.text, made.calls, made.retries) == (TEXT, 3, 1)
