"""GaCounts with an LLM: who is asked what, what that costs, re-ranking, and what it does with the model's HTML."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes_llm import Exchange, LlmServer, Step, error, reply
from functional.gacounts_service import COLORS, MEALS, TOMATOES, asked, cached, counted, gacounts, kind_of, model
from functional.harness import API_KEY, Api, Json, Reply, Start

REPORTING = "How do I report in GaCounts?"
FOLLOW_UP = "And the deadline?"
MEANT = "What is the reporting deadline for GaCounts?"
TOGETHER = "searched for alone and together with the turns before"
TRAVEL = "https://ga.example.edu/abo/policies/travel-2025"
MEALS_SAID = "The meal allowance is 62 dollars a day for overnight trips."
NO_RERANKING = {"ENABLE_LLM_RERANKING": "false"}
FAILS = error(500, retry_after=0)

type Serve = Callable[..., tuple[Api, LlmServer]]


@pytest.fixture
def serve(with_llm: Start, gacounts_index: Path, tmp_path: Path) -> Serve:
    """Starts the profile beside an LLM that takes every follow-up for ``MEANT``; each call is 12 + 5 tokens."""
    usual = {"INDEX_URI": str(gacounts_index), "LLM_MAX_RETRIES": "0", **gacounts(tmp_path / "s.sqlite")}

    def serve(*script: Step, write: Callable[[Json], str] | None = None, **env: str) -> tuple[Api, LlmServer]:
        api = with_llm(*script, answer=write or model(reframe=lambda _: MEANT), **{**usual, **env})
        return api, api.llm

    return serve


def used(result: Reply) -> tuple[float, ...]:
    """Calls, retries, prompt tokens and completion tokens in the metrics of a reply."""
    names = ("LlmCalls", "LlmRetries", "PromptTokens", "CompletionTokens")
    return tuple(counted(result, name) for name in names)


def kinds(server: LlmServer) -> list[str]:
    return [kind_of(request.json) for request in server.requests]


def system(request: Json) -> str:
    text: str = request["messages"][0]["content"]
    return text


def test_a_follow_up_is_reframed_by_the_prompt_and_answered_as_it_was_asked(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING)
    first = api.ask(REPORTING)
    second, _ = (api.ask(text, sessionId=first.json["sessionId"]) for text in (FOLLOW_UP, "What if I miss it?"))
    assert kinds(server) == ["answer", "reframe", "answer", "reframe", "answer"]
    assert used(second) == (2, 0, 24, 10)
    assert (counted(first, "Reframed"), counted(second, "Reframed")) == (0, 1)
    assert f"understood as: {MEANT}" in second.json["metadata"]["trail"]
    assert second.json["metadata"]["query"] == FOLLOW_UP
    # The rewriter sees the turns before, and what the one before meant.
    reframing, again = (system(request) for request in asked(server.requests, "reframe"))
    assert f"User: {REPORTING}\nAssistant: {first.json['answer']}" in reframing
    assert FOLLOW_UP in reframing
    assert f"User: {FOLLOW_UP} (understood as: {MEANT})" in again
    # The writer sees the question as it was asked and, from the second one on, what was said.
    answering = asked(server.requests, "answer")
    assert [message["role"] for message in answering[1]["messages"]] == ["system", "user"]
    assert answering[1]["messages"][1]["content"] == FOLLOW_UP
    history = [system(request).partition("CONVERSATION HISTORY:")[2] for request in answering]
    said = [[line for line in text.splitlines() if line.startswith("User:")] for text in history]
    assert said == [[], [f"User: {REPORTING}"], [f"User: {REPORTING}", f"User: {FOLLOW_UP}"]]
    assert MEANT not in history[2]


def test_a_rewriting_that_is_none_gives_way_to_the_turns_before(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING, write=model(reframe=lambda _: "The deadline is the tenth. " * 40))
    session = api.ask(REPORTING).json["sessionId"]
    second, _ = (api.ask(text, sessionId=session) for text in (FOLLOW_UP, COLORS))
    trail = second.json["metadata"]["trail"]
    assert (TOGETHER in trail, counted(second, "Reframed")) == (True, 0)
    assert not any("understood as" in line for line in trail)
    assert "(understood as" not in system(asked(server.requests, "reframe")[1]), "nothing dropped is remembered"


def test_a_rewriting_that_fails_is_skipped(serve: Serve) -> None:
    there = reply("Report it. (Source: https://ga.example.edu/gacounts/docs/reporting-guide-2025)")
    api, _ = serve(there, error(401), there, LLM_MODEL="m", LLM_FALLBACK_MODELS="m", **NO_RERANKING)
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


def order(request: Json) -> list[str]:
    """The label without its number, and the first line, of each passage of the context."""
    context = system(request).partition("\nCONTEXT\n")[2]
    return re.findall(r"^\[\d+\] (.*\n.*)", context, re.MULTILINE)


def backwards(count: int) -> str:
    return ", ".join(map(str, range(count, 0, -1)))


@pytest.mark.parametrize(("ranking", "step"), [(backwards, -1), (lambda _: "2, 1", 1)], ids=["whole", "nonsense"])
def test_the_model_s_ranking_is_the_order_and_nonsense_keeps_it(
    serve: Serve, ranking: Callable[[int], str], step: int
) -> None:
    api, server = serve(**NO_RERANKING)
    assert counted(api.ask(MEALS), "Reranked") == 0
    other, ranked = serve(write=model(rerank=ranking), ENABLE_LLM_RERANKING="true")
    answer = other.ask(MEALS, topK=8)
    (asking,) = asked(ranked.requests, "rerank")
    assert MEALS in system(asking)
    assert order(ranked.requests[-1].json) == order(server.requests[0].json)[::step]
    assert (counted(answer, "Reranked"), answer.json["metadata"]["skipped"]) == (step == -1, [])


def test_the_re_ranking_has_a_model_of_its_own_and_a_cached_answer_costs_no_call(serve: Serve) -> None:
    api, server = serve(RERANK_MODEL="small-one", GEN_MODEL="large-one")
    first, second = api.ask(MEALS), api.ask(MEALS.upper().rstrip("?"))
    assert [request.json["model"] for request in server.requests] == ["small-one", "large-one"]
    assert kinds(server) == ["rerank", "answer"]
    assert (used(first), used(second)) == ((2, 0, 24, 10), (0, 0, 0, 0))
    assert first.json["metadata"]["usage"] == {"promptTokens": 12, "completionTokens": 5, "totalTokens": 17}
    assert (cached(first), cached(second), second.json["metadata"]["usage"]) == (False, True, None)
    assert second.json["answer"] == first.json["answer"]


def test_a_re_ranking_that_fails_is_skipped_and_counts_with_its_retries(serve: Serve) -> None:
    models = {"LLM_MODEL": "m", "LLM_FALLBACK_MODELS": "m", "LLM_MAX_RETRIES": "2"}
    api, server = serve(FAILS, FAILS, FAILS, RERANK_TIMEOUT_S="60", **models)
    answer = api.ask(MEALS)
    assert (answer.status, answer.json["metadata"]["skipped"]) == (200, ["rerank"])
    assert counted(answer, "SoftFailures", stage="rerank") == 1
    assert kinds(server) == ["rerank"] * 3 + ["answer"]
    assert used(answer) == (4, 2, 12, 5)


def test_what_the_gate_declines_costs_no_call(serve: Serve) -> None:
    api, server = serve()
    for question in ("What is the latest news about the football world cup?", TOMATOES):
        assert api.ask(question).json["refused"]
    assert server.requests == []  # no answer, no call: not even one for the order


def test_html_becomes_markdown_and_its_link_a_citation(serve: Serve) -> None:
    html = (
        "<p>The meal allowance is <b>58 dollars</b> &amp; more.</p><ul><li>breakfast</li><li>dinner</li></ul>"
        "<script>steal()</script><p>[1]</p>"
    )
    api, _ = serve(write=model(answer=lambda _: html))
    answer = api.ask(MEALS).json
    assert "**58 dollars** & more." in answer["answer"]
    assert "- breakfast\n- dinner" in answer["answer"]
    assert not re.search(r"<[a-z]|&amp;|steal\(\)", answer["answer"])
    assert [citation["docId"] for citation in answer["citations"]] == ["ABO-002"]


@pytest.mark.parametrize(
    ("first", "degraded"),
    [
        (reply(f"It is unclear how much the meal allowance is for overnight trips. (Source: {TRAVEL})"), False),
        (reply(f"{MEALS_SAID} Bananas grow. (Source: {TRAVEL})"), False),
        (error(500), True),
    ],
    ids=["evasive", "in part", "degraded"],
)
def test_what_is_not_good_enough_is_not_kept(serve: Serve, first: Step, degraded: bool) -> None:
    api, _ = serve(first, reply(f"{MEALS_SAID} (Source: {TRAVEL})"), LLM_FALLBACK="extractive", **NO_RERANKING)
    assert api.ask(MEALS).json["metadata"]["degraded"] == degraded
    assert [cached(api.ask(MEALS)) for _ in range(2)] == [False, True]


SECRET = "Xylophone-4711"


def gossip(request: Json) -> str:
    """A model that repeats whatever of the secret it sees."""
    seen = "".join(message["content"] for message in request["messages"])
    return f"It is so{' for ' + SECRET if SECRET in seen else ''}. [1]"


def test_a_secret_of_one_session_is_in_no_other(serve: Serve) -> None:
    api, server = serve(**NO_RERANKING, LLM_WEAK="text", write=model(answer=gossip, reframe=lambda _: MEANT))
    session = api.ask(f"{REPORTING} My case number is {SECRET}.").json["sessionId"]
    there = api.ask(FOLLOW_UP, sessionId=session)
    assert SECRET in there.json["answer"], "the session itself knows it"
    # Another session that comes to the very same question, and one that asks the same words.
    other = api.ask(REPORTING).json["sessionId"]
    before = len(server.requests)
    for text, session in ((FOLLOW_UP, other), (MEANT, None), (FOLLOW_UP, None), (MEANT, "somebody-elses-session-22")):
        assert SECRET not in api.ask(text, sessionId=session).text
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
    told = api.ask(MEALS)
    assert told.status == 503
    assert API_KEY not in told.text + api.output


def test_a_rewriting_counts_although_the_question_is_declined(serve: Serve) -> None:
    api, server = serve(write=model(reframe=lambda _: TOMATOES), **NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    decline = api.ask("And the yellow leaves of my tomato plants?", sessionId=session)
    assert kinds(server) == ["answer", "reframe"]
    assert (decline.json["refused"], decline.json["metadata"]["usage"]) == (True, None)
    assert used(decline) == (1, 0, 12, 5)
    assert counted(decline, "NoResults") == 1


def test_what_was_used_before_a_last_resort_or_a_failure_counts(serve: Serve) -> None:
    api, server = serve(FAILS, FAILS, FAILS, LLM_MAX_RETRIES="2", LLM_FALLBACK="extractive", **NO_RERANKING)
    assert used(api.ask(MEALS)) == (len(server.requests), 2, 0, 0) == (3, 2, 0, 0)
    written = model(reframe=lambda _: MEANT)

    def works(exchange: Exchange) -> None:
        reply(written(exchange.request.json))(exchange)

    api, server = serve(works, works, FAILS, FAILS, LLM_MAX_RETRIES="1", LLM_FALLBACK="none", **NO_RERANKING)
    session = api.ask(REPORTING).json["sessionId"]
    failed = api.ask(FOLLOW_UP, sessionId=session)
    assert kinds(server) == ["answer", "reframe", "answer", "answer"]
    assert (failed.status, failed.json["code"]) == (503, "llm_unavailable")
    assert used(failed) == (3, 1, 12, 5)
    assert counted(failed, "Errors", code="llm_unavailable") == 1
