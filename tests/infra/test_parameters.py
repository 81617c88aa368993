"""Parameters and the program's settings: the same names, the same bounds, an effect where the description says so."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from cloudformation import EFS, ask_sam
from pydantic.fields import FieldInfo

from rag.config.fields import EnvironmentSettings, variable_names
from rag.config.settings import DEFAULT_PROFILE, Settings, load
from rag.errors import ConfigurationError
from rag.profiles import PROFILES, load_profile

pytestmark = pytest.mark.build

NOT_THE_PROGRAMS = {"POWERTOOLS_METRICS_NAMESPACE", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"}
NOT_A_SETTING = {
    *("SnapStart", "KeepReady", "PermissionsBoundary", "RolePath", "KmsKeyArn", "IndexKey", "IndexSecurityGroup"),
    *("Architecture", "MemorySize", "Timeout", "Revision", "EfsTmpSize", "VpcId", "SubnetA", "SubnetB"),
    *("ThrottleRate", "ThrottleBurst", "MonthlyQuota"),
    *("LogLevel", "LogRetentionDays", "AccessLogs", "AlarmTopicArn", "NoTrafficHours", "Streaming", "Tracing"),
}
"""Parameters that decide what is deployed, and say nothing to the program."""

OTHER_VALUES = ("https://app.example", "0.5", "7", "600", "https://llm.example/v1", "another-one",
                "https://x.example/t/d", "#7a1f5c")  # fmt: skip
"""For every pattern there is one that fits, and no default of any profile is among them."""


def variable(parameter: str) -> str:
    """The variable of the same name."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", parameter).upper()


def models(profile: str) -> tuple[type[EnvironmentSettings], ...]:
    """What reads the environment in this profile."""
    return Settings, load_profile(profile).settings


def named(parameter: dict[str, Any]) -> tuple[str, ...]:
    """The profiles that the description says it is for: "a only.", "a, b and c only.", else all."""
    only = re.match(r"((?:[a-z]+(?:, | and )?)+) only\.", parameter["Description"])
    found = tuple(name for name in re.split(", | and ", only[1]) if name in PROFILES) if only else ()
    return found or tuple(PROFILES)


def accepts(parameter: dict[str, Any], value: str) -> bool:
    """Whether CloudFormation would take ``value``."""
    fits = re.fullmatch(parameter.get("AllowedPattern", ".*"), value)
    return bool(fits) and value in parameter.get("AllowedValues", [value])


def starts(environment: dict[str, str], profile: str) -> bool:
    """Whether the program accepts these settings."""
    try:
        for model in models(profile):
            load(model, environment)
    except ConfigurationError:
        return False
    return True


def environment(stack: dict[str, Any]) -> dict[str, str]:
    """The function's variables."""
    told: dict[str, str] = stack["Resources"]["QueryFunction"]["Properties"]["Environment"]["Variables"]
    return told


@pytest.fixture
def parameters(raw: Any) -> Any:
    """The template's parameters by name."""
    return raw["Parameters"]


def test_template_sets_only_variables_that_the_program_reads_and_by_settings_alone(deploy: Any, program: Any) -> None:
    assert environment(deploy()).keys() - NOT_THE_PROGRAMS <= set(program["environment"])
    assert environment(deploy(**dict.fromkeys(NOT_A_SETTING, "another-one"))) == environment(deploy())


def test_parameters_reach_the_variables_of_the_same_name(deploy: Any, parameters: Any) -> None:
    settings = environment(deploy()).keys()
    same = {name for name in parameters if variable(name) in settings}
    told = environment(deploy(**dict.fromkeys(same, "a value")))
    assert {name for name, value in told.items() if value == "a value"} == {variable(name) for name in same}
    # What is left is made, or is a contract of its own.
    assert told.keys() - {variable(name) for name in same} == {*NOT_THE_PROGRAMS, "RAG_PROFILE", "TABLE_NAME"}


def test_every_profile_can_be_deployed_and_the_default_is_the_programs(parameters: Any) -> None:
    assert all(accepts(parameters["Profile"], name) for name in (*PROFILES, "a_fifth_one"))
    assert parameters["Profile"]["Default"] == DEFAULT_PROFILE


