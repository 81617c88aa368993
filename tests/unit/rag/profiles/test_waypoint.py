"""rag.profiles.waypoint: the seed's numbers, names and sentences."""

from __future__ import annotations

import pytest
from fakes import FakeChat, FakeIndex, deadline, make_hit, make_inputs

from rag.config.settings import load
from rag.errors import ConfigurationError, QueryTooLong
from rag.profiles import waypoint
from rag.profiles.waypoint import CATEGORIES, DECLINE, Knobs
from rag.stages.write.chat_writer import ChatWriter
from rag.values.answer import Question

# The seed's table: variable, field, default.
SEED = [
    ("RETRIEVAL_TOP_K", "top_k", 10),
    ("RELEVANCE_THRESHOLD", "threshold", 0.15),
    ("MAX_CONTEXT_TOKENS", "max_context_tokens", 2000),
    ("LLM_MODEL", "llm_model", "llama-3.1-8b-instant"),
    ("LLM_TEMPERATURE", "temperature", 0.3),
    ("LLM_MAX_TOKENS", "max_tokens", 500),
    ("LLM_BASE_URL", "llm_base_url", "https://api.groq.com/openai/v1"),
]
# The seed's constants without a variable.
CONSTANTS = [
    ("max_query_chars", 1000),
    ("retries", 3),
    ("backoff_base_s", 1.0),
    ("backoff_cap_s", 10.0),
    ("backoff_jitter", 0.25),
    ("min_dice", 0.5),
    ("min_contained", 3),
    ("high_count", 3),
    ("high_mean", 0.5),
    ("medium_count", 2),
    ("medium_mean", 0.3),
]


@pytest.mark.parametrize(("variable", "field", "default"), SEED)
def test_the_seeds_variables(variable: str, field: str, default: object) -> None:
    assert getattr(load(Knobs, {}), field) == default
    assert Knobs.model_fields[field].validation_alias == variable
    other = "7" if isinstance(default, int) else "0.7" if isinstance(default, float) else "other"
    if field == "max_context_tokens":
        other = "700"
    assert str(getattr(load(Knobs, {variable: other}), field)) == other


@pytest.mark.parametrize(("field", "default"), CONSTANTS)
def test_the_seeds_constants(field: str, default: float) -> None:
    assert getattr(load(Knobs, {}), field) == default


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RETRIEVAL_TOP_K", "0"),
        ("RETRIEVAL_TOP_K", "51"),
        ("RETRIEVAL_TOP_K", "2.5"),
        ("RELEVANCE_THRESHOLD", "1.1"),
        ("RELEVANCE_THRESHOLD", "nan"),
        ("LLM_TEMPERATURE", "3"),
        ("LLM_MAX_TOKENS", "0"),
        ("LLM_MAX_RETRIES", "-1"),
    ],
)
def test_out_of_bounds(variable: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=variable):
        load(Knobs, {variable: value})


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
    inputs = make_inputs(index, ChatWriter(chat, "{context}"))
    return waypoint.build(knobs, inputs).run(Question(text=text), deadline=deadline()).text


def test_every_knob_reaches_its_stage() -> None:
    hits = [make_hit(f"Text {n}.", number=n, title=f"T{n}", cosine=0.9 - n / 100) for n in range(1, 13)]
    index, chat = FakeIndex(hits), FakeChat("x")
    run(load(Knobs, {"RETRIEVAL_TOP_K": "4", "RELEVANCE_THRESHOLD": "0.76"}), index, chat)
    assert [search.k for search in index.searches] == [4]
    # Scores 2 cos - 1: .78, .76 pass, .74 and .72 do not (rounding decides on the bar itself).
    assert chat.asked[0][0].content.startswith("[T1]\nText 1.")
    assert "[T3]" not in chat.asked[0][0].content


def test_a_context_is_four_characters_a_token() -> None:
    hits = [make_hit("x" * 3000, number=n, title=f"T{n}") for n in range(1, 4)]
    chat = FakeChat("x", "x")
    run(Knobs(), FakeIndex(hits), chat)
    assert len(chat.asked[0][0].content) == 2 * (len("[T1]\n") + 3000 + 2) - 2
    run(load(Knobs, {"MAX_CONTEXT_TOKENS": "1000"}), FakeIndex(hits), chat)
    assert len(chat.asked[1][0].content) == len("[T1]\n") + 3000


def test_a_cosine_of_575_is_where_declines_begin() -> None:
    assert run(Knobs(), FakeIndex([make_hit(cosine=0.5751)]), FakeChat("Answer.")) == "Answer."
    assert run(Knobs(), FakeIndex([make_hit(cosine=0.5749)]), FakeChat()) == DECLINE


def test_the_longest_question() -> None:
    with pytest.raises(QueryTooLong, match="20 characters"):
        run(load(Knobs, {"MAX_QUERY_LENGTH": "20"}), FakeIndex(), FakeChat(), "a" * 21)
