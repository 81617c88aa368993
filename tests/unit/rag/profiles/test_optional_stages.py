"""rag.profiles.shared.optional_stages: a service is there when what it needs is."""

from __future__ import annotations

import re

import pytest
from fakes import SERVICE_PROMPTS, FakeChat, make_services

from rag.profiles.shared.optional_stages import OptionalStages
from rag.values.question import Question


def conversation(of: OptionalStages, turns: int = 5) -> object:
    return of.conversation(turns=turns, history_chars=4000, budget_s=5.0, decline="No.")


def test_without_an_llm_nothing_is_re_ranked_or_rewritten_and_turns_are_still_kept() -> None:
    bare = make_services(chat=False)
    assert bare.rerank("m", budget_s=1.0, spread=0.05) is None
    made = bare.conversation(turns=5, history_chars=4000, budget_s=5.0, decline="No.")
    assert made is not None
    assert made.reframe is None


def test_the_re_ranking_has_its_own_model() -> None:
    made = make_services().rerank("small", budget_s=1.5, spread=0.07)
    assert made is not None
    assert isinstance(made.chat, FakeChat)
    assert (made.chat.model, made.template, made.budget_s, made.spread) == (
        "small",
        SERVICE_PROMPTS["rerank.txt"],
        1.5,
        0.07,
    )


def test_the_stores_are_those_of_all_make_services() -> None:
    of = make_services()
    cache, log, learn = of.answer_cache(0.4), of.feedback_log(), of.learn()
    assert of.stores is not None
    assert cache is not None
    assert log is not None
    assert learn is not None
    assert cache.store is log.cache is of.stores.cache
    assert log.store is of.stores.feedback
    assert cache.bar == pytest.approx(0.4)


def test_sessions_are_unguessable_and_accepted_by_the_service() -> None:
    made = make_services().conversation(turns=5, history_chars=4000, budget_s=5.0, decline="No.")
    assert made is not None
    issued = {made.identified(Question(text="x")).session_id or "" for _ in range(100)}
    assert len(issued) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22,64}", session) for session in issued)
