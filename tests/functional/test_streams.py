"""POST /api/query as server-sent events, with a stream to write to and as one body; and answers that break off."""

import json
import re
import threading
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from fakes_llm import Exchange, Step, chunk, drip, error, reply
from functional.gacounts_service import MEALS, cached, first_sentence, gacounts, kind_of, model
from functional.gacounts_service import asked as bodies
from functional.harness import DECLINE, IN_SCOPE, OUT_OF_SCOPE, QUOTED, SAID, Api, Context, Event, Reply, Start, post
from functional.test_query_contract import steady

HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream", "Host": "abc.execute-api.test"}
TITLE = "Singapore Import Permits and TradeNet"
SECTION = "Documents needed for import customs clearance"
LABEL = f"[{TITLE} > {SECTION}]"
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


def words_of(nodes: list[Any]) -> str:
    """What a reader sees of nodes, a citation as its number."""
    return "".join(
        node if isinstance(node, str) else f"[{node['n']}]" if node["tag"] == "cite" else words_of(node["children"])
        for node in nodes
    )


class Stream:
    """A ``ResponseStream`` that keeps what it gets; ``heard`` is set with the first text.

    The client has ``gone_with`` these bytes: whatever comes from them on is not taken.
    """

    def __init__(self, *, gone_with: bytes | None = None) -> None:
        self.opened, self._gone, self._gone_with = False, False, gone_with
        self.head: tuple[int, dict[str, str]]
        self.parts: list[bytes] = []
        self.heard = threading.Event()

    def open(self, status: int, headers: dict[str, str]) -> None:
        self.opened, self.head = True, (status, dict(headers))

    def write(self, data: bytes) -> None:
        from rag.errors import ClientGone

        self._gone = self._gone or (self._gone_with is not None and self._gone_with in data)
        if self._gone:
            raise ClientGone
        self.parts.append(data)
        if data.startswith(b"event: delta"):
            self.heard.set()

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
    # The model goes on only after the first piece has been handed over.
    assert streamed(with_llm(drip(PIECES[0], stream.heard, *PIECES[1:])), asked(IN_SCOPE), stream) is None
    status, headers = stream.head
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    told = events(stream.text)
    assert next(data["text"] for name, data in told if name == "delta") == "You need three papers:"
    assert deltas(stream.text) == "".join(PIECES) == told[-1][1]["answer"]
    assert told[-1][1]["metadata"]["model"] == "served-model"


def test_all_is_told_in_the_order_in_which_it_becomes_true(with_llm: Start) -> None:
    api = with_llm(drip(*PIECES))
    told = events(api.call(asked(IN_SCOPE)).text)
    prompt = api.llm.requests[0].json["messages"][0]["content"]
    in_order = [data["stage"] if name == "status" else name for name, data in told]
    assert [name for name, _ in groupby(in_order)] == [
        "searching", "reading", "sources", "writing", "delta", "checking", "statement", "answer",
    ]  # fmt: skip
    [packed] = [data["references"] for name, data in told if name == "sources"]
    there = {"title": TITLE, "section": SECTION, "url": "https://www.customs.gov.sg/", "docId": "SG-REG-001"}
    assert packed[0] == {"chunkId": "id_49", **there}
    labels = [" > ".join(filter(None, (one["title"], one["section"]))) for one in packed]
    assert all(f"\n[{place}] {label}" in prompt for place, label in enumerate(labels, start=1))
    [statement] = [data for name, data in told if name == "statement"]
    answer = told[-1][1]
    [checked] = answer["metadata"]["statements"]
    said = {"text": checked["text"], "support": "partial", "score": checked["score"]}
    assert statement == {"statement": 0, "references": [1], **said}
    assert [one["chunkId"] for one in answer["references"]] == ["id_49"]


def test_without_a_stream_the_same_events_are_one_body(with_llm: Start) -> None:
    stream = Stream()
    api = with_llm(drip(*PIECES))
    reply_ = api.call(asked(IN_SCOPE))
    streamed(api, asked(IN_SCOPE), stream)
    assert (reply_.status, reply_.headers["content-type"]) == (200, "text/event-stream")
    *told, (_, answer) = events(reply_.text)
    *others, (_, same) = events(stream.text)
    assert told == others
    assert answer["answer"] == same["answer"]


def test_what_was_shown_is_what_the_answer_says(with_llm: Start) -> None:
    """The text, and the nodes of each block; that the check adds something behind it is another test."""
    written = "## Papers\n\nThree [Certificates of Origin > x] and [No such page], *yes*.\n\n| Paper |\n|--|\n| `x` |\n"
    api = with_llm(drip(*re.findall(r"\S+\s*", written)), UNSUPPORTED="keep", LLM_WEAK="text")
    told, plain = (events(api.call(asked(IN_SCOPE, **more)).text) for more in ({"rendered": True}, {}))
    answer = told[-1][1]
    assert "".join(data["text"] for name, data in told if name == "delta") == answer["answer"]
    blocks = {data["block"]: data["nodes"] for name, data in told if name == "patch"}
    assert list(blocks) == list(range(3))
    assert [words_of(nodes) for nodes in blocks.values()] == [words_of([node]) for node in answer["rendered"]]
    assert [one for one in told if one[0] != "patch"][:-1] == plain[:-1]


def test_quotes_that_stand_in_place_of_what_was_shown_come_with_the_answer(with_llm: Start) -> None:
    told = with_llm(drip("Purple whales ", "sing for nine days.")).call(asked(IN_SCOPE)).text
    answer = events(told)[-1][1]
    assert deltas(told) == answer["modelText"] == "Purple whales sing for nine days."
    assert answer["answer"].startswith("This may not be what you asked for:\n\n")


