"""A model that fails, on a real socket: what the caller gets, how often it is asked, and what is never shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes_llm import SERVER_ERROR_TEXT, Exchange, LlmServer, Step, cut, error, hang, html, moved, reply, reset
from fakes_llm import model_not_found as no_such_model
from functional.harness import API_KEY, IN_SCOPE, REMOTE, SAID, Api, Reply, Start, post, starting
from functional.test_mcp import call

LLM_FAILED = "Pipeline error: LLM request failed"
UNAVAILABLE = {"error": LLM_FAILED, "code": "llm_unavailable"}
TOO_LATE = {**UNAVAILABLE, "error": f"{LLM_FAILED}: no text came in time. REQUEST_DEADLINE_S says how long it may take"}


def assert_discreet(reply: Reply) -> None:
    """Nothing of the vendor in the body, the key nowhere, the vendor's words and the question not at INFO."""
    assert "vendor" not in reply.text
    assert API_KEY not in reply.text + reply.output
    below = [line for line in reply.logs if line["level"] in {"DEBUG", "INFO"}]
    assert SERVER_ERROR_TEXT not in str(below)
    assert IN_SCOPE not in reply.output


def test_exhausted_retries_are_503_after_four_calls(with_llm: Start) -> None:
    api = with_llm(error(429, retry_after=0.01))
    result = api.ask(IN_SCOPE)
    assert len(api.llm.requests) == 4
    assert (result.status, result.json) == (503, UNAVAILABLE)
    assert result.headers["retry-after"] == "1"
    assert result.headers["x-content-type-options"] == "nosniff"
    assert_discreet(result)


def test_a_wait_beyond_the_deadline_is_passed_on_to_the_caller(with_llm: Start) -> None:
    api = with_llm(error(429, retry_after="39.6"))
    result = api.ask(IN_SCOPE)
    assert len(api.llm.requests) == 1
    assert result.status == 503
    assert result.headers["retry-after"] == "40"


@pytest.mark.parametrize(
    ("step", "calls"),
    [
        (error(500), 2),  # tried again
        (error(401, message=f"{SERVER_ERROR_TEXT}: Bearer {API_KEY}"), 1),  # as some proxies repeat what they refuse
        (error(422), 2),  # the configured model and the one to fall back to, once each
        (html(), 2),
        (no_such_model("any"), 2),
    ],
    ids=["away", "a refused account", "refused", "a portal's page", "no such model"],
)
def test_what_yields_no_completion_is_503_or_a_case_for_the_last_resort(
    with_llm: Start, step: Step, calls: int
) -> None:
    api = with_llm(step, LLM_MAX_RETRIES="1")
    result = api.ask(IN_SCOPE)
    assert len(api.llm.requests) == calls
    assert (result.status, result.json) == (503, UNAVAILABLE)
    assert "retry-after" not in result.headers
    assert_discreet(result)
    helped = with_llm(step, LLM_FALLBACK="extractive").ask(IN_SCOPE)
    assert (helped.status, helped.json["metadata"]["degraded"]) == (200, True)


@pytest.mark.parametrize("step", [cut(), error(503)])
def test_what_may_pass_is_tried_again(with_llm: Start, step: Step) -> None:
    api = with_llm(step, reply(SAID))
    result = api.ask(IN_SCOPE)
    assert len(api.llm.requests) == 2
    assert (result.status, result.json["answer"]) == (200, SAID)
    assert_discreet(result)


def test_lambda_s_own_clock_counts_too(with_llm: Start) -> None:
    result = with_llm(hang()).ask(IN_SCOPE, seconds=2.5)
    assert (result.status, result.json) == (503, TOO_LATE)


def test_no_time_left_means_no_call(with_llm: Start) -> None:
    api = with_llm(reply("late"))
    result = api.ask(IN_SCOPE, seconds=0.4)
    assert api.llm.requests == []
    assert (result.status, result.json) == (503, TOO_LATE)


def test_an_impossible_address_is_503(start: Start) -> None:
    result = start(LLM_BASE_URL="http://[::1", LLM_BACKOFF_BASE_S="0.001").ask(IN_SCOPE)
    assert (result.status, result.json) == (503, UNAVAILABLE)


