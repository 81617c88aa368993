"""Pages of other origins: answered where they are named, and nothing is said where none are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.harness import Reply, Start, rest_event, starting

NAMED = "https://app.example,http://localhost:5173"
EXPOSED = {"access-control-expose-headers": "Retry-After", "vary": "Origin"}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with starting(tmp_path) as start:  # without an index: 503 is an answer too
        yield start


def cors(reply: Reply) -> dict[str, str]:
    return {name: value for name, value in reply.headers.items() if name.startswith("access-") or name == "vary"}


@pytest.mark.parametrize(
    ("allowed", "origin", "told"),
    [
        ("", "https://app.example", {}),
        (NAMED, "https://app.example", {"access-control-allow-origin": "https://app.example", **EXPOSED}),
        (NAMED, "https://app.example.evil.example", {"vary": "Origin"}),
        (NAMED, "null", {"vary": "Origin"}),
        (NAMED, "", {"vary": "Origin"}),
        ("*", "https://anybody.example", {"access-control-allow-origin": "*", **EXPOSED}),
    ],
)
def test_an_answer_is_for_the_pages_that_are_named(
    start: Start, allowed: str, origin: str, told: dict[str, str]
) -> None:
    api = start(ALLOWED_ORIGINS=allowed)
    headers = {"Content-Type": "application/json"} | ({"origin": origin} if origin else {})
    replies = [api.call(rest_event(method, path, headers=headers)) for method, path in PLACES]
    assert [reply.status for reply in replies] == [200, 404]
    assert [cors(reply) for reply in replies] == [told, told]


PLACES = (("GET", "/v1/models"), ("GET", "/no-such-path"))


def test_a_preflight_is_answered_without_a_route(start: Start) -> None:
    api = start(ALLOWED_ORIGINS=NAMED)
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    reply = api.call(rest_event("OPTIONS", "/v1/chat/completions", headers=asked))
    assert (reply.status, reply.text) == (204, "")
    assert cors(reply) == {
        "access-control-allow-origin": "https://app.example",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "authorization, content-type, x-api-key",
        "access-control-max-age": "7200",
        **EXPOSED,
    }
    other = api.call(rest_event("OPTIONS", "/v1/chat/completions", headers={"Origin": "https://other.example"}))
    assert (other.status, cors(other)) == (204, {"vary": "Origin"})
    # Without origins it is a method that there is not.
    asked_in_vain = start(ALLOWED_ORIGINS="").call(rest_event("OPTIONS", "/api/query", headers=asked))
    assert (asked_in_vain.status, cors(asked_in_vain)) == (405, {})
