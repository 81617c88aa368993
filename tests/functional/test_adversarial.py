"""Naughty strings and script payloads through the whole handler: a 200 or a clear 400, and nothing comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.harness import REPOSITORY, Api, Reply, rest_event, starting

DATA = REPOSITORY.parent / "shared" / "data" / "adversarial"
NAUGHTY = DATA / "blns" / "blns.json"
SCRIPTS = DATA / "xss" / "sample500.json"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/adversarial")


@pytest.fixture(scope="module", params=["waypoint", "clockify"])
def service(request: pytest.FixtureRequest, waypoint_index: Path) -> Iterator[Api]:
    with starting(waypoint_index) as start:
        yield start(RAG_PROFILE=request.param)


def strings(path: Path) -> list[str]:
    found: list[str] = json.loads(path.read_text(encoding="utf-8"))
    return [text if isinstance(text, str) else json.dumps(text) for text in found]


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


@pytest.mark.parametrize("path", [NAUGHTY, SCRIPTS], ids=["naughty", "scripts"])
def test_every_string_is_answered_or_refused(service: Api, path: Path) -> None:
    for text in strings(path):
        body = json.dumps({"query": text, "question": text})
        check(service.call(rest_event("POST", "/api/query", body)), text)


def test_scripts_are_refused_by_the_strict_profile(waypoint_index: Path) -> None:
    payloads = strings(SCRIPTS)
    with starting(waypoint_index) as start:
        desk = start(RAG_PROFILE="clockify")
        replies = [desk.call(rest_event("POST", "/v1/query", json.dumps({"question": text}))) for text in payloads]
    assert sum(reply.status == 400 for reply in replies) >= 0.95 * len(payloads)