def test_every_parameter_has_a_default_that_fits_and_a_place_in_the_console(raw: Any) -> None:
    groups = raw["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    shown = [name for group in groups for name in group["Parameters"]]
    assert sorted(shown) == sorted(raw["Parameters"])
    for name, parameter in raw["Parameters"].items():
        assert parameter["Description"], name
        assert re.search(parameter.get("AllowedPattern", ""), str(parameter["Default"])), name
        assert parameter["Default"] in parameter.get("AllowedValues", [parameter["Default"]]), name


def test_every_setting_has_an_effect_in_the_profiles_that_it_names_and_no_other(deploy: Any, parameters: Any) -> None:
    def felt(profile: str, **given: str) -> list[EnvironmentSettings]:
        told = environment(deploy(**{**EFS, "Profile": profile, **given}))
        return [load(model, told) for model in models(profile)]

    silent = NOT_A_SETTING | {"Profile"}
    before = {profile: felt(profile) for profile in PROFILES}
    seen = {}
    for name in parameters.keys() - silent:
        choices = parameters[name].get("AllowedValues", OTHER_VALUES)
        others = [value for value in choices if accepts(parameters[name], value)]
        seen[name] = tuple(p for p in PROFILES if any(felt(p, **{name: value}) != before[p] for value in others))

    assert seen == {name: named(parameters[name]) for name in parameters.keys() - silent}


def test_numbers_and_choices_are_accepted_exactly_where_the_program_accepts_them(parameters: Any) -> None:
    wrong = []
    compared = set()
    for name, value, profiles, exact in candidates(parameters):
        told, works = accepts(parameters[name], value), all(starts({variable(name): value}, p) for p in profiles)
        if (told and not works) or (exact and told != works):
            wrong.append((name, value, told, works))
        if exact:
            compared.add(name)

    assert wrong == []
    assert {"MaxContextTokens", "LlmReadTimeoutS", "EmbedDimensions", "LlmFallback", "EnableResponseCache"} <= compared
    assert len(compared) >= 18


def candidates(parameters: dict[str, Any]) -> Iterator[tuple[str, str, tuple[str, ...], bool]]:
    """Parameter, value, its profiles, and whether both must agree; else the template may be the stricter one."""
    for name, parameter in parameters.items():
        profiles = named(parameter)
        for field in fields(variable(name), profiles):
            values, exact = probes(field)
            for value in values:
                yield name, value, profiles, exact


def fields(name: str, profiles: tuple[str, ...]) -> list[FieldInfo]:
    """The settings that are read from the variable ``name`` in these profiles."""
    read = {model for profile in profiles for model in models(profile)}
    return [field for model in read for field in model.model_fields.values() if name in variable_names(field)]


def probes(field: FieldInfo) -> tuple[list[str], bool]:
    """Values at the bounds of ``field``, inside and outside of them."""
    bounds = [
        getattr(rule, kind) for rule in field.metadata for kind in ("ge", "gt", "le", "lt") if hasattr(rule, kind)
    ]
    if field.annotation is int:
        steps = [bound + step for bound in [0, 9, 10, 99, 100, 999, 1000, *bounds] for step in (-1, 0, 1)]
        return [*map(str, steps), *(str(10 * bound) for bound in bounds), "7.5", "many", "nan"], True
    if field.annotation is float:
        steps = [bound + step for bound in [0, 1, 9, 10, 99, 100, *bounds] for step in (-1, -0.25, 0, 0.25, 1)]
        return [*(f"{step:.2f}" for step in steps), *(str(int(step)) for step in steps), "0.001", "much", "inf"], True
    if field.annotation is bool or get_origin(field.annotation) is Literal:
        return ["true", "false", "neither", *map(str, get_args(field.annotation))], True
    return ["", "a", "ab", "abc", "a b", "https://llm.example/v1"], False


ROOT = Path(__file__).resolve().parents[2]


def test_no_local_command_names_a_table_to_call_with_the_developers_credentials() -> None:
    # Without Store=none the SAM CLI says TABLE_NAME=Table, the logical id, and hands on the credentials that it finds.
    env = {"PATH": os.environ["PATH"], "AWS_DEFAULT_REGION": "eu-central-1", "SAM_CLI_TELEMETRY": "0"}
    told = ask_sam("environment", ROOT, ROOT / "infra" / "template.yaml", env=env)
    named = {command: (variables["TABLE_NAME"], variables["INDEX_URI"]) for command, variables in told.items()}
    assert named == dict.fromkeys(("invoke", "start-api", "start-lambda"), ("", "/opt/index"))
