"""Part of an answer is a result: what is there when a model breaks off, and what becomes of it."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes_llm import Exchange, LlmServer, Step, chunk, drip, reply
from functional.gacounts_service import MEALS, cached, first_sentence, gacounts, kind_of, model
from functional.harness import IN_SCOPE, QUOTED, Api, Json, Start, post
from functional.test_streams import HEADERS, Stream, asked, deltas, events, streamed

SESSION = "a-reader-who-goes-away-00"
NEVER = threading.Event()
HALF = QUOTED.removesuffix(".")

type Serve = Callable[[Callable[[str], Step]], tuple[Api, LlmServer]]


@pytest.mark.parametrize(
    ("step", "said", "reason", "level"),
    [
        (drip(QUOTED), QUOTED, "stop", "High"),
        (drip(HALF, ended=False), HALF, "interrupted", "Medium"),
        (drip(HALF, NEVER), HALF, "interrupted", "Medium"),
        (drip(HALF, chunk({}, finish_reason="length"), ended=False), HALF, "length", "Medium"),
    ],
    ids=["whole", "breaks off", "says no more", "max_tokens"],
)
def test_what_is_there_is_the_answer(with_llm: Start, step: Step, said: str, reason: str, level: str) -> None:
    stream = Stream()
    api = with_llm(step, STREAM_IDLE_S="0.3" if reason == "interrupted" else "20")
    assert streamed(api, asked(IN_SCOPE), stream) is None
    assert len(api.llm.requests) == 1
    name, answer = events(stream.text)[-1]
    assert (name, answer["answer"], deltas(stream.text)) == ("answer", said, said)
    assert (answer["partial"], answer["metadata"]["finishReason"]) == (reason != "stop", reason)
    assert (answer["confidence"]["level"], answer["confidence"]["score"] <= 74) == (level, reason != "stop")
    assert ("the answer broke off" in answer["confidence"]["reason"]) == (reason != "stop")
    assert [one["chunkId"] for one in answer["references"]] == ["id_49"]
    assert [one["support"] for one in answer["citations"]] == ["supported"]


@pytest.mark.parametrize(
    ("step", "finish_reason", "details"),
    [
        (drip(HALF, chunk({}, finish_reason="length"), ended=False), "length", {"reason": "max_output_tokens"}),
        (drip(HALF, ended=False), "stop", {"reason": None}),
        (drip(QUOTED), "stop", None),
    ],
    ids=["max_tokens", "breaks off", "whole"],
)
def test_openais_clients_get_a_reason_that_they_know(
    with_llm: Start, step: Step, finish_reason: str, details: Json | None
) -> None:
    api = with_llm(step)
    told = api.send("/v1/chat/completions", messages=[{"role": "user", "content": IN_SCOPE}], stream=True)
    *_, last, done = [line.removeprefix("data: ") for line in told.text.split("\n\n") if line.startswith("data: ")]
    assert done == "[DONE]"
    chat = json.loads(last)
    assert (chat["choices"][0]["finish_reason"], chat["partial"]) == (finish_reason, details is not None)
    told = api.send("/v1/responses", input=IN_SCOPE, stream=True)
    response = json.loads(told.text.split("data: ")[-1])["response"]
    assert (response["status"], response["incomplete_details"]) == ("incomplete" if details else "completed", details)


def test_reasoning_that_nothing_opened_is_shown_for_a_moment_at_most(with_llm: Start) -> None:
    """Nobody can know of it what it is; the answer at the end is in its place."""
    stream = Stream()
    api = with_llm(drip("The user asks for it.\n", "</think>\n\n", QUOTED))
    assert streamed(api, asked(IN_SCOPE), stream) is None
    _, answer = events(stream.text)[-1]
    assert (answer["answer"], answer["metadata"]["finishReason"]) == (QUOTED, "stop")
    assert [one["chunkId"] for one in answer["references"]] == ["id_49"]
    assert deltas(stream.text) != QUOTED


def test_a_vendor_s_finish_reason_goes_nowhere(with_llm: Start) -> None:
    """A gateway may echo the request in it."""
    said = "Bearer sk-of-the-operator"
    api = with_llm(reply(QUOTED, finish_reason=said))
    messages = [{"role": "user", "content": IN_SCOPE}]
    told = [
        api.ask(IN_SCOPE),
        api.send("/v1/query", question=IN_SCOPE, debug=True),
        *(api.send("/v1/chat/completions", messages=messages, stream=stream) for stream in (False, True)),
        *(api.send("/v1/responses", input=IN_SCOPE, stream=stream) for stream in (False, True)),
        api.health(),
    ]
    assert told[0].json["partial"] is True
    assert [(reply.status, said in reply.text) for reply in told] == [(200, False)] * 7


# --- what becomes of it


@pytest.fixture
def serve(with_llm: Start, gacounts_index: Path, tmp_path: Path) -> Serve:
    """Starts GaCounts, with its cache and its conversations; what answers the first question is a step of its text."""

    def serve(first: Callable[[str], Step]) -> tuple[Api, LlmServer]:
        write = model()
        steps = iter([first])

        def step(exchange: Exchange) -> None:
            request = exchange.request.json
            how = next(steps, reply) if kind_of(request) == "answer" else reply
            how(write(request))(exchange)

        usual = {"INDEX_URI": str(gacounts_index), "LLM_MAX_RETRIES": "0", **gacounts(tmp_path / "s.sqlite")}
        api = with_llm(step, **usual)
        return api, api.llm

    return serve


@pytest.mark.parametrize(
    ("first", "gone", "kept"),
    [
        (lambda text: drip(text, ended=False), None, False),
        (lambda text: drip(text, chunk({}, finish_reason="length"), ended=False), None, False),
        (lambda text: drip(text, *[" And more." for _ in range(10_000)]), b"event: delta", False),
        (lambda text: drip(text), None, True),
    ],
    ids=["interrupted", "length", "gone", "whole"],
)
def test_only_a_whole_answer_is_kept_for_others(
    serve: Serve, first: Callable[[str], Step], gone: bytes | None, kept: bool
) -> None:
    api, server = serve(first)
    streamed(api, asked(MEALS), Stream(gone_with=gone))
    assert cached(api.ask(MEALS)) is kept
    answers = [request for request in server.requests if kind_of(request.json) == "answer"]
    assert len(answers) == (1 if kept else 2)
    assert cached(api.ask(MEALS)) is True


def test_a_client_that_has_gone_ends_it_all_but_the_turn_is_remembered(serve: Serve) -> None:
    api, server = serve(lambda text: drip(text, *[" And more." for _ in range(10_000)]))
    stream = Stream(gone_with=b"event: delta")
    assert streamed(api, post({"query": MEALS, "sessionId": SESSION}, headers=HEADERS), stream) is None
    assert [name for name, _ in events(stream.text)] == ["status", "status", "sources", "status"]
    assert '"client_gone"' in api.output
    assert "Traceback" not in api.output
    [asking] = [request.json for request in server.requests if kind_of(request.json) == "answer"]
    api.ask("And what about the hotel?", sessionId=SESSION)
    [rewriting] = [request.json for request in server.requests if kind_of(request.json) == "reframe"]
    conversation = rewriting["messages"][0]["content"]
    assert MEALS in conversation
    assert first_sentence(asking) in conversation


def test_a_client_that_goes_while_it_is_searched_asks_no_model(with_llm: Start) -> None:
    stream = Stream(gone_with=b"searching")
    api = with_llm(reply(QUOTED))
    assert streamed(api, asked(IN_SCOPE), stream) is None
    assert api.llm.requests == []
    assert stream.parts == []
    assert '"client_gone"' in api.output
