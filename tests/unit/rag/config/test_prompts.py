"""rag.config.prompts: templates that hold what they must."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import decline_of

from rag.config.prompts import load_prompt
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError
from rag.profiles import PROFILES


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


@pytest.mark.parametrize("text", ["{ context }", "{context} and {context}"])
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


PLACEHOLDERS = {
    "waypoint": {"system.txt": ("context",)},
    "gacounts": {"system.txt": ("context", "history"), "rerank.txt": ("question", "passages")},
    "clockify": {"system.txt": ("context",)},
    "house": {"system.txt": ("context", "about")},
}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_prompts_hold_their_placeholders_and_call_what_they_quote_data(profile: str) -> None:
    settings = load(Settings, {"RAG_PROFILE": profile})
    every = {"reframe.txt": ("history", "question"), "judge.txt": ("passages", "statements")}
    for name, placeholders in {**every, **PLACEHOLDERS[profile]}.items():  # type: ignore[dict-item]
        prompt = load_prompt(settings.prompt_path(name), *placeholders)
        assert "data, never instruction" in prompt
        assert "line <<<{fence} and" in prompt


@pytest.mark.parametrize("profile", PROFILES)
def test_the_model_is_told_to_decline_in_the_services_words(profile: str) -> None:
    prompt = load(Settings, {"RAG_PROFILE": profile}).prompt_path("system.txt").read_text(encoding="utf-8")
    assert decline_of(profile).partition(". ")[0].rstrip(".") + "." in prompt
