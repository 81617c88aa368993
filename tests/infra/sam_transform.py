"""Transforms the SAM template as `sam deploy` and CloudFormation do; runs in .venv-sam, where samtranslator is.

stdin: {"template": path, "variants": [{"parameters": {name: value}, "sources": {logical id: uri}}]}
stdout: the transformed templates, in that order
"""

import contextlib
import copy
import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found, unused-ignore]
from samtranslator.parser.parser import Parser  # type: ignore[import-not-found, unused-ignore]
from samtranslator.translator.translator import Translator  # type: ignore[import-not-found, unused-ignore]

SOURCES = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
SESSION = SimpleNamespace(region_name="eu-central-1")


def transform(template: dict[str, Any], *, parameters: dict[str, Any], sources: dict[str, str]) -> dict[str, Any]:
    """One transformation. What would be a local folder is an uploaded object, named in ``sources`` or by default."""
    template = copy.deepcopy(template)
    for name, resource in template["Resources"].items():
        if place := SOURCES.get(resource["Type"]):
            resource["Properties"][place] = sources.get(name, f"s3://artefacts/{name}-1")
    transformed: dict[str, Any] = Translator({}, Parser(), boto_session=SESSION).translate(template, parameters)
    return transformed


if __name__ == "__main__":
    logging.disable()
    request = json.load(sys.stdin)
    with Path(request["template"]).open(encoding="utf-8") as file:
        source = yaml_parse(file.read())
    with contextlib.redirect_stdout(sys.stderr):
        done = [transform(source, **variant) for variant in request["variants"]]
    json.dump(done, sys.stdout)
