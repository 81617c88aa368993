"""Which changes of files are a reason to ingest again."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.ingest import of_documents


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("docs/a.md", True),
        ("docs/sub/.ragignore", True),
        ("docs/.git/HEAD", False),
        ("docs/.index/waypoint/manifest.json", False),  # where ``ragctl ingest .`` has its index: it would never end
        ("mine/manifest.json", False),
        ("mine.md", True),
    ],
)
def test_what_is_hidden_or_written_by_the_run_itself_does_not_count(tmp_path: Path, changed: str, counts: bool) -> None:
    folder = tmp_path / ".notes"  # hidden itself, and given

    assert of_documents([folder], folder / "mine")(None, str(folder / changed)) is counts
