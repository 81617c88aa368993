"""GaCounts with an LLM: who is asked what, re-ranking, and what it does with the model's HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes_llm import LlmServer, Step, error, garbage, reply
from functional.gacounts_service import (
    COLORS,
    MEALS,
    TOMATOES,
    asked,
    cached,
    counted,
    first_source,
    gacounts,
    kind_of,
    model,
    of_llm,
)
from functional.harness import API_KEY, Api, Json, starting

REPORTING = "How do I report in GaCounts?"
FOLLOW_UP = "And the deadline?"
MEANT = "What is the reporting deadline for GaCounts?"
TOGETHER = "searched for alone and together with the turns before"
DECLINE = "I don't have specific information about that in the knowledge base."

TRAVEL = "https://ga.example.edu/abo/policies/travel-2025"
MEALS_SAID = "The meal allowance is 62 dollars a day for overnight trips."

type Serve = Callable[..., tuple[Api, LlmServer]]


@pytest.fixture
def serve(gacounts_index: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts the profile beside an LLM that answers as ``model`` is told to."""
    servers: list[LlmServer] = []
    with starting(gacounts_index) as start:

        def serve(
            *script: Step, env: dict[str, str] | None = None, write: Callable[[Json], str] | None = None
        ) -> tuple[Api, LlmServer]:
            server = LlmServer(script, answer=write or model())
            servers.append(server.__enter__())
            return start(**gacounts(tmp_path / "s.sqlite", **of_llm(server.url), **(env or {}))), server

        yield serve
        for server in servers:
            server.__exit__(None, None, None)


def system(request: Json) -> str:
    text: str = request["messages"][0]["content"]
    return text


# --- conversations


def test_only_the_first_question_of_a_conversation_is_not_put_to_the_rewriter(serve: Serve) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(reframe=lambda _: "SAME"))
    session = api.ask(REPORTING).json["sessionId"]
    answer = api.ask(COLORS, sessionId=session)
    assert [kind_of(request.json) for request in server.requests] == ["answer", "reframe", "answer"]
    assert counted(answer, "Reframed") == 0
    assert TOGETHER in answer.json["metadata"]["trail"]


def test_a_follow_up_is_reframed_by_the_prompt_and_answered_as_it_was_asked(serve: Serve) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(reframe=lambda _: MEANT))
    first = api.ask(REPORTING)
    second = api.ask(FOLLOW_UP, sessionId=first.json["sessionId"])
    assert [kind_of(request.json) for request in server.requests] == ["answer", "reframe", "answer"]
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
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(reframe=lambda _: MEANT))
    session = api.ask(REPORTING).json["sessionId"]
    api.ask(FOLLOW_UP, sessionId=session)
    api.ask(COLORS, sessionId=session)
    held = [f"User: {REPORTING}" in system(request) for request in asked(server.requests, "answer")]
    assert held == [False, True, True]


def test_the_next_follow_up_leans_on_what_the_last_one_meant(serve: Serve) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(reframe=lambda _: MEANT))
    session = api.ask(REPORTING).json["sessionId"]
    api.ask(FOLLOW_UP, sessionId=session)
    api.ask("What if I miss it?", sessionId=session)
    assert f"User: {FOLLOW_UP} (understood as: {MEANT})" in system(asked(server.requests, "reframe")[1])


def test_the_history_holds_what_the_user_said_and_nothing_that_the_user_did_not(serve: Serve) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(reframe=lambda _: MEANT))
    session = api.ask(REPORTING).json["sessionId"]
    for text in (FOLLOW_UP, "What if I miss it?"):
        api.ask(text, sessionId=session)
    history = system(asked(server.requests, "answer")[2]).partition("CONVERSATION HISTORY:")[2]
    said = [line for line in history.splitlines() if line.startswith("User:")]
    assert said == [f"User: {REPORTING}", f"User: {FOLLOW_UP}"]
    assert MEANT not in history


@pytest.mark.parametrize("nonsense", ["", "The deadline is the tenth. " * 40, f"{DECLINE} Report elsewhere."])
def test_a_rewriting_that_is_none_gives_way_to_the_turns_before(serve: Serve, nonsense: str) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(reframe=lambda _: nonsense))
    session = api.ask(REPORTING).json["sessionId"]
    trail = api.ask(FOLLOW_UP, sessionId=session).json["metadata"]["trail"]
    assert TOGETHER in trail
    assert not any("understood as" in line for line in trail)
    api.ask(COLORS, sessionId=session)
    assert "(understood as" not in system(asked(server.requests, "reframe")[1]), "nothing dropped is remembered"


@pytest.mark.parametrize("trouble", [error(401), garbage()])
def test_a_rewriting_that_fails_is_skipped(serve: Serve, trouble: Step) -> None:
    there = reply("Report it. (Source: https://ga.example.edu/gacounts/docs/reporting-guide-2025)")
    api, _ = serve(
        there,
        trouble,
        there,
        env={
            "LLM_MODEL": "m",
            "LLM_FALLBACK_MODELS": "m",
            "ENABLE_LLM_RERANKING": "false",
        },
    )
    session = api.ask(REPORTING).json["sessionId"]
    answer = api.ask(FOLLOW_UP, sessionId=session)
    assert (answer.status, answer.json["metadata"]["skipped"]) == (200, ["reframe"])
    assert TOGETHER in answer.json["metadata"]["trail"]
    assert counted(answer, "SoftFailures", stage="reframe") == 1


def test_decisions_are_the_same_every_time(serve: Serve) -> None:
    api, server = serve(env={"LLM_TEMPERATURE": "0.7", "LLM_MAX_TOKENS": "900"})
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
    context = system(request)[system(request).index("\nCONTEXT\n") :]
    return [line.removeprefix("Source: ") for line in context.splitlines() if line.startswith("Source: ")]


