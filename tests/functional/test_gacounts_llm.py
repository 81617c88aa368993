"""GaCounts with an LLM: who is asked what, what that costs, re-ranking, and what it does with the model's HTML."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes_llm import Exchange, LlmServer, Step, error, garbage, reply
from functional.gacounts_service import (
    COLORS,
    MEALS,
    TOMATOES,
    asked,
    cached,
    counted,
    gacounts,
    kind_of,
    model,
    of_llm,
)
from functional.harness import API_KEY, Api, Json, Reply, starting

from knowledge.model.errors import SearchFailed
from knowledge.open.index import EmbeddedIndex

REPORTING = "How do I report in GaCounts?"
FOLLOW_UP = "And the deadline?"
MEANT = "What is the reporting deadline for GaCounts?"
TOGETHER = "searched for alone and together with the turns before"
DECLINE = "I don't have specific information about that in the knowledge base."
TRAVEL = "https://ga.example.edu/abo/policies/travel-2025"
MEALS_SAID = "The meal allowance is 62 dollars a day for overnight trips."
NO_RERANKING = {"ENABLE_LLM_RERANKING": "false"}
FAILS = error(500, retry_after=0)

type Serve = Callable[..., tuple[Api, LlmServer]]


@pytest.fixture
def serve(gacounts_index: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts the profile beside an LLM that takes every follow-up for ``MEANT``; each call is 12 + 5 tokens."""
    servers: list[LlmServer] = []
    with starting(gacounts_index) as start:

        def serve(*script: Step, write: Callable[[Json], str] | None = None, **env: str) -> tuple[Api, LlmServer]:
            server = LlmServer(script, answer=write or model(reframe=lambda _: MEANT))
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


def system(request: Json) -> str:
    text: str = request["messages"][0]["content"]
    return text


# --- conversations


def test_only_the_first_question_of_a_conversation_is_not_put_to_the_rewriter(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING, write=model(reframe=lambda _: "SAME"))
    session = api.ask(REPORTING).json["sessionId"]
    answer = api.ask(COLORS, sessionId=session)
    assert kinds(server) == ["answer", "reframe", "answer"]
    assert counted(answer, "Reframed") == 0
    assert TOGETHER in answer.json["metadata"]["trail"]


def test_a_follow_up_is_reframed_by_the_prompt_and_answered_as_it_was_asked(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING)
    first = api.ask(REPORTING)
    second = api.ask(FOLLOW_UP, sessionId=first.json["sessionId"])
    assert kinds(server) == ["answer", "reframe", "answer"]
    assert used(second) == (2, 0, 24, 10)
    reframing = system(server.requests[1].json)
    assert f"User: {REPORTING}" in reframing
    assert f"Assistant: {first.json['answer']}" in reframing
    assert FOLLOW_UP in reframing
    assert f"understood as: {MEANT}" in second.json["metadata"]["trail"]
    assert second.json["metadata"]["query"] == FOLLOW_UP
    assert counted(second, "Reframed") == 1
    assert counted(first, "Reframed") == 0
    answering = server.requests[2].json["messages"]
    assert [message["role"] for message in answering] == ["system", "user"]
    assert answering[1]["content"] == FOLLOW_UP


