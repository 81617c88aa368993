"""rag.config.settings and rag.config.knobs: what the environment may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.config.knobs import Configured, knob
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError
from rag.profiles.waypoint import Knobs


def test_without_a_variable_everything_has_a_default() -> None:
    settings = load(Settings, {})
    assert (settings.profile, settings.collection, settings.index_place) == (
        "waypoint",
        "waypoint_kb",
        ".index/waypoint",
    )
    assert (settings.llm_enabled, settings.llm_fallback) == (False, "none")
    assert settings.llm_fallback_models == ("openai/gpt-oss-20b",)
    assert settings.request_deadline_s == 27.0


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load(Settings, {"RAG_PROFILE": "", "REQUEST_DEADLINE_S": " "}) == load(Settings, {})


def test_white_space_around_a_value_is_not_part_of_it() -> None:
    settings = load(Settings, {"LLM_API_KEY": "key\n", "INDEX_URI": " /data ", "REQUEST_DEADLINE_S": " 5 "})
    assert settings.llm_api_key.get_secret_value() == "key"
    assert (settings.index_place, settings.request_deadline_s) == ("/data", 5.0)


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRIEVAL_TOP_K", "3")
    assert load(Knobs).top_k == 3


def test_only_documented_variables_are_read() -> None:
    # A variable that happens to be called as a field is somebody else's.
    assert load(Knobs, {"top_k": "3", "retries": "many", "temperature": "hot"}) == load(Knobs, {})
    assert load(Settings, {"profile": "other", "collection": "x"}) == load(Settings, {})


@pytest.mark.parametrize(
    ("environ", "reads"),
    [
        ({}, False),
        ({"LLM_SECRET_NAME": "a"}, True),
        ({"EMBED_SECRET_NAME": "a"}, True),
        ({"EMBED_API_KEY": "k"}, False),
    ],
)
def test_secrets_are_read_where_one_is_named(environ: dict[str, str], reads: bool) -> None:
    assert load(Settings, environ).reads_secrets is reads


@pytest.mark.parametrize(
    ("environ", "enabled"),
    [
        ({"EMBED_SECRET_NAME": "prod/embedder"}, False),
        ({}, False),
        ({"LLM_API_KEY": "key"}, True),
        ({"LLM_SECRET_NAME": "prod/llm"}, True),
        ({"LLM_BASE_URL": "http://localhost:11434/v1"}, True),
        ({"LLM_API_KEY": "  "}, False),
        ({"LLM_MODEL": "m"}, False),
    ],
)
def test_the_llm_is_on_with_a_key_or_an_explicit_address(environ: dict[str, str], enabled: bool) -> None:
    assert load(Settings, environ).llm_enabled is enabled


def test_fallback_models_are_a_list() -> None:
    assert load(Settings, {"LLM_FALLBACK_MODELS": "a/b, c ,"}).llm_fallback_models == ("a/b", "c")
    assert load(Settings, {"LLM_FALLBACK_MODELS": ","}).llm_fallback_models == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RAG_PROFILE", "unheard-of"),
        ("LLM_FALLBACK", "maybe"),
        ("REQUEST_DEADLINE_S", "0"),
        ("REQUEST_DEADLINE_S", "soon"),
        ("REQUEST_DEADLINE_S", "nan"),
        ("REQUEST_DEADLINE_S", "inf"),
        ("EMBED_THREADS", "0"),
        ("CHROMA_COLLECTION", "ab"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name) as caught:
        load(Settings, {name: value})
    assert caught.value.code == "configuration_error"


def test_no_value_is_repeated_and_every_wrong_variable_is_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(Knobs, {"RETRIEVAL_TOP_K": "s3cret", "LLM_TEMPERATURE": "s3cret"})
    told = str(caught.value)
    assert "RETRIEVAL_TOP_K" in told
    assert "LLM_TEMPERATURE" in told
    assert "s3cret" not in told
    assert caught.value.__suppress_context__


def test_the_key_does_not_show() -> None:
    settings = load(Settings, {"LLM_API_KEY": "s3cret"})
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in settings.model_dump_json()


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(Settings, {}).profile = "waypoint"


def test_prompts_come_with_the_program_or_from_a_folder(tmp_path: Path) -> None:
    assert load(Settings, {}).prompt_path("system.txt").is_file()
    elsewhere = load(Settings, {"PROMPTS_DIR": str(tmp_path)})
    assert elsewhere.prompt_path("system.txt") == tmp_path / "waypoint" / "system.txt"


def test_an_index_in_another_place() -> None:
    assert load(Settings, {"INDEX_URI": "file:///opt/index"}).index_place == "file:///opt/index"


@pytest.mark.parametrize("model", [Settings, Knobs])
def test_every_setting_is_documented_and_its_default_is_accepted(model: type[Configured]) -> None:
    variables = []
    for name, field in model.model_fields.items():
        assert field.description, name
        assert isinstance(field.validation_alias, str), name
        assert field.validation_alias.isupper(), name
        assert isinstance(field.json_schema_extra, dict), name
        assert set(field.json_schema_extra) == {"unit", "source"}, name
        variables.append(field.validation_alias)
    assert len(set(variables)) == len(variables)
    defaults = {name: getattr(model(), name) for name in model.model_fields}
    assert model.model_validate(defaults) == model()


def test_a_knob_keeps_its_bounds() -> None:
    class Two(Configured):
        size: int = knob(2, env="SIZE", doc="How big.", unit="m", source="here", ge=1, le=3)

    assert load(Two, {"SIZE": "3"}).size == 3
    with pytest.raises(ConfigurationError, match="SIZE"):
        load(Two, {"SIZE": "4"})
    assert Two.model_fields["size"].json_schema_extra == {"unit": "m", "source": "here"}
