"""The function's settings out of a template: what the emulator starts the function with."""

from pathlib import Path

import pytest

from emulator.template import function_settings, read_template

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = ROOT / "infra" / "template.yaml"

SMALL = """
Parameters:
  Source: {Type: String, Default: layer}
  Secret: {Type: String, Default: ""}
  Memory: {Type: Number, Default: 1024}
  Model: {Type: String}
  Level: {Type: String, Default: DEBUG}
Conditions:
  OnDisk: !Equals [!Ref Source, efs]
  HasSecret: !Not [!Equals [!Ref Secret, ""]]
  NotOnDisk: !Not [!Equals [!Ref Source, efs]]
Globals:
  Function:
    Timeout: 7
Resources:
  QueryFunction:
    Type: AWS::Serverless::Function
    Properties:
      MemorySize: !Ref Memory
      LoggingConfig: {LogFormat: JSON, ApplicationLogLevel: !Ref Level}
      Environment:
        Variables:
          PLAIN: "1"
          NUMBER: 2
          EMPTY: !Ref Secret
          UNSET: !Ref Model
          PLACE: !If [OnDisk, /mnt, /opt]
          LONG: {"Fn::If": [NotOnDisk, {"Ref": Source}, {"Fn::If": [HasSecret, both, disk]}]}
          NOTHING: !If [HasSecret, kept, !Ref AWS::NoValue]
          ROLE: !GetAtt Role.Arn
          TEXT: !Sub "${AWS::Region}/x"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "template.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


ALWAYS = {"PLAIN": "1", "NUMBER": "2", "AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "DEBUG"}


def test_defaults_resolve_and_what_only_a_deployment_knows_is_left_out(small: Path) -> None:
    environment = {**ALWAYS, "EMPTY": "", "UNSET": "", "PLACE": "/opt", "LONG": "layer"}
    assert function_settings(small, {}) == (environment, 1024, 7)


def test_overrides_decide_conditions_references_and_sizes(small: Path) -> None:
    overrides = {"Source": "efs", "Secret": "name", "Memory": "2048", "Model": "m"}
    environment = {**ALWAYS, "EMPTY": "name", "UNSET": "m", "PLACE": "/mnt", "LONG": "both", "NOTHING": "kept"}
    assert function_settings(small, overrides) == (environment, 2048, 7)


def test_short_tags_and_long_names_read_alike(small: Path) -> None:
    body = read_template(small)
    variables = body["Resources"]["QueryFunction"]["Properties"]["Environment"]["Variables"]
    assert variables["PLACE"] == {"If": ["OnDisk", "/mnt", "/opt"]}
    assert variables["EMPTY"] == {"Ref": "Secret"}
    assert variables["ROLE"] == {"GetAtt": "Role.Arn"}
    assert body["Conditions"]["HasSecret"] == {"Not": [{"Equals": [{"Ref": "Secret"}, ""]}]}


def test_the_real_template_s_defaults() -> None:
    environment, memory, timeout = function_settings(TEMPLATE, {})
    expected = {"INDEX_URI": "/opt/index", "RAG_PROFILE": "house", "LLM_SECRET_NAME": "", "LLM_FALLBACK": "none"}
    assert expected.items() <= environment.items()
    assert "LLM_API_KEY" not in environment
    assert (memory, timeout) == (1769, 29)


def test_the_real_template_with_an_index_on_efs() -> None:
    environment, _, _ = function_settings(TEMPLATE, {"IndexSource": "efs", "LlmSecretName": "rag/key"})
    # The path on EFS is a !Sub, which is CloudFormation's to fill in.
    assert environment.get("INDEX_URI", "/mnt/index/current").startswith("/mnt/index/")
    assert environment["LLM_SECRET_NAME"] == "rag/key"