def test_history_is_in_the_prompt_of_every_question_but_the_first(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    api.ask(FOLLOW_UP, sessionId=session)
    api.ask(COLORS, sessionId=session)
    held = [f"User: {REPORTING}" in system(request) for request in asked(server.requests, "answer")]
    assert held == [False, True, True]


def test_the_next_follow_up_leans_on_what_the_last_one_meant_and_the_history_holds_what_was_said(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    for text in (FOLLOW_UP, "What if I miss it?"):
        api.ask(text, sessionId=session)
    assert f"User: {FOLLOW_UP} (understood as: {MEANT})" in system(asked(server.requests, "reframe")[1])
    history = system(asked(server.requests, "answer")[2]).partition("CONVERSATION HISTORY:")[2]
    said = [line for line in history.splitlines() if line.startswith("User:")]
    assert said == [f"User: {REPORTING}", f"User: {FOLLOW_UP}"]
    assert MEANT not in history


@pytest.mark.parametrize("nonsense", ["", "The deadline is the tenth. " * 40, f"{DECLINE} Report elsewhere."])
def test_a_rewriting_that_is_none_gives_way_to_the_turns_before(serve: Serve, nonsense: str) -> None:
    api, server = serve(**NO_RERANKING, write=model(reframe=lambda _: nonsense))
    session = api.ask(REPORTING).json["sessionId"]
    trail = api.ask(FOLLOW_UP, sessionId=session).json["metadata"]["trail"]
    assert TOGETHER in trail
    assert not any("understood as" in line for line in trail)
    api.ask(COLORS, sessionId=session)
    assert "(understood as" not in system(asked(server.requests, "reframe")[1]), "nothing dropped is remembered"


@pytest.mark.parametrize("trouble", [error(401), garbage()])
def test_a_rewriting_that_fails_is_skipped(serve: Serve, trouble: Step) -> None:
    there = reply("Report it. (Source: https://ga.example.edu/gacounts/docs/reporting-guide-2025)")
    api, _ = serve(there, trouble, there, LLM_MODEL="m", LLM_FALLBACK_MODELS="m", **NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    answer = api.ask(FOLLOW_UP, sessionId=session)
    assert (answer.status, answer.json["metadata"]["skipped"]) == (200, ["reframe"])
    assert TOGETHER in answer.json["metadata"]["trail"]
    assert counted(answer, "SoftFailures", stage="reframe") == 1


def test_decisions_are_the_same_every_time(serve: Serve) -> None:
    api, server = serve(LLM_TEMPERATURE="0.7", LLM_MAX_TOKENS="900")
    session = api.ask(MEALS).json["sessionId"]
    api.ask(FOLLOW_UP, sessionId=session)
    chosen = {
        kind: {(request["temperature"], request["max_tokens"]) for request in asked(server.requests, kind)}
        for kind in ("rerank", "reframe", "answer")
    }
    assert chosen == {"rerank": {(0.0, 500)}, "reframe": {(0.0, 500)}, "answer": {(0.7, 900)}}


def test_a_declined_question_costs_no_call(serve: Serve) -> None:
    api, server = serve()
    assert api.ask(TOMATOES).json["refused"]
    assert asked(server.requests, "answer") == []


# --- re-ranking


def order(request: Json) -> list[str]:
    """The label without its number, and the first line, of each passage of the context."""
    context = system(request).partition("\nCONTEXT\n")[2]
    return re.findall(r"^\[\d+\] (.*\n.*)", context, re.MULTILINE)


def backwards(count: int) -> str:
    return ", ".join(map(str, range(count, 0, -1)))


def test_the_model_s_ranking_is_the_order(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING)
    assert counted(api.ask(MEALS), "Reranked") == 0
    other, ranked = serve(write=model(rerank=backwards), ENABLE_LLM_RERANKING="true")
    answer = other.ask(MEALS)
    assert order(ranked.requests[-1].json) == order(server.requests[0].json)[::-1]
    assert counted(answer, "Reranked") == 1
    assert MEALS in system(asked(ranked.requests, "rerank")[0])


def test_the_re_ranking_has_a_model_of_its_own_and_counts_beside_the_answer(serve: Serve) -> None:
    api, server = serve(RERANK_MODEL="small-one", GEN_MODEL="large-one")
    answer = api.ask(MEALS)
    assert [request.json["model"] for request in server.requests] == ["small-one", "large-one"]
    assert kinds(server) == ["rerank", "answer"]
    assert used(answer) == (2, 0, 24, 10)
    assert answer.json["metadata"]["usage"] == {"promptTokens": 12, "completionTokens": 5, "totalTokens": 17}


@pytest.mark.parametrize("nonsense", ["2, 1", "1, 1, 2"])
def test_nonsense_keeps_the_order(serve: Serve, nonsense: str) -> None:
    api, server = serve(**NO_RERANKING)
    api.ask(MEALS)
    other, ranked = serve(write=model(rerank=lambda _: nonsense), ENABLE_LLM_RERANKING="true")
    answer = other.ask(MEALS, topK=8)
    assert len(asked(ranked.requests, "rerank")) == 1
    assert order(ranked.requests[-1].json) == order(server.requests[0].json)
    assert counted(answer, "Reranked") == 0
    assert answer.json["metadata"]["skipped"] == []


@pytest.mark.parametrize(("trouble", "retries"), [(FAILS, 0), (FAILS, 2), (garbage(), 0)])
def test_a_re_ranking_that_fails_is_skipped_and_counts_with_its_retries(
    serve: Serve, trouble: Step, retries: int
) -> None:
    models = {"LLM_MODEL": "m", "LLM_FALLBACK_MODELS": "m", "LLM_MAX_RETRIES": str(retries)}
    api, server = serve(*[trouble] * (1 + retries), RERANK_TIMEOUT_S="60", **models)
    answer = api.ask(MEALS)
    assert (answer.status, answer.json["metadata"]["skipped"]) == (200, ["rerank"])
    assert counted(answer, "SoftFailures", stage="rerank") == 1
    assert kinds(server) == [*["rerank"] * (1 + retries), "answer"]
    assert used(answer) == (2 + retries, retries, 12, 5)


def test_what_the_gate_declines_is_not_re_ranked(serve: Serve) -> None:
    api, server = serve(write=model(rerank=backwards))
    for question in ("What is the latest news about the football world cup?", "Who won the world cup?"):
        assert api.ask(question).json["refused"]
    assert server.requests == []  # no answer, no call: not even one for the order


# --- the text


def test_html_becomes_markdown_and_its_link_a_citation(serve: Serve) -> None:
    def html(request: Json) -> str:
        return (
            "<p>The meal allowance is <b>58 dollars</b> &amp; more.</p><ul><li>breakfast</li><li>dinner</li></ul>"
            "<script>steal()</script><p>[1]</p>"
        )

    api, _ = serve(write=model(answer=html))
    answer = api.ask(MEALS)
    text = answer.json["answer"]
    assert "**58 dollars** & more." in text
    assert "- breakfast\n- dinner" in text
    assert not {"<p>", "<b>", "<li>", "<script>", "&amp;"} & set(text.replace(">", "> ").split())
    assert "steal()" not in text
    assert [citation["docId"] for citation in answer.json["citations"]] == ["ABO-002"]


# --- the cache


def test_a_cached_answer_costs_no_call(serve: Serve) -> None:
    api, server = serve()
    first = api.ask(MEALS)
    before = len(server.requests)
    second = api.ask(MEALS.upper().rstrip("?"))
    assert (cached(first), cached(second), len(server.requests)) == (False, True, before)
    assert second.json["answer"] == first.json["answer"]
    assert counted(first, "LlmCalls") == 2  # the order and the answer
    assert counted(second, "LlmCalls") == 0
    assert second.json["metadata"]["usage"] is None


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (reply(f"{MEALS_SAID} (Source: {TRAVEL})", finish_reason="length"), "cut"),
        (reply("I don't have specific information about that in the knowledge base."), "refused"),
        (reply("Bananas grow."), "uncited"),
        (reply(f"It is unclear how much the meal allowance is. (Source: {TRAVEL})"), "a refusal in other words"),
        (
            reply(f"It is unclear how much the meal allowance is for overnight trips. (Source: {TRAVEL})"),
            "High all the same",
        ),
        (reply(f"{MEALS_SAID} Bananas grow. (Source: {TRAVEL})"), "in part"),
        (error(500), "degraded"),
    ],
)
def test_what_is_not_good_enough_is_not_kept(serve: Serve, first: Step, why: str) -> None:
    good = reply(f"{MEALS_SAID} (Source: {TRAVEL})")
    api, _ = serve(first, good, LLM_FALLBACK="extractive", **NO_RERANKING)
    assert api.ask(MEALS).json["metadata"]["degraded"] == (why in {"degraded", "uncited"})
    assert not cached(api.ask(MEALS)), why
    assert cached(api.ask(MEALS))


# --- secrets


SECRET = "Xylophone-4711"
PLANTED = f"How do I report in GaCounts? My case number is {SECRET}."


def gossip(request: Json) -> str:
    """A model that repeats whatever of the secret it sees."""
    seen = "".join(message["content"] for message in request["messages"])
    return f"It is so{' for ' + SECRET if SECRET in seen else ''}. [1]"


def test_a_secret_of_one_session_is_in_no_other(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING, LLM_WEAK="text", write=model(answer=gossip, reframe=lambda _: MEANT))
    session = api.ask(PLANTED).json["sessionId"]
    there = api.ask(FOLLOW_UP, sessionId=session)
    assert SECRET in there.json["answer"], "the session itself knows it"
    # Another session that comes to the very same question, and one that asks the same words.
    other = api.ask(REPORTING).json["sessionId"]
    before = len(server.requests)
    for text, fields in (
        (FOLLOW_UP, {"sessionId": other}),
        (MEANT, {}),
        (FOLLOW_UP, {}),
        (MEANT, {"sessionId": "somebody-elses-session-22"}),
    ):
        assert SECRET not in api.ask(text, **fields).text
    assert all(SECRET not in request.body.decode() for request in server.requests[before:])


def test_an_answer_whose_prompt_held_history_is_never_kept(serve: Serve) -> None:
    api, _ = serve(**NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    assert not cached(api.ask(FOLLOW_UP, sessionId=session))
    assert not cached(api.ask(FOLLOW_UP, sessionId=session))
    assert not cached(api.ask(MEANT)), "a stand-alone question finds nothing that a follow-up left"
    anew = api.ask(FOLLOW_UP, sessionId=session)
    assert not cached(anew), "nor a follow-up what a stand-alone question left"
    assert used(anew) == (2, 0, 24, 10)
    assert cached(api.ask(MEANT))
    assert not cached(api.ask(FOLLOW_UP)), "what was written in a conversation is for it alone"


def test_the_key_is_in_no_reply_and_no_log(serve: Serve) -> None:
    api, _ = serve(error(401), **NO_RERANKING)
    assert api.ask(MEALS).status in {500, 503}
    assert API_KEY not in api.output


# --- what is counted


def test_a_rewriting_counts_although_the_question_is_declined(serve: Serve) -> None:
    api, server = serve(write=model(reframe=lambda _: TOMATOES), **NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    decline = api.ask("And the yellow leaves of my tomato plants?", sessionId=session)
    assert kinds(server) == ["answer", "reframe"]
    assert (decline.json["refused"], decline.json["metadata"]["usage"]) == (True, None)
    assert used(decline) == (1, 0, 12, 5)
    assert counted(decline, "NoResults") == 1


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

    monkeypatch.setattr(EmbeddedIndex, "search", broken)
    failed = api.ask(FOLLOW_UP, sessionId=session)
    assert (failed.status, kinds(server)) == (500, ["answer", "reframe"])
    assert used(failed) == (1, 0, 12, 5)
