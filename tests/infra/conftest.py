"""The template as CloudFormation sees it, and the program that it must agree with."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cloudformation import Stack, Template, ask_sam

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEMPLATE = ROOT / "infra" / "template.yaml"

type Transform = Callable[..., list[Template]]
type Deploy = Callable[..., Template]
type Properties = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def transform() -> Transform:
    """``transform(variant, ...)``: each variant (parameters, sources) through the SAM transform, offline."""

    def run(*variants: Mapping[str, Mapping[str, Any]]) -> list[Template]:
        full = [{"parameters": {}, "sources": {}, **variant} for variant in variants]
        told = json.dumps({"template": str(TEMPLATE), "variants": full})
        templates: list[Template] = ask_sam("transform", input=told)
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
        stack = Stack(raw, parameters)
        return {section: stack.section(section) for section in ("Resources", "Outputs")}

    return run


@pytest.fixture(scope="session")
def properties(deploy: Deploy) -> Properties:
    """``properties(name, **parameters)``: those of one resource of such a stack."""
    return lambda name, **parameters: deploy(**parameters)["Resources"][name]["Properties"]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory, deploy: Deploy) -> dict[str, Any]:
    """What program_facts.py says of the code, asked with tests/events and with what the template's schedule sends."""
    events = tmp_path_factory.mktemp("events")
    shutil.copytree(ROOT / "tests" / "events", events, dirs_exist_ok=True)
    [target] = deploy(KeepReady="on")["Resources"]["KeepReadyRule"]["Properties"]["Targets"]
    (events / "keep_ready.json").write_text(target["Input"], encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "PYTHONPATH": os.pathsep.join(str(ROOT / room) for room in ("functions/query", "layers/chroma")),
        "INDEX_URI": "/nonexistent",
        "STORE_PATH": "store.sqlite",
        "POWERTOOLS_METRICS_NAMESPACE": "RagService/stack",  # as in the template
    }
    done = subprocess.run(
        [sys.executable, HERE / "program_facts.py", events],
        cwd=tmp_path_factory.mktemp("program"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])  # after the log lines
    return facts
