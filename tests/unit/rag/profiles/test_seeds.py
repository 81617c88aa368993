"""The profiles held to their seeds' own tables: rules with SEED_RULES=on, numbers, names and sentences."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from fakes import FakeChat, FakeIndex, deadline, make_answer, make_hit, make_inputs, make_services, make_writer

from knowledge.model.manifest import SEED_RECIPE
from knowledge.model.values import Hit, SearchResult
from rag.answer.finish import FinishedAnswer
from rag.ask.filters import parse_rules
from rag.config.settings import load
from rag.errors import QueryTooLong
from rag.find.refine import Mmr
from rag.find.retrieve import DenseRetriever, HybridRetriever
from rag.pipeline import Pipeline
from rag.profiles import PROFILES, clockify, load_profile, waypoint
from rag.profiles.shared.pipeline import describe_seed_rules
from rag.values.answer import Answer, Citation, Decline, Proceed
from rag.values.question import Question

SEED = {"SEED_RULES": "on"}
SEEDS = {name: seed for name in PROFILES if (seed := load_profile(name).seed)}


def seeded(name: str, index: FakeIndex | None = None, environ: dict[str, str] = SEED) -> Pipeline:
    profile = load_profile(name)
    inputs = make_inputs(index or FakeIndex(), make_writer(FakeChat(*["Yes."] * 9), "{context}"))
    return profile.build(load(profile.settings, environ), inputs)


def found(*cosines: float) -> tuple[Hit, ...]:
    return tuple(make_hit(number=n, cosine=cosine) for n, cosine in enumerate(cosines, start=1))


def answered(name: str, *cosines: float, environ: dict[str, str] = SEED, **fields: object) -> Answer:
    """The answer over chunks of these cosines, which dense search finds."""
    line = seeded(name, FakeIndex(found(*cosines)), {"RETRIEVER": "dense", **environ})
    return line.run(replace(Question(text="Which permit?"), **fields), deadline=deadline())  # type: ignore[arg-type]


def test_the_seeds_search() -> None:
    lines = {name: seeded(name) for name in SEEDS}
    found = {name: (type(line.retrieve), line.top_k, line.remarks) for name, line in lines.items()}
    dense = {"waypoint": (DenseRetriever, 10, None), "gacounts": (DenseRetriever, 8, None)}
    assert found == dense | {"clockify": (HybridRetriever, 15, None)}
    assert lines["clockify"].retrieve.dense_weight == 0.7  # type: ignore[attr-defined]
    assert lines["clockify"].refine == (Mmr(0.75, 8),)


# Seed, the cosines that were found, and how many of them passed (0: declined).
GATES: list[tuple[str, tuple[float, ...], int]] = [
    ("waypoint", (0.5751,), 1),  # score = 2 cos - 1 >= .15
    ("waypoint", (0.5749,), 0),
    ("waypoint", (0.9, 0.58, 0.57, 0.4), 2),
    ("gacounts", (0.75,), 1),  # top score >= .75
    ("gacounts", (0.7499,), 0),
    ("clockify", (0.26, 0.25, 0.1), 2),  # two chunks >= .25, and no more than that
    ("clockify", (0.9, 0.2499), 0),
]


@pytest.mark.parametrize(("name", "cosines", "passed"), GATES)
def test_the_seeds_gate(name: str, cosines: tuple[float, ...], passed: int) -> None:
    answer = answered(name, *cosines)
    assert (answer.chunks_retrieved, answer.refused) == (passed, passed == 0)


@pytest.mark.parametrize(
    ("name", "cosines", "level", "reason"),
    [
        # High: >= 3 chunks, mean >= .5; Medium: >= 2, mean >= .3; else Low. The scale is 2 cos - 1.
        ("waypoint", (0.8,) * 7, "High", "7 relevant sources with 1 citation"),
        ("waypoint", (0.71, 0.71, 0.71, 0.71), "Medium", "4 sources found, average relevance 42%"),
        ("waypoint", (0.61, 0.61), "Low", "Low relevance scores (avg 22%)"),
        # .80 is a good match, .75 an acceptable one.
        ("gacounts", (0.8, 0.1), "High", "best match 80%, 1 source cited"),
        ("gacounts", (0.76, 0.1), "Medium", "best match 76%, 1 source cited"),
    ],
)
def test_the_seeds_confidence(name: str, cosines: tuple[float, ...], level: str, reason: str) -> None:
    hits = found(*cosines)
    if name == "waypoint":
        hits = tuple(replace(hit, score=2 * hit.parts["dense"] - 1) for hit in hits)
    cited = (Citation(raw="", title="", section="", position=0, hit=hits[0]),)
    made = seeded(name).score(FinishedAnswer(text="word", citations=cited), Proceed(hits, len(hits)))
    assert (made.level, made.reason, made.raw) == (level, reason, None)


@pytest.mark.parametrize("environ", [SEED, {}], ids=["seed", "default"])
def test_gacounts_detected_filter_is_a_wall_in_its_seed_and_leans_by_default(environ: dict[str, str]) -> None:
    index, profile = FakeIndex(fields={"category": "str"}), load_profile("gacounts")
    rules = parse_rules('[{"keywords": ["logo"], "where": {"category": "brand"}}]')
    inputs = replace(make_inputs(index, make_writer(FakeChat())), rules=lambda: rules)
    line = profile.build(load(profile.settings, environ), inputs)
    line.run(Question(text="Where is the logo?"), deadline=deadline())
    ((search),) = index.searches
    brand = {"category": {"$eq": "brand"}}
    assert (search.where, [view.where for view in search.views]) == ((brand, []) if environ else (None, [None, brand]))


def test_what_a_person_set_wins_over_the_seeds_number_on_the_seeds_scale() -> None:
    assert answered("waypoint", 0.61, environ={**SEED, "RELEVANCE_THRESHOLD": "0.2"}).chunks_retrieved == 1
    assert answered("waypoint", 0.59, environ={**SEED, "RELEVANCE_THRESHOLD": "0.2"}).refused
    assert answered("gacounts", 0.5, environ={**SEED, "MIN_SIMILARITY": "0.5"}).chunks_retrieved == 1
    assert answered("clockify", 0.3, 0.3, environ={**SEED, "DEFAULT_THRESHOLD": "0.35"}).refused
    assert answered("clockify", 0.3, 0.3, threshold=0.3).chunks_retrieved == 2


def test_the_seeds_bars_of_the_cache() -> None:
    """An answer is kept from the cosine on from which there is one."""
    assert {name: bar(name, SEED) for name in SEEDS} == {"waypoint": 0.575, "gacounts": 0.75, "clockify": 0.25}
    assert {bar(name, {}) for name in PROFILES} == {0.4}
    assert {bar(name, {"RELEVANCE_THRESHOLD": "0.6"}) for name in PROFILES} == {0.6}


def bar(name: str, environ: dict[str, str]) -> float:
    profile = load_profile(name)
    inputs = make_inputs(FakeIndex(), make_writer(FakeChat(), "{context}"), stages=make_services())
    cache = profile.build(load(profile.settings, {"ENABLE_RESPONSE_CACHE": "on", **environ}), inputs).cache
    assert cache is not None
    return cache.bar


@pytest.mark.parametrize("name", PROFILES)
def test_without_seed_rules_one_gate_and_one_scale_for_all(name: str) -> None:
    line = seeded(name, environ={"RELEVANCE_THRESHOLD": "0.5"})
    assert type(line.retrieve).__name__ == "LateRetriever"
    assert isinstance(line.gate(SearchResult(found(0.5, 0.1)), Question(text="q")), Proceed)
    assert isinstance(line.gate(SearchResult(found(0.49, 0.49)), Question(text="q")), Decline)
    assert line.refine == ((Mmr(0.75, 8),) if name == "clockify" else ())


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("environ", [{}, SEED])
def test_a_retriever_that_somebody_names_is_the_one(name: str, environ: dict[str, str]) -> None:
    kinds = {kind: type(seeded(name, environ={**environ, "RETRIEVER": kind}).retrieve) for kind in ("dense", "hybrid")}
    assert kinds == {"dense": DenseRetriever, "hybrid": HybridRetriever}


# The seed's table: variable, field, default, and another value.
VARIABLES = [
    ("RETRIEVAL_TOP_K", "top_k", 10, 7),
    ("MAX_CONTEXT_TOKENS", "max_context_tokens", 2000, 700),
    ("LLM_MODEL", "llm_model", "llama-3.1-8b-instant", "other"),
    ("LLM_TEMPERATURE", "temperature", 0.3, 0.7),
    ("LLM_MAX_TOKENS", "max_tokens", 500, 7),
    ("LLM_BASE_URL", "llm_base_url", "https://api.groq.com/openai/v1", "https://llm.example/v1"),
]
# The seed's constants without a variable.
CONSTANTS = {"retries": 3, "backoff_base_s": 1.0, "backoff_cap_s": 10.0, "backoff_jitter": 0.25}
CONSTANTS |= {"high_count": 3, "high_mean": 0.5, "medium_count": 2, "medium_mean": 0.3}
CONSTANTS |= {"max_query_chars": 1000, "min_dice": 0.5, "min_contained": 3}


def test_the_seeds_numbers() -> None:
    numbers = load(waypoint.WaypointSettings, {}).model_dump()
    assert {name: numbers[name] for name in CONSTANTS} == CONSTANTS
    assert {name: numbers[name] for _, name, _, _ in VARIABLES} == {name: default for _, name, default, _ in VARIABLES}


def test_the_seeds_variables() -> None:
    environ = {variable: str(other) for variable, _, _, other in VARIABLES}
    changed = load(waypoint.WaypointSettings, environ).model_dump()
    assert {name: changed[name] for _, name, _, _ in VARIABLES} == {name: other for _, name, _, other in VARIABLES}


def test_the_seeds_sentence_and_categories() -> None:
    assert waypoint.WaypointSettings.decline == (
        "I don't have specific information about that in the knowledge base. "
        "Please rephrase your question or contact a specialist."
    )
    folders = {"01_regulatory": "regulatory", "02_carriers": "carrier"}
    assert folders | {"03_reference": "reference", "04_internal_synthetic": "internal"} == waypoint.CATEGORIES


def run(index: FakeIndex, chat: FakeChat, text: str = "Which permit?", **environ: str) -> None:
    inputs = make_inputs(index, make_writer(chat, "{context}"))
    knobs = load(waypoint.WaypointSettings, environ)
    waypoint.build(knobs, inputs).run(Question(text=text), deadline=deadline())


def test_every_knob_reaches_its_stage() -> None:
    hits = [make_hit(f"Text {n}.", number=n, title=f"T{n}", cosine=0.9 - n / 100) for n in range(1, 13)]
    index, chat = FakeIndex(hits), FakeChat("x")
    run(index, chat, RETRIEVAL_TOP_K="4", RELEVANCE_THRESHOLD="0.76", SEED_RULES="on")
    assert [search.k for search in index.searches] == [4]
    # Scores 2 cos - 1: .78, .76 pass, .74 and .72 do not (rounding decides on the bar itself).
    assert chat.asked[0][0].content.startswith("<<<a-mark\n[T1]\nText 1.")
    assert "[T3]" not in chat.asked[0][0].content
    with pytest.raises(QueryTooLong, match="20 characters"):
        run(index, chat, "a" * 21, MAX_QUERY_LENGTH="20")


def test_a_context_is_four_characters_a_token() -> None:
    hits = [make_hit("x" * 3000, number=n, title=f"T{n}") for n in range(1, 4)]
    chat, fences = FakeChat("x", "x"), len("<<<a-mark\n\na-mark>>>")
    run(FakeIndex(hits), chat)
    assert len(chat.asked[0][0].content) == fences + 2 * (len("[1] T1\n") + 3000 + 2) - 2
    run(FakeIndex(hits), chat, MAX_CONTEXT_TOKENS="1000")
    assert len(chat.asked[1][0].content) == fences + len("[1] T1\n") + 3000


def test_ollamas_address_with_and_without_v1() -> None:
    for address in ("http://ollama:11434", "http://ollama:11434/", "http://ollama:11434/v1/"):
        knobs = load(clockify.ClockifySettings, {"RAG_OLLAMA_URL": address})
        assert (knobs.llm_base_url, knobs.is_llm_configured) == ("http://ollama:11434/v1", True)
    unset = clockify.ClockifySettings()
    assert (unset.llm_base_url, unset.is_llm_configured) == ("http://127.0.0.1:11434/v1", False)


def test_the_gate_asks_for_no_more_chunks_than_there_can_be() -> None:
    counts = {"": 2, "DEFAULT_PACK_TOP=1": 1, "DEFAULT_TOP_K=1": 1, "MIN_COVERING_CHUNKS=9": 8}
    for said, count in counts.items():
        assert load(clockify.ClockifySettings, dict([said.split("=")] if said else [])).gate_count == count


@pytest.mark.parametrize(
    ("environ", "cosine", "level", "action"),
    [
        ({}, 0.74, "High", "return"),
        ({"ESCALATE_BELOW": "90"}, 0.6, "Low", "escalate"),
        ({"ESCALATE_BELOW": "0"}, 0.4, "Medium", "return"),
        ({"CONFIDENCE_HIGH": "99"}, 0.74, "Medium", "return"),
    ],
)
def test_levels_follow_the_routing(environ: dict[str, str], cosine: float, level: str, action: str) -> None:
    line = seeded("clockify", environ={**SEED, **environ})
    hits = tuple(make_hit(number=number, cosine=cosine) for number in range(4))
    cited = tuple(Citation(raw="", title="", section="", position=0, hit=hit) for hit in hits)
    confidence = line.score(FinishedAnswer(text="word " * 30, citations=cited), Proceed(hits, 4))
    answer = make_answer(confidence=confidence, citations=cited)
    assert line.route is not None
    assert (confidence.level, line.route(answer).action) == (level, action)


def test_a_seed_s_rules_say_what_is_left_out_and_clockifys_how_documents_are_cut() -> None:
    told = {name: describe_seed_rules(name, SEEDS[name], None) for name in SEEDS}
    assert [name for name in SEEDS if "--cut seed" in told[name]] == ["clockify"]
    cut = SimpleNamespace(recipe=SEED_RECIPE)
    assert "--cut seed" not in describe_seed_rules("clockify", SEEDS["clockify"], cut)  # type: ignore[arg-type]
    assert "intent-aware weight" in told["clockify"]
    assert "but for this" not in told["waypoint"]
