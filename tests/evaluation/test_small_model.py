"""Questions about two samples, answered by a real chat model of 135 million parameters: what it writes does no harm.

A model of that size repeats itself, invents, copies the prompt and is cut off. The reader must see none of it.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import real_model
from evaluation.rates import json_lines, report
from faults.drawing import NIGHTLY
from llama_server import MODEL, PROGRAM, Exchange, LlamaServer, serving
from local_server import STOP_S, Server
from local_server import serving as serving_index

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sampled,
    pytest.mark.skipif(not NIGHTLY, reason="takes minutes: make nightly"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="make nightly could not install requirements/llama.txt"),
]
TOKENS = 120
"""Of an answer. With 700 of passages an answer takes about 8 seconds on one processor."""
SETTINGS = {
    "LLM_MODEL": MODEL, "LLM_MAX_TOKENS": str(TOKENS), "LLM_TEMPERATURE": "0",
    "REQUEST_DEADLINE_S": "120", "STREAM_DEADLINE_S": "120",
}  # fmt: skip
LITTLE = {"house": {"MAX_CONTEXT_TOKENS": "700"}, "clockify": {"CTX_TOKEN_BUDGET": "700"}}
LEAST_RIGHT = {"house": 0.5, "clockify": 0.1}
"""Share of right answers, quotes in place of the model's included; 13 and 4 of 16, and none without them."""
OTHER_TEMPLATE = (
    "{% for message in messages %}<start_of_turn>{{ message.role }}\n{{ message.content }}<end_of_turn>\n{% endfor %}"
    "<start_of_turn>model\n"
)
"""Of another family of models: its control tokens are plain text to this one, which copies them."""
MACHINERY = re.compile(
    r"<\|[^<>|]*\|?>|</?(?:start|end)_of_turn>|</?(?:think|thinking|thought|reasoning|seed:think)>|\[/?THINK\]|</s>"
    r"|<<<|>>>|END OF (?:CONTEXT|DOCUMENTATION)",
    re.IGNORECASE,
)
EVENT = re.compile(r"^event: (\w+)\ndata: (.*)$", re.MULTILINE)
FENCE = re.compile(r"<<<(\S.*)")
BRACKETS = re.compile(r"\[[^\[\]\n]{1,80}\]|\bid_\d+")
REPEATED, TIMES = 6, 3
"""A text that says the same six words three times in a row loops."""


@dataclass(frozen=True)
class Reply:
    """What the reader got for one question; ``streamed`` is what was shown before the checked answer."""

    question: Mapping[str, Any]
    status: int
    body: Mapping[str, Any]
    streamed: str | None
    exchange: Exchange
    cut: bool
    """The model did not end by itself."""

    @property
    def name(self) -> str:
        """The question, and how it was asked."""
        return f"{self.question['question']} ({'plain' if self.streamed is None else 'streamed'})"

    @property
    def fences(self) -> list[str]:
        """The marks between which the prompt showed passages."""
        found = FENCE.findall(self.exchange.prompt)
        assert found, self.exchange.prompt
        return found

    @property
    def is_own(self) -> bool:
        """Whether the model wrote what is shown in the end."""
        return bool(self.body["metadata"]["model"] == MODEL)

    @property
    def is_right(self) -> bool:
        """Whether the expected words are shown."""
        return str(self.question.get("answer", "\0")).casefold() in str(self.body["answer"]).casefold()