def backwards(count: int) -> str:
    return ", ".join(map(str, range(count, 0, -1)))


def test_the_model_s_ranking_is_the_order(serve: Serve) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"})
    assert counted(api.ask(MEALS), "Reranked") == 0
    other, ranked = serve(write=model(rerank=backwards), env={"ENABLE_LLM_RERANKING": "true"})
    answer = other.ask(MEALS)
    assert order(ranked.requests[-1].json) == order(server.requests[0].json)[::-1]
    assert counted(answer, "Reranked") == 1
    assert MEALS in system(asked(ranked.requests, "rerank")[0])


def test_the_re_ranking_has_a_model_of_its_own(serve: Serve) -> None:
    api, server = serve(env={"RERANK_MODEL": "small-one", "GEN_MODEL": "large-one"})
    api.ask(MEALS)
    assert [request.json["model"] for request in server.requests] == ["small-one", "large-one"]


@pytest.mark.parametrize("nonsense", ["2, 1", "1, 1, 2"])
def test_nonsense_keeps_the_order(serve: Serve, nonsense: str) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"})
    api.ask(MEALS)
    other, ranked = serve(write=model(rerank=lambda _: nonsense), env={"ENABLE_LLM_RERANKING": "true"})
    answer = other.ask(MEALS, topK=8)
    assert len(asked(ranked.requests, "rerank")) == 1
    assert order(ranked.requests[-1].json) == order(server.requests[0].json)
    assert counted(answer, "Reranked") == 0
    assert answer.json["metadata"]["skipped"] == []


@pytest.mark.parametrize("trouble", [error(500), garbage()])
def test_a_re_ranking_that_fails_is_skipped(serve: Serve, trouble: Step) -> None:
    there = reply("Ten dollars. (Source: https://ga.example.edu/abo/policies/travel-2025)")
    api, server = serve(
        trouble,
        there,
        env={
            "LLM_MODEL": "m",
            "LLM_FALLBACK_MODELS": "m",
            "RERANK_TIMEOUT_S": "60",
        },
    )
    answer = api.ask(MEALS)
    assert (answer.status, answer.json["metadata"]["skipped"]) == (200, ["rerank"])
    assert counted(answer, "SoftFailures", stage="rerank") == 1
    assert [kind_of(request.json) for request in server.requests] == ["rerank", "answer"]


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
            f"<script>steal()</script><p>(Source: {first_source(request)})</p>"
        )

    api, _ = serve(write=model(answer=html))
    answer = api.ask(MEALS)
    text = answer.json["answer"]
    assert "**58 dollars** & more." in text
    assert "- breakfast\n- dinner" in text
    assert not {"<p>", "<b>", "<li>", "<script>", "&amp;"} & set(text.replace(">", "> ").split())
    assert "steal()" not in text
    assert [citation["docId"] for citation in answer.json["citations"]] == ["ABO-002"]


def test_code_stays_as_it_is(serve: Serve) -> None:
    code = "```html\n<b>not bold</b> &amp;\n```"
    api, _ = serve(write=model(answer=lambda request: f"Write\n\n{code}\n\n(Source: {first_source(request)})"))
    assert code in api.ask(MEALS).json["answer"]


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
        (reply(f"{MEALS_SAID} (Source: {TRAVEL}) Bananas grow."), "in part"),
        (reply(f"{MEALS_SAID} (Source: {TRAVEL})", finish_reason="content_filter"), "cut"),
    ],
)
def test_what_is_not_good_enough_is_not_kept(serve: Serve, first: Step, why: str) -> None:
    good = reply(f"{MEALS_SAID} (Source: {TRAVEL})")
    api, _ = serve(first, good, env={"ENABLE_LLM_RERANKING": "false"})
    api.ask(MEALS)
    second = api.ask(MEALS)
    assert not cached(second), why
    assert cached(api.ask(MEALS))


def test_a_degraded_answer_is_not_kept(serve: Serve) -> None:
    good = reply(f"{MEALS_SAID} (Source: {TRAVEL})")
    api, _ = serve(error(500), good, env={"ENABLE_LLM_RERANKING": "false", "LLM_FALLBACK": "extractive"})
    assert api.ask(MEALS).json["metadata"]["degraded"]
    assert not cached(api.ask(MEALS))
    assert cached(api.ask(MEALS))


# --- secrets


SECRET = "Xylophone-4711"
PLANTED = f"How do I report in GaCounts? My case number is {SECRET}."


def gossip(request: Json) -> str:
    """A model that repeats whatever of the secret it sees."""
    seen = "".join(message["content"] for message in request["messages"])
    return f"It is so{' for ' + SECRET if SECRET in seen else ''}. (Source: {first_source(request)})"


def test_a_secret_of_one_session_is_in_no_other(serve: Serve) -> None:
    api, server = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(answer=gossip, reframe=lambda _: MEANT))
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
    api, _ = serve(env={"ENABLE_LLM_RERANKING": "false"}, write=model(reframe=lambda _: MEANT))
    session = api.ask(REPORTING).json["sessionId"]
    assert not cached(api.ask(FOLLOW_UP, sessionId=session))
    assert not cached(api.ask(FOLLOW_UP, sessionId=session))
    assert not cached(api.ask(MEANT)), "a stand-alone question finds nothing that a follow-up left"
    assert not cached(api.ask(FOLLOW_UP, sessionId=session)), "nor a follow-up what a stand-alone question left"
    assert cached(api.ask(MEANT))


def test_the_key_is_in_no_reply_and_no_log(serve: Serve) -> None:
    api, _ = serve(error(401), env={"ENABLE_LLM_RERANKING": "false"})
    assert api.ask(MEALS).status in {500, 503}
    assert API_KEY not in api.output
