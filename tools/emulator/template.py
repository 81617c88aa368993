"""The function's environment and the stage's variables, from the built template and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

FUNCTION = "QueryFunction"
API = "Api"


class _TemplateLoader(yaml.SafeLoader):
    """A YAML loader that reads CloudFormation's short tags as {"Tag": value}; ``!Ref X`` as {"Ref": "X"}."""


def _tag(loader: _TemplateLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)  # noqa: S101 - the three kinds that YAML has
    return {suffix: loader.construct_mapping(node, deep=True)}


_TemplateLoader.add_multi_constructor("!", _tag)


def read_template(path: Path) -> dict[str, Any]:
    """Return the template with its tags as plain mappings."""
    body: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_TemplateLoader)  # noqa: S506 - a SafeLoader
    return body


def function_settings(path: Path, overrides: Mapping[str, str]) -> tuple[dict[str, str], int, int]:
    """Return the function's environment, memory (MB) and timeout (s); ``overrides`` are parameters.

    The environment has Lambda's variables for ``LoggingConfig`` too, but no values that only CloudFormation knows (an
    ARN, a pseudo parameter).
    """
    body = read_template(path)
    resolve = _resolver(body, overrides)
    properties = {**body.get("Globals", {}).get("Function", {}), **body["Resources"][FUNCTION]["Properties"]}
    logging = properties.get("LoggingConfig", {})
    variables = {
        **properties["Environment"]["Variables"],
        "AWS_LAMBDA_LOG_FORMAT": logging.get("LogFormat"),
        "AWS_LAMBDA_LOG_LEVEL": logging.get("ApplicationLogLevel"),
    }
    resolved = {name: resolve(value) for name, value in variables.items()}
    environment = {name: str(value) for name, value in resolved.items() if value is not None}
    return environment, int(resolve(properties["MemorySize"])), int(resolve(properties["Timeout"]))


def stage_variables(path: Path, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the stage variables, which API Gateway puts into its events; ``overrides`` are parameters."""
    body = read_template(path)
    resolve = _resolver(body, overrides)
    variables = body["Resources"][API]["Properties"].get("Variables", {})
    resolved = {name: resolve(value) for name, value in variables.items()}
    return {name: str(value) for name, value in resolved.items() if value is not None}


def _resolver(body: Mapping[str, Any], overrides: Mapping[str, str]) -> Callable[[Any], Any]:
    """Return a function that evaluates intrinsic functions; None for values that only CloudFormation knows."""
    known = {name: spec.get("Default", "") for name, spec in body["Parameters"].items()} | dict(overrides)
    conditions = body.get("Conditions", {})

    def resolve(value: Any) -> Any:
        # The built template has the long names (Fn::If) where the source has short tags (!If).
        match {key.removeprefix("Fn::"): inner for key, inner in value.items()} if isinstance(value, dict) else value:
            case {"Ref": name}:
                return known.get(name)
            case {"If": [name, yes, no]}:
                return resolve(yes if resolve(conditions[name]) else no)
            case {"Equals": [left, right]}:
                return resolve(left) == resolve(right)
            case {"Not": [inner]}:
                return not resolve(inner)
            case dict():
                return None
        return value

    return resolve
