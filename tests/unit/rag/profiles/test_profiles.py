"""rag.profiles: one registry, what its profiles have in common, and which services they have."""

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
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
from rag.config.settings import Prompts, Settings, load
from rag.errors import ConfigurationError
from rag.profiles import PROFILES, load_profile
from rag.values.answer import Answer
from rag.values.question import Question
from rag.wiring.models import build_writer
from rag.write.chat_writer import ChatWriter

INPUTS = make_inputs(FakeIndex(), make_writer(FakeChat()))


def knobs(profile: str, environ: dict[str, str]) -> Any:
    return load(load_profile(profile).settings, environ)


def test_every_file_is_a_profile_and_has_a_pipeline_of_its_name() -> None:
    assert set(PROFILES) == {"house", "waypoint", "gacounts", "clockify"}
    for name in PROFILES:
        profile = load_profile(name)
        assert profile.build(knobs(name, {}), INPUTS).profile == name
        assert profile.about.lower().startswith(f"{name}: ")
    with pytest.raises(ConfigurationError, match=r"no profile 'shared'; .* clockify, gacounts, house, waypoint$"):
        load_profile("shared")


def test_only_a_seed_has_rules_to_go_back_to() -> None:
    assert [name for name in PROFILES if load_profile(name).seed is None] == ["house"]
    with pytest.raises(ConfigurationError, match="follows no seed"):
        load_profile("house").build(knobs("house", {"SEED_RULES": "on"}), INPUTS)


def test_memory_is_on_and_the_cache_where_the_seed_has_one_and_both_are_off_without_a_store() -> None:
    stages, bare = make_services(), make_services(stores=False)
    found = {}
    for name in PROFILES:
        read = knobs(name, {})
        made = (stages.build_conversation(read).memory, stages.build_answer_cache(read, 0.4))
        found[name] = tuple(part is not None for part in made)
        assert (bare.build_conversation(read).memory, bare.build_answer_cache(read, 0.4)) == (None, None)
    assert found == {"gacounts": (True, True)} | dict.fromkeys(("house", "waypoint", "clockify"), (True, False))


def test_the_same_variables_switch_memory_and_cache_and_only_gacounts_prompt_has_a_place_for_history() -> None:
    environ = {"HISTORY_TURNS": "3", "HISTORY_CHARS": "500", "REFRAME_TIMEOUT_S": "2", "ENABLE_RESPONSE_CACHE": "true"}
    for name in PROFILES:
        on = knobs(name, environ)
        assert on.prompt_history_chars == (500 if name == "gacounts" else 0)
        talk, cache = make_services().build_conversation(on), make_services().build_answer_cache(on, 0.4)
        assert talk is not None
        assert talk.reframe is not None
        assert cache is not None
        assert (talk.turns, talk.reframe.history_chars, talk.reframe.budget_s, cache.bar) == (3, 500, 2, 0.4)
        assert make_services().build_answer_cache(knobs(name, {"ENABLE_RESPONSE_CACHE": "false"}), 0.4) is None


@pytest.mark.parametrize(
    ("profile", "field", "own", "shared"),
    [
        ("gacounts", "threshold", "MIN_SIMILARITY", "RELEVANCE_THRESHOLD"),
        ("gacounts", "llm_model", "GEN_MODEL", "LLM_MODEL"),
        ("clockify", "threshold", "DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD"),
        ("clockify", "top_k", "DEFAULT_TOP_K", "RETRIEVAL_TOP_K"),
        ("clockify", "connect_timeout_s", "CHAT_CONNECT_TIMEOUT", "LLM_CONNECT_TIMEOUT_S"),
        ("clockify", "read_timeout_s", "CHAT_READ_TIMEOUT", "LLM_READ_TIMEOUT_S"),
        ("clockify", "llm_model", "RAG_CHAT_MODEL", "LLM_MODEL"),
    ],
)
def test_the_shared_name_is_read_and_the_seeds_own_wins(profile: str, field: str, own: str, shared: str) -> None:
    told = [{shared: "1"}, {own: "1", shared: "many"}, {own: " ", shared: "1"}]
    assert {f"{float(getattr(knobs(profile, environ), field)):g}" for environ in told} == {"1"}


@pytest.mark.parametrize(("name", "value"), [("RELEVANCE_THRESHOLD", "nan"), ("MIN_SIMILARITY", "often")])
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


def test_the_re_ranking_has_its_own_model_and_without_an_llm_turns_are_still_kept() -> None:
    made, bare = make_services().build_rerank("small", budget_s=1.5, spread=0.07), make_services(chat=False)
    assert made is not None
    assert isinstance(made.chat, FakeChat)
    prompt = SERVICE_PROMPTS["rerank.txt"]
    assert (made.chat.model, made.template, made.budget_s, made.spread) == ("small", prompt, 1.5, 0.07)
    talk = bare.build_conversation(knobs("house", {}))
    assert (bare.build_rerank("m", budget_s=1.0, spread=0.05), talk.reframe) == (None, None)
    assert talk.memory is not None


def test_a_profile_s_stores_are_those_of_all() -> None:
    services = make_services()
    made = load_profile("gacounts").build(knobs("gacounts", {}), services)
    assert services.stores
    assert made.cache
    assert made.feedback
    assert made.learn
    assert made.cache.store is made.feedback.cache is services.stores.cache
    assert made.feedback.store is services.stores.feedback


