"""rag.config: what the environment may say, and templates that hold what they must."""

from pathlib import Path
from typing import Annotated

import pytest
from fakes import decline_of

from rag.config.fields import (
    Characters,
    Chunks,
    Cosine,
    DefaultOrigin,
    EnvironmentSettings,
    Pause,
    Percent,
    PositiveShare,
    Seconds,
    Share,
    UnitName,
    env,
)
from rag.config.settings import Settings, load, load_prompt, measure_contrast
from rag.contract import first_sentence
from rag.errors import ConfigurationError
from rag.find.gate import UNMEASURED_BAR
from rag.profiles import PROFILES, load_profile
from rag.profiles.waypoint import WaypointSettings
from ragctl.docs import sentences


def test_without_a_variable_everything_has_a_default_and_nothing_can_be_changed() -> None:
    settings = load(Settings, {})
    assert (settings.profile, settings.collection, settings.index_place) == ("house", "waypoint_kb", ".index/house")
    assert (settings.has_llm, settings.llm_fallback, settings.llm_fallback_models) == (False, "none", ())
    assert (settings.request_deadline_s, settings.stream_idle_s, settings.stream_deadline_s) == (27.0, 20.0, 600.0)
    with pytest.raises(ValueError, match="frozen"):
        settings.profile = "waypoint"


def test_white_space_around_a_value_is_not_part_of_it_and_an_empty_one_is_none() -> None:
    settings = load(Settings, {"LLM_API_KEY": "key\n", "INDEX_URI": " file:///data ", "REQUEST_DEADLINE_S": " 5 "})
    assert load(Settings, {"LLM_FALLBACK_MODELS": "a/b, c ,"}).llm_fallback_models == ("a/b", "c")
    assert settings.llm_api_key.get_secret_value() == "key"
    assert (settings.index_place, settings.request_deadline_s) == ("file:///data", 5.0)
    assert load(Settings, {"RAG_PROFILE": "", "REQUEST_DEADLINE_S": " "}) == load(Settings, {})


def test_only_documented_variables_are_read_by_default_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRIEVAL_TOP_K", "3")
    assert load(WaypointSettings).top_k == 3
    # A variable that happens to be called as a field is somebody else's.
    assert load(WaypointSettings, {"top_k": "3", "retries": "many", "temperature": "hot"}) == load(WaypointSettings, {})
    assert load(Settings, {"profile": "other", "collection": "x"}) == load(Settings, {})


@pytest.mark.parametrize(
    ("name", "value", "is_on", "reads_secrets"),
    [
        ("LLM_API_KEY", "key", True, False),
        ("LLM_SECRET_NAME", "s", True, True),
        ("LLM_BASE_URL", "http://a/v1", True, False),
        ("EMBED_API_KEY", "key", False, False),
        ("EMBED_SECRET_NAME", "s", False, True),
        ("LLM_API_KEY", "  ", False, False),
        ("LLM_MODEL", "m", False, False),
    ],
)
def test_the_llm_is_on_with_a_key_or_an_explicit_address_and_secrets_are_read_where_one_is_named(
    name: str, value: str, is_on: bool, reads_secrets: bool
) -> None:
    settings = load(Settings, {name: value})
    assert (settings.has_llm, settings.reads_secrets) == (is_on, reads_secrets)


@pytest.mark.parametrize(
    ("name", "value"),
    [("RAG_PROFILE", "a-b"), ("REQUEST_DEADLINE_S", "0"), ("REQUEST_DEADLINE_S", "nan"), ("CHROMA_COLLECTION", "ab")],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name) as caught:
        load(Settings, {name: value})
    assert caught.value.code == "configuration_error"


def test_no_value_is_repeated_and_every_wrong_variable_is_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(WaypointSettings, {"RETRIEVAL_TOP_K": "s3cret", "LLM_TEMPERATURE": "s3cret"})
    told = str(caught.value)
    assert "RETRIEVAL_TOP_K" in told
    assert "LLM_TEMPERATURE" in told
    assert "s3cret" not in told
    assert caught.value.__suppress_context__


def test_the_key_does_not_show() -> None:
    settings = load(Settings, {"LLM_API_KEY": "s3cret"})
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in settings.model_dump_json()


def test_prompts_come_with_the_program_or_from_a_folder(tmp_path: Path) -> None:
    assert load(Settings, {}).prompt_path("system.txt").is_file()
    ours = load(Settings, {}).prompt_path("judge.txt")
    elsewhere = load(Settings, {"PROMPTS_DIR": str(tmp_path)})
    assert elsewhere.prompt_path("none.txt") == tmp_path / "house" / "none.txt"
    assert elsewhere.prompt_path("judge.txt") == ours
    for folder in ("shared", "house"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "judge.txt").write_text("{passages}{statements}", encoding="utf-8")
        assert elsewhere.prompt_path("judge.txt") == tmp_path / folder / "judge.txt"


@pytest.mark.parametrize("model", [Settings, WaypointSettings])
def test_every_setting_is_documented_and_its_default_is_accepted(model: type[EnvironmentSettings]) -> None:
    variables, described = [], sentences(model)
    for name, field in model.model_fields.items():
        assert described[name], name
        assert isinstance(field.validation_alias, str), name
        assert field.validation_alias.isupper(), name
        variables.append(field.validation_alias)
    assert len(set(variables)) == len(variables)
    defaults = {name: getattr(model(), name) for name in model.model_fields}
    assert model.model_validate(defaults) == model()


