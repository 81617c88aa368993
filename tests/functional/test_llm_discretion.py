"""An LLM or an embedder whose errors repeat the request: what the log tells of it, and what it never does."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import real_model
from fakes_llm import Exchange, LlmServer, Step, completion, drip, echo, echo_in_broken_headers, json_body
from functional.harness import API_KEY, IN_SCOPE, Reply, Start, rest_event, starting

from knowledge.build.ingest import ingest
from knowledge.read.documents import read
from ragctl import cli

PASSAGE = "Demurrage is 90 dollars for each day."
PROMPT = "knowledge base"
MARKER = "XQZZY-4711"


def stream_event(asked: str) -> dict[str, Any]:
    return {"error": {"message": asked, "code": "told_code"}}


def error_in_stream() -> Step:
    """A stream that begins well, then repeats the request in an event of an error."""
    return lambda exchange: drip(stream_event(exchange.request.body.decode()), ended=False)(exchange)


@pytest.fixture(scope="module")
def passage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of one passage."""
    root = tmp_path_factory.mktemp("discretion")
    (root / "fees.md").write_text(f"# Fees\n\n{PASSAGE}\n", encoding="utf-8")
    with real_model.few_background_questions():
        ingest(read([root / "fees.md"]).documents, target=root / "index", embedder=real_model.model())
    return root / "index"


@pytest.fixture
def knowledge(passage: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Start]:
    """Starts the function on one passage, with loggers as Lambda sets them for LogLevel=DEBUG."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "DEBUG")
    with starting(passage) as start:
        yield start


def written(reply: Reply, caplog: pytest.LogCaptureFixture) -> str:
    """All that the call wrote, as one who reads the log sees it."""
    return reply.output + caplog.text


def assert_discreet(text: str) -> None:
    for said in (MARKER, PASSAGE, json.dumps(PASSAGE)[1:-1], PROMPT, API_KEY, API_KEY[3:20]):
        assert said.lower() not in text.lower().replace("+", " ").replace("%20", " ")


@pytest.mark.parametrize("status", [307, 400, 401, 404, 413, 422, 429, 500])
@pytest.mark.parametrize("fallback", ["none", "extractive"])
def test_an_error_that_repeats_the_request_leaves_no_word_of_it_in_the_log(
    knowledge: Start, status: int, fallback: str, caplog: pytest.LogCaptureFixture
) -> None:
    with LlmServer([echo(status)]) as server:
        api = knowledge(
            LLM_BASE_URL=server.url, LLM_API_KEY=API_KEY, LLM_MAX_RETRIES="1", LLM_BACKOFF_BASE_S="0.001",
            LLM_FALLBACK=fallback, RELEVANCE_THRESHOLD="-1",
        )  # fmt: skip
        result = api.ask(f"How much is demurrage? {MARKER}")
        assert PASSAGE in server.requests[0].body.decode()
        assert PROMPT in server.requests[0].body.decode()
    text = written(result, caplog)
    assert_discreet(text)
    assert f"LLM answered {status} (" in text
    if result.status >= 500:  # the whole chain of errors is printed then
        assert "told_code" in text
        assert "told_type" in text


@pytest.mark.parametrize("step", [error_in_stream(), echo_in_broken_headers()], ids=["stream", "headers"])
def test_nor_does_a_stream_or_a_broken_response(knowledge: Start, step: Step, caplog: pytest.LogCaptureFixture) -> None:
    with LlmServer([step]) as server:
        api = knowledge(LLM_BASE_URL=server.url, LLM_API_KEY=API_KEY, LLM_MAX_RETRIES="0", RELEVANCE_THRESHOLD="-1")
        body = json.dumps({"query": f"How much is demurrage? {MARKER}"})
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        result = api.call(rest_event("POST", "/api/query", body, headers=headers))
        assert len(server.requests) == 1
    assert result.status == 503
    assert_discreet(written(result, caplog))
    assert "request failed" in result.output


@pytest.mark.parametrize("said", [MARKER.partition("-")[0].lower(), API_KEY[:-1], f"x{API_KEY[4:14]}"])
def test_an_identifier_of_the_request_is_not_told(
    knowledge: Start, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with LlmServer([echo(400, code=said, kind=said)]) as server:
        api = knowledge(LLM_BASE_URL=server.url, LLM_API_KEY=API_KEY, RELEVANCE_THRESHOLD="-1")
        result = api.ask(f"{IN_SCOPE} {MARKER}")
    assert result.status == 503
    assert said.lower() not in written(result, caplog).lower()


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_what_a_server_calls_its_model_is_not_told(
    knowledge: Start, accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(exchange: Exchange) -> None:
        asked = exchange.request.body.decode() + exchange.request.headers["authorization"]
        json_body({**completion("Ninety."), "model": asked})(exchange)

    with LlmServer([answer]) as server:
        api = knowledge(LLM_BASE_URL=server.url, LLM_API_KEY=API_KEY, LLM_MODEL="house", RELEVANCE_THRESHOLD="-1")
        body = json.dumps({"query": f"{IN_SCOPE} {MARKER}"})
        result = api.call(
            rest_event("POST", "/api/query", body, headers={"Content-Type": "application/json", "Accept": accept})
        )
    assert result.status == 200
    assert_discreet(result.output)
    (line,) = [line for line in result.logs if line["message"] == "answered"]
    assert line["model"] == "house"


def test_what_is_no_identifier_is_not_told(knowledge: Start, caplog: pytest.LogCaptureFixture) -> None:
    with LlmServer([echo(400, code=f"told {MARKER}", kind=MARKER * 9)]) as server:
        result = knowledge(LLM_BASE_URL=server.url, RELEVANCE_THRESHOLD="-1").ask(IN_SCOPE)
    assert result.status == 503
    assert_discreet(written(result, caplog))


@pytest.mark.parametrize("status", [307, 400, 500])
def test_an_embedder_repeats_no_question_into_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "DEBUG")
    (tmp_path / "fees.md").write_text(f"# Fees\n\n{PASSAGE}\n", encoding="utf-8")
    with LlmServer(embed=[]) as server:
        env = {"EMBED_MODEL": "house", "EMBED_API_KEY": API_KEY, "EMBED_BASE_URL": server.url, "NO_PROXY": "127.0.0.1"}
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        assert cli.run(["ingest", str(tmp_path / "fees.md"), "--index", str(tmp_path / "index")]) == 0
        with starting(tmp_path / "index") as start:
            api = start(**env)
            server.embed_next([echo(status)] * 9)
            result = api.ask(f"How much is demurrage? {MARKER}")
    text = written(result, caplog)
    assert_discreet(text)
    assert f"Embedder answered {status} (" in text
    assert "told_code" in text
