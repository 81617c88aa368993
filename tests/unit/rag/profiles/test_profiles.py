"""rag.profiles: one registry, what its profiles have in common, and which services they have."""

import re
from dataclasses import replace
from typing import Any

import pytest
from fakes import (
    SERVICE_PROMPTS,
    FakeChat,
    FakeIndex,
    deadline,
    make_evidence,
    make_hit,
    make_inputs,
    make_services,
    make_writer,
)

from knowledge.model.values import SearchResult
from rag.config.settings import load
from rag.errors import ConfigurationError
from rag.pipeline import Pipeline
from rag.profiles import PROFILES, load_profile
from rag.values.question import Question, SearchQuery

# Profile, field, the seed's own variable (which wins), and the name that all profiles share.
SHARED: list[tuple[str, str, str, str]] = [
    ("gacounts", "threshold", "MIN_SIMILARITY", "RELEVANCE_THRESHOLD"),
    ("gacounts", "llm_model", "GEN_MODEL", "LLM_MODEL"),
    ("clockify", "threshold", "DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD"),
    ("clockify", "top_k", "DEFAULT_TOP_K", "RETRIEVAL_TOP_K"),
    ("clockify", "connect_timeout_s", "CHAT_CONNECT_TIMEOUT", "LLM_CONNECT_TIMEOUT_S"),
    ("clockify", "read_timeout_s", "CHAT_READ_TIMEOUT", "LLM_READ_TIMEOUT_S"),
    ("clockify", "llm_model", "RAG_CHAT_MODEL", "LLM_MODEL"),
]


def knobs(profile: str, environ: dict[str, str]) -> Any:
    return load(load_profile(profile).settings, environ)


def test_every_file_is_a_profile_and_has_a_pipeline_of_its_name() -> None:
    assert set(PROFILES) == {"house", "waypoint", "gacounts", "clockify"}
    assert len(PROFILES) == 4
    for name in PROFILES:
        profile = load_profile(name)
        built = profile.build(knobs(name, {}), make_inputs(FakeIndex(), make_writer(FakeChat(), "{context}")))
        assert built.profile == name
        assert profile.about.lower().startswith(f"{name}: ")
    with pytest.raises(ConfigurationError, match=r"no profile 'shared'; .* clockify, gacounts, house, waypoint$"):
        load_profile("shared")


def test_only_a_seed_has_rules_to_go_back_to() -> None:
    assert [name for name in PROFILES if load_profile(name).seed is None] == ["house"]
    with pytest.raises(ConfigurationError, match="follows no seed"):
        load_profile("house").build(
            knobs("house", {"SEED_RULES": "on"}), make_inputs(FakeIndex(), make_writer(FakeChat(), "{context}"))
        )


def test_memory_is_on_and_the_cache_where_the_seed_has_one_and_both_are_off_without_a_store() -> None:
    stages, bare = make_services(), make_services(stores=False)
    found = {}
    for name in PROFILES:
        read = knobs(name, {})
        made = (stages.build_conversation(read).memory, stages.build_answer_cache(read, 0.4))
        found[name] = tuple(part is not None for part in made)
        assert (bare.build_conversation(read).memory, bare.build_answer_cache(read, 0.4)) == (None, None)
    assert found == {"gacounts": (True, True)} | dict.fromkeys(("house", "waypoint", "clockify"), (True, False))


def test_the_same_variables_switch_memory_and_cache_in_every_profile() -> None:
    environ = {"HISTORY_TURNS": "3", "HISTORY_CHARS": "500", "REFRAME_TIMEOUT_S": "2", "ENABLE_RESPONSE_CACHE": "true"}
    for name in PROFILES:
        on = knobs(name, environ)
        talk, cache = make_services().build_conversation(on), make_services().build_answer_cache(on, 0.4)
        assert talk is not None
        assert talk.reframe is not None
        assert cache is not None
        assert (talk.turns, talk.reframe.history_chars, talk.reframe.budget_s, cache.bar) == (3, 500, 2, 0.4)
        assert make_services().build_answer_cache(knobs(name, {"ENABLE_RESPONSE_CACHE": "false"}), 0.4) is None


