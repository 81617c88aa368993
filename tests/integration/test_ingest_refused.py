"""What ragctl ingest says where there is nothing for it to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import runner


def test_a_folder_of_other_files_is_told_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "slides.key").write_bytes(b"x")

    status, _, said = runner(monkeypatch, capsys)("ingest", tmp_path / "docs", "--index", tmp_path / "index")

    assert status == 1
    assert said.endswith("no text in any of them. Passed over: 1 .key\n")


def test_addresses_alone_cannot_be_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(monkeypatch, capsys)

    status, _, said = run("ingest", "https://docs.example.com/", "--watch", "--index", tmp_path / "index")

    assert status == 2
    assert "only folders and files can be watched" in said
