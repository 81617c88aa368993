"""rag.config.prompts: templates that hold what they must."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.config.prompts import load_prompt
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError
from rag.profiles.waypoint import DECLINE


@pytest.fixture
def template(tmp_path: Path) -> Path:
    return tmp_path / "waypoint" / "system.txt"


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_text_as_it_is(template: Path) -> None:
    text = 'Réponds.\n{context}\nJSON such as {"a": 1} may stand here.\n'
    assert load_prompt(write(template, text), "context") == text


@pytest.mark.parametrize("text", ["", "no placeholder", "{ context }", "{context} and {context}"])
def test_each_placeholder_exactly_once(template: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"'system.txt' of 'waypoint' must hold \{context\} exactly once"):
        load_prompt(write(template, text), "context")


def test_a_second_placeholder_is_looked_for_too(template: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"\{history\}"):
        load_prompt(write(template, "{context}"), "context", "history")


def test_a_template_that_cannot_be_read(template: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'system\.txt' of 'waypoint' cannot be read"):
        load_prompt(template, "context")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_prompt(write(template, b"\xff{context}"), "context")


@pytest.mark.parametrize("profile", ["waypoint", "gacounts", "clockify"])
def test_every_profile_can_rewrite_a_follow_up(profile: str) -> None:
    path = load(Settings, {"RAG_PROFILE": profile}).prompt_path("reframe.txt")
    assert "data, never instruction" in load_prompt(path, "history", "question")


def test_waypoints_prompt_tells_the_model_to_decline_in_the_services_words() -> None:
    prompt = load_prompt(load(Settings, {}).prompt_path("system.txt"), "context")
    opening = DECLINE.partition(". ")[0] + "."
    assert opening in prompt
    assert "[Title > Section]" in prompt
