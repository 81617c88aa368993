"""Prints as JSON what SAM and cfn-lint make of a template; runs in .venv-sam, where they are.

transform: what `sam deploy` and CloudFormation transform the template on stdin to, once for each of its variants:
    {"template": path, "variants": [{"parameters": {name: value}, "sources": {logical id: uri}}]}
environment FOLDER TEMPLATE: what each `sam local` command gives the function, with samconfig.toml in FOLDER
create_only TYPE ...: the properties of each type that replace a resource when they change
"""

import contextlib
import copy
import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SOURCES = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
SESSION = SimpleNamespace(region_name="eu-central-1")


def transform() -> list[dict[str, Any]]:
    from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found, unused-ignore]
    from samtranslator.parser.parser import Parser  # type: ignore[import-not-found, unused-ignore]
    from samtranslator.translator.translator import Translator  # type: ignore[import-not-found, unused-ignore]

    def transform_one(parameters: dict[str, Any], sources: dict[str, str]) -> dict[str, Any]:
        template = copy.deepcopy(source)
        for name, resource in template["Resources"].items():
            if place := SOURCES.get(resource["Type"]):  # a local folder, which is an uploaded object by then
                resource["Properties"][place] = sources.get(name, f"s3://artefacts/{name}-1")
        transformed: dict[str, Any] = Translator({}, Parser(), boto_session=SESSION).translate(template, parameters)
        return transformed

    logging.disable()
    request = json.load(sys.stdin)
    source = yaml_parse(Path(request["template"]).read_text(encoding="utf-8"))
    with contextlib.redirect_stdout(sys.stderr):
        return [transform_one(**variant) for variant in request["variants"]]


def environment(folder: str, template: str) -> dict[str, dict[str, str]]:
    from samcli.cli.types import CfnParameterOverridesType  # type: ignore[import-not-found, unused-ignore]
    from samcli.lib.config.samconfig import SamConfig  # type: ignore[import-not-found, unused-ignore]
    from samcli.lib.providers import sam_function_provider, sam_stack_provider  # type: ignore[import-not-found, unused-ignore]

    variables = {}
    for command in ("invoke", "start-api", "start-lambda"):
        saved = SamConfig(folder).get_all(["local", command], "parameters").get("parameter_overrides", "")
        overrides = CfnParameterOverridesType().convert(saved, None, None) if saved else {}
        stacks, _ = sam_stack_provider.SamLocalStackProvider.get_stacks(template, parameter_overrides=overrides)
        function = sam_function_provider.SamFunctionProvider(stacks).get("QueryFunction")
        variables[command] = function.environment["Variables"]
    return variables


def create_only(*kinds: str) -> dict[str, list[str]]:
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-not-found, import-untyped, unused-ignore]

    schemas = {kind: PROVIDER_SCHEMA_MANAGER.get_resource_schema("eu-central-1", kind).schema for kind in kinds}
    paths = {kind: schema.get("createOnlyProperties", []) for kind, schema in schemas.items()}
    return {kind: sorted({path.split("/")[2] for path in named}) for kind, named in paths.items()}


if __name__ == "__main__":
    commands: dict[str, Any] = {"transform": transform, "environment": environment, "create_only": create_only}
    json.dump(commands[sys.argv[1]](*sys.argv[2:]), sys.stdout)
