"""POST /api/query as server-sent events, from the handler: with a stream to write to, and as one body."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest
from fakes_llm import LlmServer, drip, error, reply
from functional.harness import DECLINE, IN_SCOPE, OUT_OF_SCOPE, SAID, Api, Context, Event, Reply, Start, post

HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream", "Host": "abc.execute-api.test"}
PIECES = ("You need three papers: ", "the commercial invoice, the packing list and the bill of lading ", SAID[87:])


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream, (name, data), comments left out."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith(":")]
        if lines:
            assert lines[0].startswith("event: "), block
            assert lines[1].startswith("data: "), block
            found.append((lines[0][7:], json.loads(lines[1][6:])))
    return found


def asked(query: object, **fields: Any) -> Event:
    return post({"query": query, **fields}, headers=HEADERS)


def deltas(text: str) -> str:
    return "".join(data["text"] for name, data in events(text) if name == "delta")


class Stream:
    """A ``ResponseStream`` that keeps what it gets; ``heard`` is set with the first text."""

    def __init__(self, *, gone_after: int | None = None) -> None:
        self.opened = False
        self.head: tuple[int, dict[str, str]] | None = None
        self.parts: list[bytes] = []
        self.heard = threading.Event()
        self._gone_after = gone_after

    def open(self, status: int, headers: dict[str, str]) -> None:
        self.opened, self.head = True, (status, dict(headers))

    def write(self, data: bytes) -> None:
        from rag.errors import ClientGone

        self.parts.append(data)
        self.heard.set()
        if self._gone_after is not None and len(self.parts) > self._gone_after:
            raise ClientGone

    @property
    def text(self) -> str:
        return b"".join(self.parts).decode()


class StreamingContext(Context):
    """A context of a runtime that can stream."""

    response_stream: Stream


def streamed(api: Api, event: Event, stream: Stream) -> object:
    context = StreamingContext()
    object.__setattr__(context, "response_stream", stream)
    return api.app.lambda_handler(event, context)


def test_the_text_comes_while_the_model_writes_and_the_answer_in_the_end(with_llm: Start) -> None:
    stream = Stream()
    with LlmServer([drip(PIECES[0], stream.heard, *PIECES[1:])]) as server:
        # The model goes on only after the first piece has been handed over.
        assert streamed(with_llm(server), asked(IN_SCOPE), stream) is None
    assert stream.head is not None
    assert stream.head[0] == 200
    assert stream.head[1]["Content-Type"] == "text/event-stream"
    *texts, last = events(stream.text)
    assert "".join(data["text"] for _, data in texts) == "".join(PIECES)
    assert len(texts) == 3
    assert last[0] == "answer"
    assert last[1]["answer"].startswith("You need three papers")
    assert last[1]["metadata"]["model"] == "served-model"


def test_without_a_stream_the_same_events_are_one_body(with_llm: Start) -> None:
    with LlmServer([drip(*PIECES)]) as server:
        reply_ = with_llm(server).call(asked(IN_SCOPE))
    assert (reply_.status, reply_.headers["content-type"]) == (200, "text/event-stream")
    assert deltas(reply_.text) == "".join(PIECES)
    assert [name for name, _ in events(reply_.text)] == ["delta"] * 3 + ["answer"]


def test_the_answer_is_that_of_a_plain_request(api: Api) -> None:
    plain, as_events = api.ask(IN_SCOPE).json, api.call(asked(IN_SCOPE))
    delta, answer = events(as_events.text)
    assert delta == ("delta", {"text": plain["answer"]})
    for body in (plain, answer[1]):
        body.pop("responseId")
        body["metadata"].pop("timings")
        body["metadata"].pop("latencyMs")
    assert answer == ("answer", plain)


def test_a_refusal_is_held_back_and_told_at_once(with_llm: Start) -> None:
    with LlmServer([drip(*re.findall(r"\S+\s*", DECLINE))]) as server:
        told = events(with_llm(server).call(asked(IN_SCOPE)).text)
    assert [name for name, _ in told] == ["delta", "answer"]
    assert told[1][1]["refused"] is True


def test_nothing_found_asks_no_model(with_llm: Start) -> None:
    with LlmServer([reply("x")]) as server:
        told = events(with_llm(server).call(asked(OUT_OF_SCOPE)).text)
        assert server.requests == []
    assert told[0] == ("delta", {"text": DECLINE})
    assert told[1][1]["refused"] is True


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"query": ""}', 400, "empty_query"),
        ("{", 400, "invalid_json"),
        ('{"query": "x", "topK": 0}', 400, "invalid_parameter"),
    ],
)
def test_what_is_wrong_with_a_request_is_an_event_with_its_status(api: Api, body: str, status: int, code: str) -> None:
    refused = api.call(post(body, headers=HEADERS))
    assert (refused.status, refused.headers["content-type"]) == (status, "text/event-stream")
    [(name, told)] = events(refused.text)
    assert (name, told["code"]) == ("error", code)


def test_a_model_that_fails_before_its_first_word_has_a_status(with_llm: Start) -> None:
    stream = Stream()
    with LlmServer([error(503)]) as server:
        response: Any = streamed(with_llm(server, LLM_MAX_RETRIES="0"), asked(IN_SCOPE), stream)
    assert not stream.opened
    assert response["statusCode"] == 503
    [(name, told)] = events(response["body"])
    assert (name, told["code"]) == ("error", "llm_unavailable")


def test_a_model_that_breaks_off_is_told_in_the_stream(with_llm: Start) -> None:
    stream = Stream()
    with LlmServer([drip("You need three papers", ended=False)]) as server:
        api = with_llm(server)
        assert streamed(api, asked(IN_SCOPE), stream) is None
        assert len(server.requests) == 1
    assert events(stream.text)[-1] == (
        "error",
        {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"},
    )


def test_a_client_that_has_gone_ends_it_all(with_llm: Start) -> None:
    stream = Stream(gone_after=0)
    with LlmServer([drip("You need", *[" more" for _ in range(10_000)])]) as server:
        api = with_llm(server)
        assert streamed(api, asked(IN_SCOPE), stream) is None
        assert len(server.requests) == 1
    assert len(stream.parts) == 1
    assert '"client_gone"' in api.output


def test_the_time_to_the_first_text_is_measured(with_llm: Start) -> None:
    def found(told: Reply) -> set[str]:
        return {name for line in told.metrics for name in line if name in {"FirstTextMs", "Answers"}}

    with LlmServer([drip(*PIECES), reply(SAID)]) as server:
        api = with_llm(server)
        assert found(api.call(asked(IN_SCOPE))) == {"FirstTextMs", "Answers"}
        assert found(api.ask(IN_SCOPE)) == {"Answers"}
