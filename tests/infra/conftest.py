"""The template as CloudFormation sees it, and the program that it must agree with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEMPLATE = ROOT / "infra" / "template.yaml"
SAM_PYTHON = ROOT / ".venv-sam" / "bin" / "python"

PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-central-1",
    "AWS::StackName": "stack",
    "AWS::URLSuffix": "amazonaws.com",
}
NOTHING = object()

type Template = dict[str, Any]
type Transform = Callable[..., list[Template]]
type Deploy = Callable[..., Template]


@pytest.fixture(scope="session")
def transform() -> Transform:
    """``transform(variant, ...)``: each variant (parameters, sources) through the SAM transform, offline."""

    def run(*variants: Mapping[str, Mapping[str, Any]]) -> list[Template]:
        assert SAM_PYTHON.exists(), "The SAM CLI is missing in .venv-sam; `make test` installs it"
        full = [{"parameters": {}, "sources": {}, **variant} for variant in variants]
        done = subprocess.run(
            [SAM_PYTHON, HERE / "sam_transform.py"],
            input=json.dumps({"template": str(TEMPLATE), "variants": full}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        templates: list[Template] = json.loads(done.stdout)
        return templates

    return run


@pytest.fixture(scope="session")
def raw(transform: Transform) -> Template:
    """The transformed template, intrinsics as they are."""
    [template] = transform({})
    return template


@pytest.fixture(scope="session")
def deploy(raw: Template) -> Deploy:
    """``deploy(**parameters)``: what a stack with these parameters has, intrinsics evaluated."""

    def run(**parameters: Any) -> Template:
        return evaluate(raw, parameters)

    return run


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What program_facts.py says of the code."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "PYTHONPATH": os.pathsep.join(str(ROOT / room) for room in ("functions/query", "layers/chroma")),
        "INDEX_URI": "/nonexistent",
        "STORE_PATH": "store.sqlite",
        "POWERTOOLS_METRICS_NAMESPACE": "RagService/stack",  # as in the template
    }
    done = subprocess.run(
        [sys.executable, HERE / "program_facts.py", ROOT / "tests" / "events"],
        cwd=tmp_path_factory.mktemp("program"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])  # after the log lines
    return facts


def evaluate(template: Template, parameters: Mapping[str, Any]) -> Template:
    """The resources and outputs that exist, as far as their values are known before a deployment.

    A reference to a resource becomes its logical id, an attribute ``<logical id>.<attribute>``.
    """
    defaults = {name: parameter["Default"] for name, parameter in template["Parameters"].items()}
    values = {**PSEUDO, **defaults, **parameters}

    def value(node: Any) -> Any:
        if isinstance(node, list):
            return [done for item in node if (done := value(item)) is not NOTHING]
        if not isinstance(node, dict):
            return node
        name, argument = next(iter(node.items()), ("", None))
        if len(node) == 1 and name in functions:
            return functions[name](argument)
        return {name: done for name, item in node.items() if (done := value(item)) is not NOTHING}

    def condition(node: Any) -> bool:
        if isinstance(node, str):
            return condition(template["Conditions"][node])
        [(name, argument)] = node.items()
        return conditions[name](argument)

    def substitute(argument: str | list[Any]) -> str:
        text, local = (argument, {}) if isinstance(argument, str) else (argument[0], value(argument[1]))
        filled = re.sub(r"\$\{([^!}]+)\}", lambda match: str(local.get(match[1], reference(match[1]))), text)
        return filled.replace("${!", "${")

    def reference(name: str) -> Any:
        return NOTHING if name == "AWS::NoValue" else values.get(name, name)

    conditions: dict[str, Callable[[Any], bool]] = {
        "Condition": condition,
        "Fn::And": lambda parts: all(map(condition, parts)),
        "Fn::Equals": lambda pair: str(value(pair[0])) == str(value(pair[1])),
        "Fn::Not": lambda part: not condition(part[0]),
    }
    functions: dict[str, Callable[[Any], Any]] = {
        "Ref": reference,
        "Fn::GetAtt": ".".join,
        "Fn::If": lambda argument: value(argument[1 if condition(argument[0]) else 2]),
        "Fn::Join": lambda argument: argument[0].join(str(part) for part in value(argument[1])),
        "Fn::Select": lambda argument: value(argument[1])[int(argument[0])],
        "Fn::Sub": substitute,
    }
    return {
        section: {name: value(item) for name, item in _existing(template[section], condition)}
        for section in ("Resources", "Outputs")
    }


def _existing(section: Mapping[str, Any], condition: Callable[[str], bool]) -> list[tuple[str, Any]]:
    """The named items of a section whose condition holds, or that have none."""
    return [(name, item) for name, item in section.items() if "Condition" not in item or condition(item["Condition"])]