def test_sessions_are_unguessable_and_accepted_by_the_service() -> None:
    made = make_services().build_conversation(knobs("house", {}))
    issued = {made.assign_session(Question(text="x")).session_id or "" for _ in range(100)}
    assert len(issued) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22,64}", session) for session in issued)


HIT = make_hit("A permit takes five working days.", title="Permits", section="Time")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("environ", "writer"),
    [
        ({"DOUBTFUL": "ask"}, "fake-model"),
        ({"DOUBTFUL": "quote"}, "extractive"),
        ({"DOUBTFUL": "decline"}, None),
        ({"RELEVANCE_THRESHOLD": "0.99"}, None),
    ],
)
def test_who_answers_where_there_is_doubt(profile: str, environ: dict[str, str], writer: str | None) -> None:
    doubted = SearchResult((HIT,), replace(make_evidence(0.5, bar=1.0), doubt=0.2))
    inputs = make_inputs(FakeIndex((HIT,)), make_writer(FakeChat("Five days.")))
    made = load_profile(profile).build(knobs(profile, environ), inputs)
    line = replace(made, retrieve=lambda _: doubted, refine=())
    answer = line.run(Question(text="How long does a permit take?"), deadline=deadline())
    assert (answer.completion and answer.completion.model, answer.refused) == (writer, writer is None)
    if writer:
        assert answer.trail[0].startswith("doubtful: the closest was 'Permits > Time'")


HITS = (
    make_hit("Leave is 25 days.", number=1, doc_id="old", title="Leave", section=""),
    make_hit("Leave is 27 days.", number=2, doc_id="new", title="Leave", section=""),
)


def answered(said: str, profile: str = "house", **environ: str) -> tuple[Answer, FakeChat]:
    chat, made = FakeChat(said), load_profile(profile)
    settings, knobs = load(Settings, {"RAG_PROFILE": profile, **environ}), load(made.settings, environ)
    writer, _ = build_writer(settings, knobs, Prompts(settings), chat)
    assert isinstance(writer, ChatWriter)
    inputs = make_inputs(FakeIndex(HITS, evidence=make_evidence(1.0)), writer, stages=make_services(stores=False))
    return made.build(knobs, inputs).run(Question(text="How much leave is there?"), deadline=deadline()), chat


def test_passages_are_cited_by_number_and_a_number_opens_its_passage() -> None:
    answer, chat = answered("Leave is 27 days [2]. It was 25 days [1].")
    assert "[1] Leave\nLeave is 2" in chat.asked[0][0].content
    assert answer.text == "Leave is 27 days [1]. It was 25 days [2]."
    assert [(one.n, one.hit.chunk.doc_id) for one in answer.references] == [(1, "new"), (2, "old")]
    assert [answer.text[mark.start : mark.end] for mark in answer.marks] == [f"[{mark.n}]" for mark in answer.marks]


def test_its_words_are_its_owners() -> None:
    _, chat = answered("No.", ASSISTANT_NAME="Harbour Bikes")
    assert chat.asked[0][0].content.startswith("You are the assistant of Harbour Bikes. You answer questions from")
    decline = "I could not find an answer to that in the documents."
    answer, plain = answered(decline, ASSISTANT_CONTACT="hello@bikes.example")
    assert plain.asked[0][0].content.startswith("You answer questions from the documents of")
    assert answer.refused
    for contact, told in (
        ("", "Other words may find it."),
        ("hello@bikes.example", "You can ask hello@bikes.example."),
    ):
        built = load_profile("house").build(knobs("house", {"ASSISTANT_CONTACT": contact}), INPUTS)
        assert built.decline_text == f"{decline} {told}"


def test_it_routes_where_somebody_asks_for_it() -> None:
    assert answered("Leave is 27 days [2].")[0].routing is None
    routing = answered("Leave is 27 days [2].", ESCALATE_BELOW="100")[0].routing
    assert (routing and routing.action) == "escalate"


FIFTH = """
from typing import ClassVar

from rag.answer.citation_forms import IdForm
from rag.find.pack import IdPacker
from rag.profiles.shared.pipeline import Profile, build_pipeline
from rag.profiles.shared.settings import LlmBaseUrl, LlmModel, MaxQueryChars, ProfileSettings, TopK


class FifthSettings(ProfileSettings):
    decline: ClassVar[str] = "No idea."
    max_query_chars: MaxQueryChars = 500
    top_k: TopK = 5
    llm_model: LlmModel = "some-model"
    llm_base_url: LlmBaseUrl = "https://llm.example/v1"


def build(settings, dependencies):
    return build_pipeline("fifth", settings, dependencies, seed=None, form=IdForm(), pack=IdPacker(2000))


PROFILE = Profile("Fifth: a profile that somebody added.", FifthSettings, build)
"""


def test_a_fifth_profile_is_a_file_a_prompt_and_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fifth.py").write_text(FIFTH.lstrip(), encoding="utf-8")
    (tmp_path / "prompts" / "fifth").mkdir(parents=True)
    (tmp_path / "prompts" / "fifth" / "system.txt").write_text("Answer from this, and cite [id_N]:\n{context}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(PROFILES, "fifth", lambda: import_module("fifth").PROFILE)
    answer, chat = answered("Leave is 27 days [id_2].", "fifth", PROMPTS_DIR=str(tmp_path / "prompts"))
    assert (answer.profile, answer.text) == ("fifth", "Leave is 27 days [id_2].")
    assert chat.asked[0][0].content.startswith("Answer from this, and cite [id_N]:\n")
