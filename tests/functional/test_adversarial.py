"""Naughty strings and script payloads through the whole handler: a 200 or a clear 400, and nothing comes back."""

import json
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from fakes_llm import LlmServer
from faults.drawing import tenth
from functional.harness import REPOSITORY, Api, Reply, rest_event, starting

from rag.ask.remarks import NOT_ASKED, REPLIES
from rag.profiles import PROFILES

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

DATA = REPOSITORY.parent / "shared" / "data" / "adversarial"

CODE = re.compile(r"(`+)[^`].*?\1|```.*", re.DOTALL)
TAG = re.compile(r"(?<!\\)<[A-Za-z/!?]")
"""What begins markup in HTML; any other "<" is text."""

LISTS = pytest.mark.parametrize("path", ["blns/blns.json", "xss/sample500.json"])
ROUTES = ("/api/query", "/v1/query")

needs_lists = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/adversarial")


@pytest.fixture(scope="module", params=PROFILES)
def service(request: pytest.FixtureRequest, waypoint_index: Path) -> Iterator[Api]:
    with starting(waypoint_index) as start:
        yield start(RAG_PROFILE=request.param)


@pytest.fixture(scope="module", params=PROFILES)
def parrot(request: pytest.FixtureRequest, waypoint_index: Path) -> Iterator[Api]:
    """A service whose model says what it is asked."""
    echo = LlmServer(answer=lambda asked: f"You asked: {asked['messages'][-1]['content']}")
    with echo as server, starting(waypoint_index) as start:
        settings = {"ENABLE_LLM_RERANKING": "false", "UNSUPPORTED": "keep", "LLM_WEAK": "text"}
        yield start(RAG_PROFILE=request.param, LLM_BASE_URL=server.url, **settings)


def share(service: Api, path: str) -> list[str]:
    """The part of the strings that is tried in this profile, another one in each; in the gate a tenth of it."""
    profile = tuple(PROFILES).index(service.health().json["profile"])
    found: list[str] = json.loads((DATA / path).read_text(encoding="utf-8"))
    return tenth([text if isinstance(text, str) else json.dumps(text) for text in found][profile :: len(PROFILES)])


def check(reply: Reply, text: str) -> None:
    assert reply.status in {200, 400}, (reply.status, text)
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-content-type-options"] == "nosniff"
    body = reply.json
    if reply.status == 400:
        assert body["code"] in {"empty_query", "unsafe_query", "query_too_long"}, (body, text)
    shown = json.dumps([body.get("answer"), body.get("sources"), body.get("error")], ensure_ascii=False)
    if "<" in text:
        assert "<" not in shown, (shown, text)


@needs_lists
@LISTS
def test_every_string_is_answered_or_refused(service: Api, path: str) -> None:
    for text, route in zip(share(service, path), cycle(ROUTES), strict=False):
        check(service.call(rest_event("POST", route, json.dumps({"query": text, "question": text}))), text)


@needs_lists
@LISTS
def test_a_model_that_repeats_the_question_repeats_no_markup(parrot: Api, path: str) -> None:
    answered = 0
    for text, route in zip(share(parrot, path), cycle(ROUTES), strict=False):
        body = {"query": text, "question": text, "threshold": -1, "topK": 1}
        reply = parrot.call(rest_event("POST", route, json.dumps(body)))
        assert reply.status in {200, 400}, (reply.status, text)
        assert not TAG.search(reply.json.get("error", "")), text
        if reply.status == 200:
            answer = reply.json["answer"]
            in_kind = answer in (NOT_ASKED, *REPLIES.values())
            assert in_kind or answer.startswith("You asked:"), (answer, text)
            answered += not in_kind
            assert not TAG.search(CODE.sub("", answer)), (answer, text)
    assert answered


@pytest.mark.parametrize(
    ("route", "asked", "shown"),
    [
        ("/v1/query", "<a href=//evil.example>click me</a>, how do I start?", "click me, how do I start?"),
        ("/api/query", "What does <button class=start> do?", "What does \\<button class=start> do?"),
        ("/v1/query", "What does `<button class=start>` do?", "What does `<button class=start>` do?"),
        ("/api/query", "What goes into <your crate>?", "What goes into \\<your crate>?"),
    ],
)
def test_what_comes_back_can_be_read_and_runs_nothing(parrot: Api, route: str, asked: str, shown: str) -> None:
    reply = parrot.call(rest_event("POST", route, json.dumps({"query": asked, "question": asked, "threshold": -1})))
    assert (reply.status, reply.json["answer"]) == (200, f"You asked: {shown}")