def asked(profile: str) -> list[dict[str, Any]]:
    """Eight questions that the sample answers, and two near misses."""
    lines = json_lines(real_model.SAMPLES / profile / "asked.jsonl")
    here = [line for line in lines if line["answerable"] and "answer" in line]
    return here[:: len(here) // 8][:8] + [line for line in lines if not line["answerable"]][:2]


def ask(server: Server, model: LlamaServer, question: Mapping[str, Any], *, stream: bool) -> Reply:
    """POST /api/query, with the answer as nodes too."""
    connection = http.client.HTTPConnection(server.address, timeout=STOP_S)
    headers = {"Content-Type": "application/json"} | ({"Accept": "text/event-stream"} if stream else {})
    try:
        connection.request("POST", "/api/query", json.dumps({"query": question["question"], "rendered": True}), headers)
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    exchange = model.last_exchange()
    cut = model.count_tokens(exchange.completion) >= TOKENS - 2  # text that is read anew may have a token less
    if not stream:
        return Reply(question, response.status, json.loads(text), None, exchange, cut)
    events = [(name, json.loads(data)) for name, data in EVENT.findall(text)]
    deltas = "".join(data["text"] for name, data in events if name == "delta")
    last, body = events[-1]
    return Reply(question, response.status if last == "answer" else 500, body, deltas, exchange, cut)


def plain_text(node: Any) -> Iterator[str]:
    """The text of rendered nodes, without citations and notes."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for child in node:
            yield from plain_text(child)
    elif node["tag"] not in {"cite", "note"}:
        yield from plain_text(node.get("children", []))


def repeated_run(text: str, times: int) -> str:
    """The first ``REPEATED`` words or more that stand in ``text`` that many times in a row; ``""`` for none."""
    words = "".join(f"<{word}>" for word in re.findall(r"[\w']+", text.casefold()))
    found = re.search(rf"((?:<[^<>]+>){{{REPEATED},60}}?)\1{{{times - 1}}}", words)
    return found[1] if found else ""


def faults(reply: Reply) -> Iterator[str]:
    """Each fault of what is shown."""
    if reply.status != 200:
        yield f"failed: {reply.body}"
        return
    answer = reply.body["answer"]
    text = "".join(plain_text(reply.body["rendered"]))
    for shown in filter(None, (answer, reply.streamed)):
        if found := MACHINERY.search(shown):
            yield f"machinery is shown: {found[0]}"
        if fence := next((one for one in reply.fences if one.casefold() in shown.casefold()), ""):
            yield f"the fence is shown: {fence}"
    # A stream ends with the third repetition; the answer has the first.
    if run := (reply.is_own and repeated_run(text, TIMES)) or repeated_run(reply.streamed or "", TIMES + 1):
        yield f"a loop is shown: {run}"
    if found := BRACKETS.search(text):
        yield f"a raw label is shown: {found[0]}"
    if reply.is_own and reply.cut and not reply.body["partial"]:
        yield f"a cut answer is not partial: ... {answer[-80:]}"
    if reply.is_own and not reply.is_right and reply.body["confidence"]["level"] == "High":
        yield f"an invention is High: {answer}"


@pytest.mark.parametrize(
    ("profile", "template"),
    [("house", ""), ("clockify", ""), ("house", OTHER_TEMPLATE)],
    ids=("house", "clockify", "other template"),
)
def test_a_small_model_does_no_harm(profile: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    index = real_model.sample_index(profile, tmp_path_factory)
    questions = asked(profile) if not template else asked(profile)[:4]
    variables = {**SETTINGS, **LITTLE[profile], "LLM_FALLBACK": "extractive"}
    with (
        serving(template=template) as model,
        serving_index(index, RAG_PROFILE=profile, LLM_BASE_URL=f"{model.url}/v1", **variables) as server,
    ):
        replies = [ask(server, model, one, stream=stream) for one in questions for stream in (False, True)]
    right = [reply.is_right for reply in replies if reply.question["answerable"] and reply.status == 200]
    report(f"{profile}, right with a model of 135 million parameters", sum(right), len(right), LEAST_RIGHT[profile])
    found = [f"{reply.name}: {fault}" for reply in replies for fault in faults(reply)]
    assert not found, "\n".join(found)


def test_a_context_that_is_too_small_gets_fewer_passages(tmp_path_factory: pytest.TempPathFactory) -> None:
    index = real_model.sample_index("house", tmp_path_factory)
    variables = {**SETTINGS, "MAX_CONTEXT_TOKENS": "1000"}
    with (
        serving(context=1024) as model,
        serving_index(index, RAG_PROFILE="house", LLM_BASE_URL=f"{model.url}/v1", **variables) as server,
    ):
        reply = ask(server, model, asked("house")[0], stream=False)
    assert reply.status == 200, reply.body
    assert reply.exchange.completion
