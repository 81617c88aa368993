"""ragctl ingest --watch: every change of a document is met, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.failures import INTERRUPTED, CommandFailed
from ragctl.ingest import watch_files


class Stop(Exception):
    """Ends a watch that would go on for ever."""


def test_a_change_during_the_first_run_is_met(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("old", encoding="utf-8")
    seen: list[str] = []

    def again() -> None:
        seen.append(page.read_text(encoding="utf-8"))
        if seen[-1] == "new":
            raise Stop
        page.write_text("new", encoding="utf-8")

    with pytest.raises(Stop):
        watch_files([tmp_path], again)

    assert seen == ["old", "new"]


def test_an_interrupted_run_ends_it(tmp_path: Path) -> None:
    def again() -> None:
        raise CommandFailed("Interrupted", code="interrupted", exit_status=INTERRUPTED)

    with pytest.raises(CommandFailed):
        watch_files([tmp_path], again)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        watch_files([tmp_path / "none"], lambda: None)
