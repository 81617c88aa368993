"""What a request uses of the LLM is counted whole: the answer, rewriting, re-ranking, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes_llm import Exchange, LlmServer, Step, error, reply
from functional.gacounts_service import MEALS, TOMATOES, cached, counted, gacounts, kind_of, model, of_llm
from functional.harness import Api, Reply, starting

from knowledge.model.errors import SearchFailed
from knowledge.open.index import Index

REPORTING = "How do I report in GaCounts?"
FOLLOW_UP = "And the deadline?"
MEANT = "What is the reporting deadline for GaCounts?"
FAILS = error(500, retry_after=0)
NO_RERANKING = {"ENABLE_LLM_RERANKING": "false"}

type Serve = Callable[..., tuple[Api, LlmServer]]


@pytest.fixture
def serve(gacounts_index: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts the profile beside an LLM that takes every follow-up for ``meant``; each call is 12 + 5 tokens."""
    servers: list[LlmServer] = []
    with starting(gacounts_index) as start:

        def serve(*script: Step, meant: str = MEANT, **env: str) -> tuple[Api, LlmServer]:
            server = LlmServer(script, answer=model(reframe=lambda _: meant))
            servers.append(server.__enter__())
            return start(**gacounts(tmp_path / "s.sqlite", **{**of_llm(server.url), **env})), server

        yield serve
        for server in servers:
            server.__exit__(None, None, None)


def used(result: Reply) -> tuple[float, float, float, float]:
    """Calls, retries, prompt tokens and completion tokens in the metrics of a reply."""
    calls, retries, prompt, completion = (
        counted(result, name) for name in ("LlmCalls", "LlmRetries", "PromptTokens", "CompletionTokens")
    )
    return calls, retries, prompt, completion


def kinds(server: LlmServer) -> list[str]:
    return [kind_of(request.json) for request in server.requests]


def test_a_re_ranking_counts_and_the_reply_tells_of_the_answer_alone(serve: Serve) -> None:
    api, server = serve()
    answer = api.ask(MEALS)
    assert kinds(server) == ["rerank", "answer"]
    assert used(answer) == (2, 0, 24, 10)
    assert answer.json["metadata"]["usage"] == {"promptTokens": 12, "completionTokens": 5, "totalTokens": 17}


def test_a_rewriting_counts(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    answer = api.ask(FOLLOW_UP, sessionId=session)
    assert kinds(server) == ["answer", "reframe", "answer"]
    assert used(answer) == (2, 0, 24, 10)


def test_a_rewriting_counts_although_the_question_is_declined(serve: Serve) -> None:
    api, server = serve(meant=TOMATOES, **NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    decline = api.ask("And the yellow leaves of my tomato plants?", sessionId=session)
    assert kinds(server) == ["answer", "reframe"]
    assert (decline.json["refused"], decline.json["metadata"]["usage"]) == (True, None)
    assert used(decline) == (1, 0, 12, 5)
    assert counted(decline, "NoResults") == 1


def test_a_conversation_is_answered_anew_whatever_is_cached(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING)
    api.ask(MEANT)
    session = api.ask(REPORTING).json["sessionId"]
    answer = api.ask(FOLLOW_UP, sessionId=session)
    assert not cached(answer)
    assert kinds(server) == ["answer", "answer", "reframe", "answer"]
    assert used(answer) == (2, 0, 24, 10)
    assert not cached(api.ask(FOLLOW_UP)), "what was written in it is for it alone"


def test_a_re_ranking_that_failed_counts_with_its_retries(serve: Serve) -> None:
    api, server = serve(FAILS, FAILS, FAILS, LLM_MAX_RETRIES="2", RERANK_TIMEOUT_S="60")
    answer = api.ask(MEALS)
    assert kinds(server) == ["rerank", "rerank", "rerank", "answer"]
    assert answer.json["metadata"]["skipped"] == ["rerank"]
    assert used(answer) == (4, 2, 12, 5)


def test_the_calls_before_a_last_resort_count(serve: Serve) -> None:
    api, server = serve(FAILS, FAILS, FAILS, LLM_MAX_RETRIES="2", LLM_FALLBACK="extractive", **NO_RERANKING)
    answer = api.ask(MEALS)
    assert len(server.requests) == 3
    assert answer.json["metadata"]["degraded"]
    assert used(answer) == (3, 2, 0, 0)


def test_what_was_used_before_a_failure_counts(serve: Serve) -> None:
    written = model(reframe=lambda _: MEANT)

    def works(exchange: Exchange) -> None:
        reply(written(exchange.request.json))(exchange)

    api, server = serve(works, works, FAILS, FAILS, LLM_MAX_RETRIES="1", **NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    failed = api.ask(FOLLOW_UP, sessionId=session)
    assert kinds(server) == ["answer", "reframe", "answer", "answer"]
    assert (failed.status, failed.json["code"]) == (503, "llm_unavailable")
    assert used(failed) == (3, 1, 12, 5)
    assert counted(failed, "Errors", code="llm_unavailable") == 1


def test_a_rewriting_counts_although_the_search_failed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    api, server = serve(**NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]

    def broken(*_: object, **__: object) -> None:
        raise SearchFailed("broken")

    monkeypatch.setattr(Index, "search", broken)
    failed = api.ask(FOLLOW_UP, sessionId=session)
    assert (failed.status, kinds(server)) == (500, ["answer", "reframe"])
    assert used(failed) == (1, 0, 12, 5)
