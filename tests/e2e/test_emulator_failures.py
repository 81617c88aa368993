"""A function that fails or takes too long under the emulator: told in its own words. And what it takes and leaves."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from artefacts import ROOT

from emulator import __main__ as program
from emulator.rie import EmulatorEnded, FunctionFailed
from emulator.session import Artefacts, Session, built

pytestmark = pytest.mark.build

FUNCTION = """
import os
import time

print("module begins")
if os.environ.get("AT_START") == "raise":
    raise LookupError("no such profile")
if os.environ.get("AT_START") == "exit":
    os._exit(4)
kept = []


def handler(event, context):
    print("asked to", event["do"])
    if event["do"] == "exit":
        os._exit(3)
    if event["do"] == "sleep":
        time.sleep(60)
    if event["do"] == "raise":
        raise ValueError("not today")
    if event["do"] == "hold":
        kept.append(b"x" * event["bytes"])
    if event["do"] == "drop":
        kept.clear()
    return {"done": event["do"]}
"""
EXITED = "Runtime.ExitError: RequestId: "


@pytest.fixture(scope="module")
def function(tmp_path_factory: pytest.TempPathFactory) -> Artefacts:
    task = tmp_path_factory.mktemp("function")
    (task / "function.py").write_text(FUNCTION, encoding="utf-8")
    return Artefacts(task, {}, "function.handler")


@pytest.fixture(scope="module")
def session(function: Artefacts) -> Iterator[Session]:
    with Session(function) as session:
        yield session


def ask(session: Session, do: str, **more: Any) -> Any:
    return session.invoke({"do": do, **more}).body


def test_a_function_that_raises_at_its_start_is_told_with_its_trace(function: Artefacts) -> None:
    with Session(function, environment={"AT_START": "raise"}) as session:
        with pytest.raises(FunctionFailed) as first:
            ask(session, "nothing")
        with pytest.raises(FunctionFailed) as second:
            ask(session, "nothing")
    for failed in (first.value, second.value):
        assert failed.reason == "LookupError: no such profile"
        assert "module begins" in failed.lines
        (told,) = [json.loads(line) for line in failed.lines if line.startswith('{"') and '"ERROR"' in line]
        assert (told["errorType"], told["errorMessage"]) == ("LookupError", "no such profile")
        assert 'function.py", line 7, in <module>' in told["stackTrace"][-1]
        assert str(failed) == "\n".join([*failed.lines, "The function failed: LookupError: no such profile"])


def test_one_that_ends_at_its_start_without_a_word_is_told_too(function: Artefacts) -> None:
    with Session(function, environment={"AT_START": "exit"}) as session, pytest.raises(FunctionFailed) as failed:
        ask(session, "nothing")
    assert failed.value.reason == "its process ended without a word"
    assert "module begins" in failed.value.lines
    assert any("exit status 4" in line for line in failed.value.lines)


def test_a_function_that_ends_in_an_invocation_starts_anew_for_the_next(session: Session) -> None:
    with pytest.raises(FunctionFailed) as failed:
        ask(session, "exit")
    assert failed.value.reason.startswith(EXITED)
    assert failed.value.reason.endswith("Error: Runtime exited with error: exit status 3")
    assert "asked to exit" in failed.value.lines
    assert ask(session, "return") == {"done": "return"}


def test_an_error_of_the_handler_is_what_lambda_returns_for_it(session: Session) -> None:
    returned = ask(session, "raise")
    assert (returned["errorType"], returned["errorMessage"]) == ("ValueError", "not today")


def test_a_session_leaves_nothing_behind(function: Artefacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the processes that the session starts
    with Session(function) as session:
        assert ask(session, "return") == {"done": "return"}
        assert [path.name[:11] for path in tmp_path.iterdir()] == ["lambda-tmp-"]
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_takes_too_long_is_told_with_the_limit(function: Artefacts) -> None:
    with Session(function, parameters={"Timeout": "1"}) as session, pytest.raises(FunctionFailed) as failed:
        ask(session, "sleep")
    assert failed.value.reason == "Task timed out after 1.00 seconds"
    assert any(line.startswith("REPORT ") for line in failed.value.lines)


def test_the_built_function_with_a_wrong_setting_says_which() -> None:
    with (
        Session(built(), parameters={"MaxContextTokens": "10"}) as session,
        pytest.raises(FunctionFailed, match=r"ConfigurationError: Wrong setting\. MAX_CONTEXT_TOKENS: .*50$"),
    ):
        session.invoke({"query": "What does a permit cost?"})


def test_the_program_shows_what_the_function_wrote_and_not_its_own_trace(
    function: Artefacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (function.task / "broken.py").write_text("import nowhere\n", encoding="utf-8")
    monkeypatch.setattr(program, "built", lambda: Artefacts(function.task, {}, "broken.handler"))
    assert program.main([str(ROOT / "tests" / "events" / "query.json")]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    sentence = "Runtime.ImportModuleError: Unable to import module 'broken': No module named 'nowhere'"
    assert "\"errorMessage\": \"Unable to import module 'broken': No module named 'nowhere'\"" in err
    assert err.endswith(f"The function failed: {sentence}\n")
    assert "urllib" not in err


def test_an_emulator_that_ends_says_so(
    function: Artefacts, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    missing = Artefacts(function.task / "missing", {}, "function.handler")
    with Session(missing) as session, pytest.raises(EmulatorEnded, match="user namespaces"):
        session.invoke({})
    err = capfd.readouterr().err
    assert "emulator: Command '('mount', " in err
    assert "Traceback" not in err
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EmulatorEnded, match="unshare"), Session(function):
        pass


def test_the_peak_is_of_the_function_s_process_and_stays(session: Session) -> None:
    do: tuple[Any, ...] = ({"do": "return"}, {"do": "hold", "bytes": 150_000_000}, {"do": "drop"})
    before, held, dropped = (session.invoke(event).peak_bytes or 0 for event in do)
    assert 0 < before < 100_000_000, "a bare Python: neither the emulator nor these tests"
    assert 150_000_000 < held < 300_000_000
    assert dropped > 150_000_000
