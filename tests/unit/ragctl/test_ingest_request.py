"""What an ingest takes over from the last one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.ingest_request import IngestRequest, split_base


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


def test_a_folder_that_was_moved_keeps_its_options_and_its_own_base(tmp_path: Path) -> None:
    new = tmp_path / "new" / "docs"
    new.mkdir(parents=True)
    old = tmp_path / "old" / "docs"
    last = IngestRequest(paths=(str(old),), base_urls=(f"{old}=https://d.example",), drafts=True).made("house", "", {})

    now = IngestRequest(paths=(str(new),)).as_last_time(last, given={"paths"})

    assert (now.drafts, now.base_of(str(new)), now.base_of(str(tmp_path))) == (True, "https://d.example", "")
    old.mkdir(parents=True)  # which is another folder of that name then
    assert IngestRequest(paths=(str(new),)).as_last_time(last, given={"paths"}) == IngestRequest(paths=(str(new),))


def test_a_pair_is_a_path_with_an_address_behind_it() -> None:
    assert split_base("docs/a=https://x.example/?q=1") == ("docs/a", "https://x.example/?q=1")
    assert split_base("https://x.example/?u=https://y.example") == ("", "https://x.example/?u=https://y.example")
    assert split_base("a=b") == ("", "a=b")
