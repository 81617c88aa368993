"""What an ingest takes over from the last one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.ingest_request import IngestRequest


def test_the_same_folder_written_otherwise_has_the_options_of_last_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``ragctl serve --source`` need not name it as the first ingest did."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    last = IngestRequest(paths=("docs",), base_url="https://x.example", drafts=True).made(
        "waypoint", "", {"filters.json": "[]"}
    )

    for path in ("docs", "./docs/", str(tmp_path / "docs")):
        now = IngestRequest(paths=(path,)).as_last_time(last, given={"paths"})
        assert (now.paths, now.base_url, now.drafts) == ((path,), "https://x.example", True)
    assert IngestRequest(paths=("other",)).as_last_time(last, given={"paths"}) == IngestRequest(paths=("other",))
