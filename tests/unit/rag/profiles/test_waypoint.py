"""rag.profiles.waypoint: the seed's numbers, names and sentences."""

from __future__ import annotations

import pytest
from fakes import FakeChat, FakeIndex, deadline, make_hit, make_inputs, make_writer

from rag.config.settings import load
from rag.errors import QueryTooLong
from rag.profiles import waypoint
from rag.profiles.waypoint import CATEGORIES, DECLINE, Knobs
from rag.values.question import Question

# The seed's table: variable, field, default, and another value.
SEED = [
    ("RETRIEVAL_TOP_K", "top_k", 10, 7),
    ("MAX_CONTEXT_TOKENS", "max_context_tokens", 2000, 700),
    ("LLM_MODEL", "llm_model", "llama-3.1-8b-instant", "other"),
    ("LLM_TEMPERATURE", "temperature", 0.3, 0.7),
    ("LLM_MAX_TOKENS", "max_tokens", 500, 7),
    ("LLM_BASE_URL", "llm_base_url", "https://api.groq.com/openai/v1", "https://llm.example/v1"),
]
# The seed's constants without a variable.
CONSTANTS = {
    "max_query_chars": 1000,
    "retries": 3,
    "backoff_base_s": 1.0,
    "backoff_cap_s": 10.0,
    "backoff_jitter": 0.25,
    "min_dice": 0.5,
    "min_contained": 3,
    "high_count": 3,
    "high_mean": 0.5,
    "medium_count": 2,
    "medium_mean": 0.3,
}


def test_the_seeds_numbers() -> None:
    numbers = load(Knobs, {}).model_dump()
    assert {name: numbers[name] for name in CONSTANTS} == CONSTANTS
    assert {name: numbers[name] for _, name, _, _ in SEED} == {name: default for _, name, default, _ in SEED}


def test_the_seeds_variables() -> None:
    changed = load(Knobs, {variable: str(other) for variable, _, _, other in SEED}).model_dump()
    assert {name: changed[name] for _, name, _, _ in SEED} == {name: other for _, name, _, other in SEED}


def test_the_seeds_sentence_and_categories() -> None:
    assert DECLINE == (
        "I don't have specific information about that in the knowledge base. "
        "Please rephrase your question or contact a specialist."
    )
    assert CATEGORIES == {
        "01_regulatory": "regulatory",
        "02_carriers": "carrier",
        "03_reference": "reference",
        "04_internal_synthetic": "internal",
    }


def run(knobs: Knobs, index: FakeIndex, chat: FakeChat, text: str = "Which permit?") -> str:
    inputs = make_inputs(index, make_writer(chat, "{context}"))
    return waypoint.build(knobs, inputs).run(Question(text=text), deadline=deadline()).text


def test_every_knob_reaches_its_stage() -> None:
    hits = [make_hit(f"Text {n}.", number=n, title=f"T{n}", cosine=0.9 - n / 100) for n in range(1, 13)]
    index, chat = FakeIndex(hits), FakeChat("x")
    environ = {"RETRIEVAL_TOP_K": "4", "RELEVANCE_THRESHOLD": "0.76", "SEED_RULES": "on"}
    run(load(Knobs, environ), index, chat)
    assert [search.k for search in index.searches] == [4]
    # Scores 2 cos - 1: .78, .76 pass, .74 and .72 do not (rounding decides on the bar itself).
    assert chat.asked[0][0].content.startswith("<<<a-mark\n[T1]\nText 1.")
    assert "[T3]" not in chat.asked[0][0].content


FENCES = len("<<<a-mark\n\na-mark>>>")


def test_a_context_is_four_characters_a_token() -> None:
    hits = [make_hit("x" * 3000, number=n, title=f"T{n}") for n in range(1, 4)]
    chat = FakeChat("x", "x")
    run(Knobs(), FakeIndex(hits), chat)
    assert len(chat.asked[0][0].content) == FENCES + 2 * (len("[T1]\n") + 3000 + 2) - 2
    run(load(Knobs, {"MAX_CONTEXT_TOKENS": "1000"}), FakeIndex(hits), chat)
    assert len(chat.asked[1][0].content) == FENCES + len("[T1]\n") + 3000


def test_the_longest_question() -> None:
    with pytest.raises(QueryTooLong, match="20 characters"):
        run(load(Knobs, {"MAX_QUERY_LENGTH": "20"}), FakeIndex(), FakeChat(), "a" * 21)
