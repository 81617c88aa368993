"""Where the chat model is decides how long it is awaited, and which models may stand in for it."""

from typing import Any

import pytest

from rag.config.settings import Settings, load
from rag.profiles import load_profile
from rag.wiring.models import ChatModels, allow_local_time, is_local

LOCAL, REMOTE = "http://localhost:11434/v1", "https://api.openai.com/v1"
ADDRESSES = {
    LOCAL: True,
    "http://[::1]:8080/v1": True,
    "http://192.168.1.20:1234/v1": True,
    "http://host.docker.internal:11434/v1": True,
    "http://gpu.local/v1": True,
    REMOTE: False,
    "https://8.8.8.8/v1": False,
    "nonsense": False,
    "http://[::1": False,
}


@pytest.mark.parametrize(("url", "local"), ADDRESSES.items())
def test_an_address_here_or_on_a_private_network_is_local(url: str, local: bool) -> None:
    assert is_local(url) is local


@pytest.mark.parametrize(
    ("profile", "given", "deadline_s"),
    [
        ("house", {"LLM_BASE_URL": LOCAL}, 120),
        ("clockify", {"RAG_OLLAMA_URL": "http://localhost:11434"}, 120),
        ("house", {"LLM_BASE_URL": LOCAL, "REQUEST_DEADLINE_S": "9"}, 9),
        ("house", {"LLM_BASE_URL": REMOTE}, 27),
        ("clockify", {}, 27),
    ],
    ids=["local", "local by the seed's variable", "set", "remote", "no model"],
)
def test_a_local_model_may_take_longer_unless_a_deadline_is_set(
    profile: str, given: dict[str, str], deadline_s: float
) -> None:
    knobs = load(load_profile(profile).settings, given)
    settings = load(Settings, {"RAG_PROFILE": profile, **given})
    assert allow_local_time(settings, knobs).request_deadline_s == deadline_s


@pytest.mark.parametrize(
    ("given", "fallback"),
    [
        ({"LLM_API_KEY": "k"}, ("openai/gpt-oss-20b",)),
        ({"LLM_BASE_URL": REMOTE}, ()),
        ({"LLM_BASE_URL": LOCAL}, ()),
        ({"LLM_BASE_URL": REMOTE, "LLM_FALLBACK_MODELS": "gpt-4o-mini"}, ("gpt-4o-mini",)),
    ],
    ids=["Groq", "OpenAI", "local", "set"],
)
def test_no_model_of_another_vendor_stands_in(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], fallback: tuple[str, ...]
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("rag.wiring.models.build_chat_model", made.append)
    ChatModels(load(Settings, given), load(load_profile("house").settings, given)).answer_model()
    assert [config.fallback_models for config in made] == [fallback]
