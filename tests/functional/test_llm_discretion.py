"""An LLM or an embedder whose errors repeat the request: what the log tells of it, and what it never does."""

import json
import logging
import re
from functools import partial
from pathlib import Path

import pytest
import real_model
from fakes_llm import Exchange, LlmServer, Step, completion, drip, echo, echo_in_broken_headers, json_body
from functional.harness import API_KEY, FEES, REMOTE, Reply, Start, post, starting

from knowledge.build.ingest import ingest
from knowledge.read.documents import read

PASSAGE = "Demurrage is 90 dollars for each day."
PROMPT = "knowledge base"
MARKER = "XQZZY-4711"
QUESTION = f"How much is demurrage? {MARKER}"
HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}


def error_in_stream(exchange: Exchange) -> None:
    """A stream that begins well, then repeats the request in an event of an error."""
    drip({"error": {"message": exchange.request.body.decode(), "code": "told_code"}}, ended=False)(exchange)


@pytest.fixture(scope="module")
def passage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of one passage."""
    root = tmp_path_factory.mktemp("discretion")
    (root / "fees.md").write_text(FEES, encoding="utf-8")
    with real_model.few_background_questions():
        ingest(read([root / "fees.md"]).documents, target=root / "index", embedder=real_model.model())
    return root / "index"


@pytest.fixture
def beside(passage: Path, with_llm: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Start:
    """Starts the function on one passage beside an LLM, with loggers as Lambda sets them for LogLevel=DEBUG."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "DEBUG")
    return partial(with_llm, INDEX_URI=str(passage), RELEVANCE_THRESHOLD="-1", LLM_FALLBACK_MODELS="")


def assert_discreet(result: Reply, caplog: pytest.LogCaptureFixture) -> str:
    """All that the call wrote, as one who reads the log sees it."""
    text = result.output + caplog.text
    for said in (MARKER, PASSAGE, json.dumps(PASSAGE)[1:-1], PROMPT, API_KEY, API_KEY[3:20]):
        assert said.lower() not in text.lower().replace("+", " ").replace("%20", " ")
    return text


@pytest.mark.parametrize("status", [307, 400, 401, 404, 429, 500])
def test_an_error_that_repeats_the_request_leaves_no_word_of_it_in_the_log(
    beside: Start, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    for fallback in ("none", "extractive"):
        api = beside(echo(status), LLM_MAX_RETRIES="1", LLM_FALLBACK=fallback)
        result = api.ask(QUESTION)
        assert PASSAGE in api.llm.requests[0].body.decode()
        assert PROMPT in api.llm.requests[0].body.decode()
        text = assert_discreet(result, caplog)
        assert f"LLM answered {status} (" in text
        if result.status >= 500:  # the whole chain of errors is printed then
            assert {"told_code", "told_type"} <= set(re.findall(r"told_\w+", text))
        caplog.clear()


@pytest.mark.parametrize("step", [error_in_stream, echo_in_broken_headers()], ids=["stream", "headers"])
def test_nor_does_a_stream_or_a_broken_response(beside: Start, step: Step, caplog: pytest.LogCaptureFixture) -> None:
    api = beside(step, LLM_MAX_RETRIES="0")
    result = api.call(post({"query": QUESTION}, headers=HEADERS))
    assert (result.status, len(api.llm.requests)) == (503, 1)
    assert "request failed" in assert_discreet(result, caplog)


@pytest.mark.parametrize(
    "said",
    [MARKER.partition("-")[0].lower(), API_KEY[:-1], f"x{API_KEY[4:14]}", f"told {MARKER}", MARKER * 9],
    ids=["a word of the question", "the key", "a part of the key", "no identifier", "too long for one"],
)
def test_an_identifier_of_the_request_and_what_is_none_are_not_told(
    beside: Start, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    result = beside(echo(400, code=said, kind=said)).ask(QUESTION)
    assert result.status == 503
    assert said.lower() not in assert_discreet(result, caplog).lower()


@pytest.mark.parametrize("headers", [None, HEADERS], ids=["plain", "stream"])
def test_what_a_server_calls_its_model_is_not_told(
    beside: Start, headers: dict[str, str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(exchange: Exchange) -> None:
        asked = exchange.request.body.decode() + exchange.request.headers["authorization"]
        json_body({**completion("Ninety."), "model": asked})(exchange)

    result = beside(answer, LLM_MODEL="house").call(post({"query": QUESTION}, headers=headers))
    assert result.status == 200
    assert_discreet(result, caplog)
    (line,) = [line for line in result.logs if line["message"] == "answered"]
    assert line["model"] == "house"


@pytest.mark.parametrize("status", [307, 400, 500])
def test_an_embedder_repeats_no_question_into_the_log(
    remote_index: Path, monkeypatch: pytest.MonkeyPatch, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "DEBUG")
    with LlmServer(embed=[echo(status)] * 9) as server, starting(remote_index) as start:
        result = start(**REMOTE, EMBED_BASE_URL=server.url).ask(QUESTION)
    text = assert_discreet(result, caplog)
    assert f"Embedder answered {status} (" in text
    assert "told_code" in text