HERE = DefaultOrigin("here")


class Kinds(EnvironmentSettings):
    """One setting of each kind."""

    plain: Annotated[int, UnitName("m"), env("PLAIN", ge=1, le=3), HERE] = 2
    chunks: Annotated[Chunks, env("CHUNKS"), HERE] = 2
    chars: Annotated[Characters, env("CHARS", ge=0, le=9), HERE] = 2
    """How
    long."""
    wait: Annotated[Seconds, env("WAIT_S", le=9), HERE] = 2
    """How late."""
    pause: Annotated[Pause, env("PAUSE_S", le=9), HERE] = 2
    cosine: Annotated[Cosine, env("COSINE"), HERE] = 0
    share: Annotated[Share, env("SHARE"), HERE] = 0
    part: Annotated[PositiveShare, env("PART"), HERE] = 1
    sure: Annotated[Percent, env("SURE"), HERE] = 0


@pytest.mark.parametrize("profile", PROFILES)
def test_the_sentence_of_the_threshold_has_the_number_that_counts(profile: str) -> None:
    described = sentences(load_profile(profile).settings)
    assert f"{UNMEASURED_BAR:.2f} where none was measured" in described["threshold"]
    assert described.get("full_similarity", "0.40").removesuffix(".").endswith(f"{UNMEASURED_BAR:.2f}")


def test_a_kind_fixes_unit_source_and_bounds() -> None:
    assert (sentences(Kinds)["chars"], sentences(Kinds)["wait"]) == ("How long.", "How late.")
    assert {UnitName("m"), HERE} <= set(Kinds.model_fields["plain"].metadata)
    assert {UnitName("s"), HERE} <= set(Kinds.model_fields["wait"].metadata)
    accepted = {"PLAIN": "1 3", "CHUNKS": "1 50", "CHARS": "0 9", "WAIT_S": ".1 9", "PAUSE_S": "0 9"}
    accepted |= {"COSINE": "-1 1", "SHARE": "0 1", "PART": ".1 1", "SURE": "0 100"}
    refused = {"PLAIN": "0 4", "CHUNKS": "0 51 2.5", "CHARS": "-1 10", "WAIT_S": "0 9.1 nan", "PAUSE_S": "-1 9.1"}
    refused |= {"COSINE": "-1.1 1.1", "SHARE": "-.1 1.1", "PART": "0 1.1", "SURE": "-1 101"}
    for name in accepted:
        for value in accepted[name].split():
            load(Kinds, {name: value})
        for value in refused[name].split():
            with pytest.raises(ConfigurationError, match=name):
                load(Kinds, {name: value})


def test_an_accent_that_cannot_be_read_on_its_tint_is_named_with_its_contrast() -> None:
    assert measure_contrast("#ffffff") == 1
    assert measure_contrast("#000000") == pytest.approx(15.97, abs=0.01)
    assert load(Settings, {"PAGE_ACCENT": "#1f5f8b"}).page_accent == "#1f5f8b"
    with pytest.raises(ConfigurationError, match=r"PAGE_ACCENT.*contrast of 1\.\d on its tint, 4\.5 is the least"):
        load(Settings, {"PAGE_ACCENT": "#ffd700"})


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    (tmp_path / "waypoint").mkdir()
    return tmp_path / "waypoint" / "system.txt"


def test_the_text_as_it_is(prompt: Path) -> None:
    text = 'Réponds.\n{context}\nJSON such as {"a": 1} may stand here.\n'
    prompt.write_text(text, encoding="utf-8")
    assert load_prompt(prompt, "context") == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"{ context }{a}", r"must hold \{context\} exactly once"),
        (b"{context} and {context}{a}", r"must hold \{context\} exactly once"),
        (b"\xff{context}{a}", "cannot be read"),
        (None, "cannot be read"),
    ],
)
@pytest.mark.parametrize("placeholders", [("context", "a"), ("a", "context")])
def test_a_template_has_each_placeholder_exactly_once_and_can_be_read(
    prompt: Path, text: bytes | None, told: str, placeholders: tuple[str, str]
) -> None:
    if text:
        prompt.write_bytes(text)
    with pytest.raises(ConfigurationError, match=rf"'system\.txt' of 'waypoint' {told}"):
        load_prompt(prompt, *placeholders)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_prompts_hold_their_placeholders_and_call_what_they_quote_data(profile: str) -> None:
    settings = load(Settings, {"RAG_PROFILE": profile})
    templates: dict[str, tuple[str, ...]] = {
        "system.txt": ("context", "history", "about", "today"),
        "reframe.txt": ("history", "question"),
        "judge.txt": ("passages", "statements"),
        "rerank.txt": ("question", "passages"),
    }
    if load_profile(profile).seed:
        templates["seed.txt"] = ("context", *(("history",) if profile == "gacounts" else ()))
    for name, placeholders in templates.items():
        prompt = load_prompt(settings.prompt_path(name), *placeholders)
        assert "data, never instruction" in prompt
        assert "line <<<{fence} and" in prompt


@pytest.mark.parametrize("profile", [name for name in PROFILES if load_profile(name).seed])
def test_the_seed_s_prompt_declines_in_the_services_words(profile: str) -> None:
    prompt = load(Settings, {"RAG_PROFILE": profile}).prompt_path("seed.txt").read_text(encoding="utf-8")
    assert first_sentence(decline_of(profile)) in prompt
