"""POST /api/query as server-sent events, from the handler: with a stream to write to, and as one body."""

import json
import re
import threading
from itertools import groupby, pairwise
from typing import Any

import pytest
from fakes_llm import drip, error, reply
from functional.harness import (
    DECLINE,
    IN_SCOPE,
    OUT_OF_SCOPE,
    SAID,
    Api,
    Context,
    Event,
    Reply,
    Start,
    post,
)

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
        self.opened = False
        self.head: tuple[int, dict[str, str]] | None = None
        self.parts: list[bytes] = []
        self.heard = threading.Event()
        self._gone_with = gone_with
        self._gone = False

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
    assert stream.head is not None
    assert stream.head[0] == 200
    assert stream.head[1]["Content-Type"] == "text/event-stream"
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
    assert packed[0] == {
        "chunkId": "id_49",
        "title": TITLE,
        "section": SECTION,
        "url": "https://www.customs.gov.sg/",
        "docId": "SG-REG-001",
    }
    labels = [" > ".join(filter(None, (one["title"], one["section"]))) for one in packed]
    assert all(f"\n[{place}] {label}" in prompt for place, label in enumerate(labels, start=1))
    [statement] = [data for name, data in told if name == "statement"]
    answer = told[-1][1]
    [checked] = answer["metadata"]["statements"]
    assert statement == {
        "statement": 0,
        "text": checked["text"],
        "support": "partial",
        "references": [1],
        "score": checked["score"],
    }
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
    told = events(with_llm(drip("Purple whales ", "sing for nine days.")).call(asked(IN_SCOPE)).text)
    shown = "".join(data["text"] for name, data in told if name == "delta")
    answer = told[-1][1]
    assert shown == answer["modelText"] == "Purple whales sing for nine days."
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
    answer = told[-1]
    for body in (plain, answer[1]):
        body.pop("responseId")
        body["metadata"].pop("timings")
        body["metadata"].pop("latencyMs")
    assert answer == ("answer", plain)


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


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"query": ""}', 400, "empty_query"),
        ('{"query": "x", "topK": 0}', 400, "invalid_parameter"),
    ],
)
def test_what_is_wrong_with_a_request_is_an_event_with_its_status(api: Api, body: str, status: int, code: str) -> None:
    refused = api.call(post(body, headers=HEADERS))
    assert (refused.status, refused.headers["content-type"]) == (status, "text/event-stream")
    [(name, told)] = events(refused.text)
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
