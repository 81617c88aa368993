"""The variables that mean the same in several profiles: one name for all, and the seed's own, which wins."""

from __future__ import annotations

from importlib import import_module

import pytest

from rag.config.knobs import Configured
from rag.config.settings import load
from rag.errors import ConfigurationError
from rag.profiles import clockify, gacounts

SHARED = [
    ("gacounts", "min_similarity", "MIN_SIMILARITY", "RELEVANCE_THRESHOLD"),
    ("gacounts", "llm_model", "GEN_MODEL", "LLM_MODEL"),
    ("clockify", "threshold", "DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD"),
    ("clockify", "top_k", "DEFAULT_TOP_K", "RETRIEVAL_TOP_K"),
    ("clockify", "connect_timeout_s", "CHAT_CONNECT_TIMEOUT", "LLM_CONNECT_TIMEOUT_S"),
    ("clockify", "read_timeout_s", "CHAT_READ_TIMEOUT", "LLM_READ_TIMEOUT_S"),
    ("clockify", "llm_model", "RAG_CHAT_MODEL", "LLM_MODEL"),
]


def knobs(profile: str, environ: dict[str, str]) -> Configured:
    read: Configured = load(import_module(f"rag.profiles.{profile}").Knobs, environ)
    return read


@pytest.mark.parametrize(("profile", "field", "own", "shared"), SHARED)
def test_the_shared_name_is_read_and_the_seeds_own_wins(profile: str, field: str, own: str, shared: str) -> None:
    def value(environ: dict[str, str]) -> str:
        return f"{getattr(knobs(profile, environ), field):}"

    assert value({shared: "1"}) in ("1", "1.0")
    assert value({own: "1", shared: "many"}) == value({own: "1"}) == value({shared: "1"})
    assert value({own: " ", shared: "1"}) == value({shared: "1"})


@pytest.mark.parametrize(("profile", "shared"), [("gacounts", "RELEVANCE_THRESHOLD"), ("clockify", "RETRIEVAL_TOP_K")])
def test_an_error_names_the_variable_that_was_set(profile: str, shared: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^Wrong setting\. {shared}: "):
        knobs(profile, {shared: "99"})


def test_a_threshold_by_either_name_is_one_that_a_person_set() -> None:
    # DESIGN.md, decision 11: it replaces what holds for the local embedding model.
    for name in ("MIN_SIMILARITY", "RELEVANCE_THRESHOLD"):
        assert load(gacounts.Knobs, {name: "0.7"}).bar(gacounts.LOCAL_MODEL) == 0.7
    for name in ("DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD"):
        assert load(clockify.Knobs, {name: "0.3"}).gate_best == 0.3
        assert load(clockify.Knobs, {name: "0.3", "MIN_BEST_SIMILARITY": "0.6"}).gate_best == 0.6
    assert (load(gacounts.Knobs, {}).bar(gacounts.LOCAL_MODEL), load(clockify.Knobs, {}).gate_best) == (0.4, 0.4)