@pytest.mark.parametrize("step", [error(503), error(401), reset()])
def test_the_extractive_engine_as_last_resort_says_so(with_llm: Start, step: Step) -> None:
    result = with_llm(step, LLM_FALLBACK="extractive").ask(IN_SCOPE)
    body = result.json
    told = [body["metadata"][name] for name in ("degraded", "model", "usage")]
    assert told == [True, "extractive", None]
    assert "SG-REG-001" in {citation["docId"] for citation in body["citations"]}
    # The caller is served; the operator is told why it was not the model.
    assert [line["message"] for line in result.logs if "last resort" in line["message"]]
    assert [line["degraded"] for line in result.logs if line["message"] == "answered"] == [True]
    assert_discreet(result)


def test_the_last_resort_is_in_time(with_llm: Start) -> None:
    result = with_llm(hang(), LLM_FALLBACK="extractive", REQUEST_DEADLINE_S="0.4").ask(IN_SCOPE)
    assert (result.status, result.json["metadata"]["degraded"]) == (200, True)


def narrow_window(exchange: Exchange) -> None:
    """Refuse, as llama.cpp's server does, a prompt of more than 4,500 characters."""
    fits = len(exchange.request.json["messages"][0]["content"]) <= 4500
    (reply(SAID) if fits else error(400, code="exceed_context_size_error"))(exchange)


def test_a_prompt_that_is_too_long_is_halved_and_the_next_one_fits_at_once(with_llm: Start) -> None:
    api = with_llm(narrow_window)
    first, asked = api.ask(IN_SCOPE), len(api.llm.requests)
    second = api.ask(IN_SCOPE)
    assert (first.status, first.json["answer"], second.json["answer"]) == (200, SAID, SAID)
    assert (asked > 1, len(api.llm.requests) - asked) == (True, 1)
    told = with_llm(narrow_window, LLM_CONTEXT_TOKENS="2400", LLM_MAX_TOKENS="500")
    assert (told.ask(IN_SCOPE).status, len(told.llm.requests)) == (200, 1)


@pytest.mark.parametrize("code", [None, "context_length_exceeded"])
def test_under_the_seed_s_rules_a_refused_request_is_500_at_once(with_llm: Start, code: str | None) -> None:
    api = with_llm(error(400, code=code), SEED_RULES="on")
    result = api.ask(IN_SCOPE)
    assert (result.status, len(api.llm.requests)) == (500, 1)
    assert result.json == {"error": LLM_FAILED, "code": "pipeline_error"}


SENTENCE = "Pipeline error: The embedding model cannot be reached"
OUTAGE = {"error": SENTENCE, "code": "embedder_unavailable"}


@pytest.fixture
def embedded_by(remote_index: Path) -> Iterator[Start]:
    """Starts the function beside an embedder that always takes this step."""
    with LlmServer(embed=[]) as server, starting(remote_index) as start:

        def start_beside(step: Step) -> Api:
            server.embed_next([step] * 9)
            return start(**REMOTE, EMBED_BASE_URL=server.url)

        yield start_beside


@pytest.mark.parametrize("step", [error(401), error(503), html(404), moved(307, "/v1/x")])
def test_an_embedder_s_outage_says_whose_it_is(embedded_by: Start, step: Step) -> None:
    result = embedded_by(step).ask(IN_SCOPE)
    assert (result.status, result.json) == (503, OUTAGE)
    assert [line["code"] for line in result.metrics if "Errors" in line] == ["embedder_unavailable"]


def test_a_request_that_an_embedder_refuses_is_no_outage(embedded_by: Start) -> None:
    result = embedded_by(error(400)).ask(IN_SCOPE)
    failed = {"error": "Pipeline error: Retrieval failed", "code": "pipeline_error"}
    assert (result.status, result.json) == (500, failed)


def test_every_protocol_tells_of_an_embedder_s_outage(embedded_by: Start) -> None:
    api = embedded_by(error(401))
    asked = api.send("/v1/query", question=IN_SCOPE)
    assert (asked.status, asked.json) == (503, OUTAGE)
    chat = api.send("/v1/chat/completions", model="waypoint", messages=[{"role": "user", "content": IN_SCOPE}])
    assert (chat.status, chat.json["error"]["message"]) == (503, SENTENCE)
    assert chat.json["error"]["code"] == "embedder_unavailable"
    streamed = api.call(post({"query": IN_SCOPE}, headers={"Accept": "text/event-stream"}))
    assert streamed.status == 503
    assert f"data: {json.dumps(OUTAGE, separators=(',', ':'))}" in streamed.text
    for result in (call(api, "ask", question=IN_SCOPE), call(api, "search", query=IN_SCOPE)):
        assert (result["isError"], result["content"][0]["text"]) == (True, SENTENCE)