def test_no_patch_takes_back_what_was_shown(with_llm: Start) -> None:
    words = re.findall(r"\S+\s*", f"See three papers and [1]. **All** of {LABEL} them [No page], yes {LABEL}.")
    told = events(with_llm(drip(*words), UNSUPPORTED="keep").call(asked(IN_SCOPE, rendered=True)).text)
    shown = [words_of(data["nodes"]) for name, data in told if name == "patch"]
    assert shown
    assert all(after.startswith(before) for before, after in pairwise(shown))


def test_the_answer_is_that_of_a_plain_request(api: Api) -> None:
    plain, as_events = api.ask(IN_SCOPE).json, api.call(asked(IN_SCOPE))
    told = events(as_events.text)
    assert [data for name, data in told if name == "delta"] == [{"text": plain["answer"]}]
    assert (told[-1][0], steady(told[-1][1])) == ("answer", steady(plain))


def test_a_refusal_is_held_back_and_told_at_once(with_llm: Start) -> None:
    told = events(with_llm(drip(*re.findall(r"\S+\s*", DECLINE))).call(asked(IN_SCOPE, rendered=True)).text)
    assert [data["text"] for name, data in told if name == "delta"] == [DECLINE]
    assert [name for name, _ in told if name in {"patch", "statement"}] == []
    assert told[-1][1]["refused"] is True


def test_nothing_found_asks_no_model(with_llm: Start) -> None:
    api = with_llm(reply("x"))
    told = events(api.call(asked(OUT_OF_SCOPE)).text)
    assert api.llm.requests == []
    assert told[:2] == [("status", {"stage": "searching"}), ("delta", {"text": DECLINE})]
    assert [name for name, _ in told] == ["status", "delta", "answer"]
    assert told[-1][1]["refused"] is True


def test_what_is_wrong_with_a_request_is_an_event_with_its_status(api: Api) -> None:
    for refused, code in ((asked(""), "empty_query"), (asked("x", topK=0), "invalid_parameter")):
        reply = api.call(refused)
        assert (reply.status, reply.headers["content-type"]) == (400, "text/event-stream")
        [(name, told)] = events(reply.text)
        assert (name, told["code"]) == ("error", code)


def test_a_model_that_fails_is_told_in_a_stream_that_has_begun_and_has_a_status_without_one(with_llm: Start) -> None:
    stream = Stream()
    api = with_llm(error(503), LLM_MAX_RETRIES="0")
    assert streamed(api, asked(IN_SCOPE), stream) is None
    told = {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"}
    assert [name for name, _ in events(stream.text)] == ["status", "status", "sources", "status", "error"]
    assert events(stream.text)[-1] == ("error", told)
    assert '"code":"llm_unavailable","status":503' in api.output
    refused = api.call(asked(IN_SCOPE))
    assert (refused.status, events(refused.text)[-1][1]["code"]) == (503, "llm_unavailable")


def test_the_time_to_the_first_text_is_measured(with_llm: Start) -> None:
    def found(told: Reply) -> set[str]:
        return {name for line in told.metrics for name in line if name in {"FirstTextMs", "Answers"}}

    api = with_llm(drip(*PIECES), reply(SAID))
    assert found(api.call(asked(IN_SCOPE))) == {"FirstTextMs", "Answers"}
    assert found(api.ask(IN_SCOPE)) == {"Answers"}


SESSION = "a-reader-who-goes-away-00"
NEVER = threading.Event()
HALF = QUOTED.removesuffix(".")


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
    with_llm: Start, step: Step, finish_reason: str, details: dict[str, Any] | None
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


@pytest.fixture
def serve(with_llm: Start, gacounts_index: Path, tmp_path: Path) -> Start:
    """Starts GaCounts, with its cache and its conversations; what answers the first question is a step of its text."""

    def serve(first: Callable[[str], Step]) -> Api:
        write, steps = model(), iter([first])

        def step(exchange: Exchange) -> None:
            request = exchange.request.json
            how = next(steps, reply) if kind_of(request) == "answer" else reply
            how(write(request))(exchange)

        usual = {"INDEX_URI": str(gacounts_index), "LLM_MAX_RETRIES": "0", **gacounts(tmp_path / "s.sqlite")}
        return with_llm(step, **usual)

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
    serve: Start, first: Callable[[str], Step], gone: bytes | None, kept: bool
) -> None:
    api = serve(first)
    streamed(api, asked(MEALS), Stream(gone_with=gone))
    assert cached(api.ask(MEALS)) is kept
    assert len(bodies(api.llm.requests, "answer")) == (1 if kept else 2)
    assert cached(api.ask(MEALS)) is True


def test_a_client_that_has_gone_ends_it_all_but_the_turn_is_remembered(serve: Start) -> None:
    api = serve(lambda text: drip(text, *[" And more." for _ in range(10_000)]))
    stream = Stream(gone_with=b"event: delta")
    assert streamed(api, post({"query": MEALS, "sessionId": SESSION}, headers=HEADERS), stream) is None
    assert [name for name, _ in events(stream.text)] == ["status", "status", "sources", "status"]
    assert '"client_gone"' in api.output
    assert "Traceback" not in api.output
    [asking] = bodies(api.llm.requests, "answer")
    api.ask("And what about the hotel?", sessionId=SESSION)
    [rewriting] = bodies(api.llm.requests, "reframe")
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
