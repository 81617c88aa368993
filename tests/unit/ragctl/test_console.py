"""What a person sees of a long command on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ragctl import console


def test_a_bar_is_there_before_anything_is_known_and_then_tells_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(console, "_console", lambda *, error: terminal)

    with console.progress("Reading") as on_progress:
        on_progress(0, 3)
    with console.progress("Reading") as on_progress:
        for done in range(1, 4):
            on_progress(done, 3)

    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "Reading" in shown
    assert "0/?" in shown
    assert "3/3" in shown
    assert "/s" in shown


def test_a_log_gets_a_line_every_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter([0.0, 1.0, 30.0, 30.0, 59.0, 61.0, 61.0])

    with console.progress("Reading", clock=lambda: next(seconds)) as on_progress:
        for done in range(1, 5):
            on_progress(done, 9)

    assert capsys.readouterr() == ("", "Reading: 2 of 9\nReading: 4 of 9\n")
