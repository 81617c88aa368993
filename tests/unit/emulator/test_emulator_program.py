"""``python -m emulator``: events and profiles that it refuses, replies, a process's memory, the function's settings."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made_files import write_files

from emulator import __main__ as program
from emulator.rie import PROC, FunctionFailed, children, peak_bytes, read_reply
from emulator.session import built
from emulator.template import function_settings, read_template
from rag.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[3]
QUERY = str(ROOT / "tests" / "events" / "query.json")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "is not JSON: Expecting value"),
        (b"\xff{}", "is not JSON: "),
        (b"[" * 200_000, "is not JSON: "),
    ],
    ids=["missing", "empty", "not UTF-8", "too deep"],
)
def test_an_event_that_is_no_json_is_bad_usage(
    content: bytes | None, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "event.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        program.main([str(path)])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"emulator: error: argument EVENT: {str(path)!r} {complaint}" in told.err


def test_any_json_is_an_event(tmp_path: Path) -> None:
    for text, event in (("null", None), ('{"query": "é"}', {"query": "é"})):
        (tmp_path / "event.json").write_text(text, encoding="utf-8")
        assert program.read_event(str(tmp_path / "event.json")) == event


def test_a_profile_is_one_that_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["--profile", "nosuch", QUERY])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "argument --profile: invalid choice: 'nosuch'" in told
    assert all(profile in told for profile in PROFILES)


def test_without_a_whole_build_it_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("QueryFunction", "ChromaLayer/python", "IndexLayer/index"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(program, "built", lambda: built(tmp_path))
    assert program.main([QUERY]) == 1
    assert capsys.readouterr().err == "There is no build. Run: make build\n"
    (tmp_path / "template.yaml").touch()
    assert built(tmp_path).task == tmp_path / "QueryFunction"


# Replies


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (b'{"statusCode": 200, "body": "{}"}', {"statusCode": 200, "body": "{}"}),
        (b'{"errorMessage": "no", "errorType": "ValueError"}', {"errorMessage": "no", "errorType": "ValueError"}),
        (b"", None),
        (b"[1]", [1]),
        (
            b'{"statusCode": 404, "headers": {"A": "b"}}' + b"\0" * 8 + b"{}\0",
            {"statusCode": 404, "headers": {"A": "b"}, "body": "{}\0", "isBase64Encoded": False},
        ),
    ],
)
def test_what_the_function_returned_or_raised_is_its_body(content: bytes, body: Any) -> None:
    assert read_reply(200, content) == (body, None)


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (200, b"Task timed out after 3.00 seconds", "Task timed out after 3.00 seconds"),
        (502, b'{"errorType":"Runtime.ExitError","errorMessage":"exit status 3"}', "Runtime.ExitError: exit status 3"),
        (502, b'{"errorType": "SystemExit"}', "SystemExit: "),
        (502, b"", "its process ended without a word"),
        (500, b"[1]", "[1]"),
        (502, b"\xff", "\ufffd"),
    ],
)
def test_everything_else_is_a_failure_with_its_reason(status: int, content: bytes, reason: str) -> None:
    assert read_reply(status, content) == (None, reason)
    assert str(FunctionFailed(reason, ["one", "two"])) == f"one\ntwo\nThe function failed: {reason}"


# Memory


STATUS = "Name:\tpython\nPid:\t{pid}\nPPid:\t{parent}\nVmPeak:\t  900000 kB\nVmHWM:\t  {peak} kB\nVmRSS:\t  10 kB\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Process 10 with the children 12 and 13, of which one has ended, and 120, a grandchild."""
    for pid, parent in ((10, 1), (12, 10), (13, 10), (120, 12)):
        text = STATUS.format(pid=pid, parent=parent, peak=pid * 1000)
        # A process that has ended but was not waited for has no memory any more.
        write_files(tmp_path, {f"{pid}/status": text.partition("VmPeak")[0] if pid == 13 else text})
    for other in ("14", "sys"):
        (tmp_path / other).mkdir()
    return tmp_path


def test_the_peak_is_in_bytes_and_children_are_those_that_a_process_started_itself(proc: Path) -> None:
    assert peak_bytes(12, proc=proc) == 12_000 * 1024
    assert [peak_bytes(process, proc=proc) for process in (13, 14, 99)] == [None] * 3
    assert peak_bytes(proc=proc / "nowhere") is None
    assert [sorted(children(process, proc=proc)) for process in (10, 12, 120)] == [[12, 13], [120], []]


@pytest.mark.skipif(not PROC.is_dir(), reason="only Linux has /proc")
def test_a_fresh_process_has_a_peak_of_its_own() -> None:
    # Given a big process, this one, that starts another one
    ballast = b"x" * 200_000_000
    script = "from emulator.rie import peak_bytes; held = b'x' * 60_000_000; del held; print(peak_bytes())"
    told = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    # Then its peak is what it held itself, also after it gave it back
    assert 60_000_000 < told < 150_000_000 < len(ballast)


# The settings that it starts the function with, out of a template


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
    return write_files(tmp_path, {"template.yaml": SMALL}) / "template.yaml"


ALWAYS = {"PLAIN": "1", "NUMBER": "2", "AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "DEBUG"}


def test_defaults_resolve_overrides_decide_and_what_only_a_deployment_knows_is_left_out(small: Path) -> None:
    environment = {**ALWAYS, "EMPTY": "", "UNSET": "", "PLACE": "/opt", "LONG": "layer"}
    assert function_settings(small, {}) == (environment, 1024, 7)
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


def test_the_real_template_s_defaults_and_an_index_on_efs() -> None:
    environment, memory, timeout = function_settings(TEMPLATE, {})
    expected = {"INDEX_URI": "/opt/index", "RAG_PROFILE": "house", "LLM_SECRET_NAME": "", "LLM_FALLBACK": "none"}
    assert expected.items() <= environment.items()
    assert "LLM_API_KEY" not in environment
    assert (memory, timeout) == (1769, 29)

    environment, _, _ = function_settings(TEMPLATE, {"IndexSource": "efs", "LlmSecretName": "rag/key"})
    # The path on EFS is a !Sub, which is CloudFormation's to fill in.
    assert environment.get("INDEX_URI", "/mnt/index/current").startswith("/mnt/index/")
    assert environment["LLM_SECRET_NAME"] == "rag/key"