def test_only_gacounts_prompt_has_a_place_for_history() -> None:
    found = {name: knobs(name, {"HISTORY_CHARS": "700"}).prompt_history_chars for name in PROFILES}
    assert found == {"house": 0, "waypoint": 0, "gacounts": 700, "clockify": 0}


def test_the_shared_name_is_read_and_the_seeds_own_wins() -> None:
    for profile, field, own, shared in SHARED:
        told = [{shared: "1"}, {own: "1", shared: "many"}, {own: " ", shared: "1"}]
        assert {f"{float(getattr(knobs(profile, environ), field)):g}" for environ in told} == {"1"}, (profile, field)


@pytest.mark.parametrize("value", ["nan", "often"])
@pytest.mark.parametrize("name", ["RELEVANCE_THRESHOLD", "MIN_SIMILARITY"])
def test_an_error_names_the_variable_that_was_set(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^Wrong setting\. {name}: "):
        knobs("gacounts", {name: value})


def test_a_threshold_by_either_name_is_one_that_a_person_set() -> None:
    names = {"gacounts": "MIN_SIMILARITY", "clockify": "DEFAULT_THRESHOLD"}
    for profile in PROFILES:
        assert knobs(profile, {names.get(profile, "RELEVANCE_THRESHOLD"): "0.7"}).threshold_or(None) == 0.7
        assert knobs(profile, {"RELEVANCE_THRESHOLD": "-0.7"}).threshold_or(None) == -0.7
        for unset in ({}, {"RELEVANCE_THRESHOLD": "auto"}):
            assert knobs(profile, unset).threshold_or(None) is None


def test_without_an_llm_nothing_is_re_ranked_or_rewritten_and_turns_are_still_kept() -> None:
    bare = make_services(chat=False)
    assert bare.build_rerank("m", budget_s=1.0, spread=0.05) is None
    made = bare.build_conversation(knobs("house", {}))
    assert made is not None
    assert made.reframe is None


def test_the_re_ranking_has_its_own_model() -> None:
    made = make_services().build_rerank("small", budget_s=1.5, spread=0.07)
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
    made = load_profile("gacounts").build(knobs("gacounts", {"RELEVANCE_THRESHOLD": "0.4"}), of)
    cache, log, learn = made.cache, made.feedback, made.learn
    assert of.stores is not None
    assert cache is not None
    assert log is not None
    assert learn is not None
    assert cache.store is log.cache is of.stores.cache
    assert log.store is of.stores.feedback
    assert cache.bar == pytest.approx(0.4)


def test_sessions_are_unguessable_and_accepted_by_the_service() -> None:
    made = make_services().build_conversation(knobs("house", {}))
    assert made is not None
    issued = {made.assign_session(Question(text="x")).session_id or "" for _ in range(100)}
    assert len(issued) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22,64}", session) for session in issued)


HIT = make_hit("A permit takes five working days.", title="Permits", section="Time")
DOUBTED = replace(make_evidence(0.5, bar=1.0), doubt=0.2)


def line(profile: str, **environ: str) -> Pipeline:
    shape = load_profile(profile)
    inputs = make_inputs(FakeIndex((HIT,)), make_writer(FakeChat(*["Five days."] * 9), "{context}"))
    made = shape.build(load(shape.settings, environ), inputs)
    return replace(made, retrieve=found, refine=())


def found(query: SearchQuery) -> SearchResult:
    return SearchResult((HIT,), DOUBTED)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("environ", "writes"),
    [
        ({"DOUBTFUL": "ask"}, "model"),
        ({"DOUBTFUL": "quote"}, "extractive"),
        ({"DOUBTFUL": "decline"}, None),
        ({"RELEVANCE_THRESHOLD": "0.99"}, None),
    ],
)
def test_who_answers_where_there_is_doubt(profile: str, environ: dict[str, str], writes: str | None) -> None:
    answer = line(profile, **environ).run(Question(text="How long does a permit take?"), deadline=deadline())

    made = answer.completion
    assert (made and ("extractive" if made.model == "extractive" else "model")) == writes
    assert answer.refused is (writes is None)
    if writes:
        assert answer.trail[0].startswith("doubtful: the closest was 'Permits > Time'")
