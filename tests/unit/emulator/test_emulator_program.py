"""``python -m emulator``: what it says of an event or a profile that it cannot take."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator import __main__ as program
from emulator.errors import FunctionFailed, NotBuilt
from emulator.session import built
from rag.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[3]
QUERY = str(ROOT / "tests" / "events" / "query.json")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("missing", "cannot be read: No such file or directory"),
        ("folder", "cannot be read: Is a directory"),
        (b"", "is not JSON: Expecting value"),
        (b"{", "is not JSON: Expecting property name"),
        (b"\xff{}", "is not JSON: "),
        (b"[" * 200_000, "is not JSON: "),
    ],
    ids=["missing", "folder", "empty", "cut", "not UTF-8", "too deep"],
)
def test_an_event_that_is_no_json_is_bad_usage(
    content: bytes | str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "event.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "folder":
        path.mkdir()
    with pytest.raises(SystemExit) as ended:
        program.main([str(path)])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"emulator: error: argument EVENT: {str(path)!r} {complaint}" in told.err


@pytest.mark.parametrize(("text", "event"), [("null", None), ("5", 5), ('{"query": "é"}', {"query": "é"})])
def test_any_json_is_an_event(text: str, event: object, tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text(text, encoding="utf-8")
    assert program.read_event(str(tmp_path / "event.json")) == event


def test_a_profile_is_one_that_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["--profile", "nosuch", QUERY])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "argument --profile: invalid choice: 'nosuch'" in told
    assert all(profile in told for profile in PROFILES)


def test_without_a_build_it_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "built", lambda: built(tmp_path))
    assert program.main([QUERY]) == 1
    assert capsys.readouterr().err == "There is no build. Run: make build\n"


def test_a_build_without_its_template_is_none(tmp_path: Path) -> None:
    for folder in ("QueryFunction", "ChromaLayer/python", "IndexLayer/index"):
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(NotBuilt):
        built(tmp_path)
    (tmp_path / "template.yaml").touch()
    assert built(tmp_path).task == tmp_path / "QueryFunction"


def test_a_failure_s_message_is_what_the_function_wrote_and_then_the_reason() -> None:
    assert str(FunctionFailed("it ended", ["one", "two"])) == "one\ntwo\nThe function failed: it ended"
