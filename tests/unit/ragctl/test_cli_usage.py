"""What the user is told of bad usage, of errors and of a long command, and that nothing is loaded for it."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from knowledge.model.errors import IndexMissing
from rag.errors import ConfigurationError, EmptyQuery, LlmUnavailable
from ragctl import cli, console
from ragctl.console import CommandFailed, ErrorMessage, describe_error
from ragctl.options import wants_trace

type Captured = pytest.CaptureFixture[str]
type Patch = pytest.MonkeyPatch

WRONG = [
    *(["nonsense"], ["ask"], ["ask", "a", "--profile", "nobody"], ["ask", "a", "--index", " "], ["show", "chunk7"]),
    *(["ingest", "--index", "nowhere"], ["search"], ["search", ""], ["search", "a", "--k", "0"]),
    *(["search", "a", "--queries", "q.jsonl"], ["search", "a", "--queries", "q.jsonl", "--run", "r.tsv"]),
    *(["serve", "--port", "70000"], ["serve", "--port", "-1"]),
]


@pytest.fixture(autouse=True)
def _settings_of_this_machine(monkeypatch: Patch) -> None:
    for name in ("INDEX_URI", "RAG_PROFILE", "RAGCTL_TRACE"):
        monkeypatch.setenv(name, "")


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_bad_usage_is_one_sentence_on_stderr_and_with_json_an_object_on_stdout(
    arguments: list[str], capsys: Captured
) -> None:
    assert cli.run(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err[:7], err.count("\n")) == ("", "Error: ", 1)
    assert cli.run([*arguments, "--json"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)
    assert (error.keys(), error["code"], err) == ({"error", "code"}, "usage", "")
    assert "\n" not in error["error"]


def test_a_profile_that_there_is_not_makes_no_index(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.setenv("RAG_PROFILE", "nosuch")
    (tmp_path / "page.md").write_text("# Fees\n\nFive dollars.\n", encoding="utf-8")
    assert cli.run(["ingest", str(tmp_path / "page.md"), "--index", str(tmp_path / "index")]) == 1
    assert "There is no profile 'nosuch'; RAG_PROFILE is one of clockify, gacounts, house" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(("arguments", "status", "shown"), [([], 2, "ingest"), (["ask", "--help"], 0, "--profile")])
def test_help_is_shown_also_without_a_command(arguments: list[str], status: int, shown: str, capsys: Captured) -> None:
    assert cli.run(arguments) == status
    assert shown in "".join(capsys.readouterr())


def test_an_unexpected_failure_is_a_sentence_too(monkeypatch: Patch, capsys: Captured) -> None:
    def explode(**_: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(cli, "app", explode)
    assert cli.run(["ask", "x"]) == 1
    assert capsys.readouterr().err == "Error: Unexpected KeyError: 'surprise'\n"


def test_a_trace_is_for_those_who_ask(monkeypatch: Patch) -> None:
    assert not wants_trace()
    monkeypatch.setenv("RAGCTL_TRACE", "1")
    assert wants_trace()


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "chromadb", "onnxruntime", "openai", "waitress", "rag", "knowledge"]
    code = f"import sys, ragctl.cli; ragctl.cli.run(['ask']); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("arguments", "instead"), [(["rm", "a"], "--exclude"), (["calibrate"], "--dry-run")])
def test_what_is_not_done_to_an_index_on_a_server_says_what_is(
    arguments: list[str], instead: str, capsys: Captured
) -> None:
    assert cli.run([*arguments, "--index", "chroma://127.0.0.1:1/tenant/database", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["code"] == "index_on_server"
    assert instead in told["error"]


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (EmptyQuery(), ErrorMessage("Query cannot be empty", "empty_query", 2)),
        (IndexMissing("No index in 'x'"), ErrorMessage("No index in 'x'", "index_not_ready", 1)),
        (ConfigurationError("Wrong setting"), ErrorMessage("Wrong setting", "configuration_error", 1)),
        (LlmUnavailable("vendor words"), ErrorMessage("Pipeline error: LLM request failed", "llm_unavailable", 1)),
        (FileNotFoundError(2, "No such file", "a.txt"), ErrorMessage("No such file: a.txt", "os_error", 1)),
        (OSError(28, "No space left on device", "a.txt"), ErrorMessage("The disk is full: a.txt", "os_error", 1)),
        (OSError(28, "No space"), ErrorMessage("The disk is full: a file could not be written", "os_error", 1)),
        (CommandFailed("so", code="c", exit_status=130, n=1), ErrorMessage("so", "c", 130, {"n": 1})),
        (KeyError("surprise"), None),
    ],
)
def test_every_expected_error_has_a_sentence_a_code_and_an_exit_status(error: Exception, problem: object) -> None:
    assert describe_error(error) == problem


# On a terminal


def test_a_bar_is_there_before_anything_is_known_and_then_tells_the_rate(monkeypatch: Patch) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(console, "_console", lambda *, error: terminal)

    with console.progress("Reading") as on_progress:
        on_progress(0, 3)
    with console.progress("Reading") as on_progress:
        for done in range(1, 4):
            on_progress(done, 3)

    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert [part for part in ("Reading", "0/?", "3/3", "/s") if part not in shown] == []


def test_a_log_gets_a_line_every_half_minute(capsys: Captured) -> None:
    seconds = iter([0.0, 1.0, 30.0, 30.0, 59.0, 61.0, 61.0])
    with console.progress("Reading", clock=lambda: next(seconds)) as on_progress:
        for done in range(1, 5):
            on_progress(done, 9)
    assert capsys.readouterr() == ("", "Reading: 2 of 9\nReading: 4 of 9\n")
