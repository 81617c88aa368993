"""rag.profiles.service_knobs: the same variables in every profile, on where a seed has the service, off elsewhere."""

from __future__ import annotations

from importlib import import_module

import pytest
from fakes import make_services

from rag.config.settings import load
from rag.profiles.service_knobs import ServiceKnobs, answer_cache, conversation

PROFILES = ("waypoint", "gacounts", "clockify")


def knobs(profile: str, **environ: str) -> ServiceKnobs:
    read: ServiceKnobs = load(import_module(f"rag.profiles.{profile}").Knobs, environ)
    return read


@pytest.mark.parametrize(
    ("profile", "turns", "cached"), [("waypoint", 0, False), ("gacounts", 5, True), ("clockify", 0, False)]
)
def test_defaults(profile: str, turns: int, cached: bool) -> None:
    read = knobs(profile)
    assert (read.history_turns, read.cache) == (turns, cached)
    assert (conversation(read, make_services()) is not None) == bool(turns)
    assert (answer_cache(read, make_services(), 0.4) is not None) == cached


@pytest.mark.parametrize("profile", PROFILES)
def test_one_set_of_variables(profile: str) -> None:
    other = {"HISTORY_TURNS": "3", "HISTORY_CHARS": "500", "REFRAME_TIMEOUT_S": "2"}
    on, off = knobs(profile, **other, ENABLE_RESPONSE_CACHE="true"), knobs(profile, ENABLE_RESPONSE_CACHE="false")
    talk, cache = conversation(on, make_services()), answer_cache(on, make_services(), 0.4)
    assert talk is not None
    assert (talk.turns, talk.reframe.history_chars, talk.reframe.budget_s) == (3, 500, 2)
    assert cache is not None
    assert cache.bar == 0.4
    assert answer_cache(off, make_services(), 0.4) is None


@pytest.mark.parametrize("profile", PROFILES)
def test_without_a_store_there_is_neither(profile: str) -> None:
    on = knobs(profile, HISTORY_TURNS="3", ENABLE_RESPONSE_CACHE="true")
    assert conversation(on, make_services(stores=False)) is None
    assert answer_cache(on, make_services(stores=False), 0.4) is None


def test_only_gacounts_prompt_has_a_place_for_history() -> None:
    assert [knobs(profile, HISTORY_CHARS="700").prompt_history_chars for profile in PROFILES] == [0, 700, 0]
