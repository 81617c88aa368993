"""knowledge.build.previous: what an ingest still finds in a manifest that it cannot use."""

from pathlib import Path

import pytest

from knowledge.build.previous import OldIndex, old_index

MANIFEST = '{"format": 3, "data": "data-00ff", "next_number": 7, "fil'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (MANIFEST, OldIndex(next_number=7, data="data-00ff")),
        (MANIFEST.replace("3", "2") + '": {}}', OldIndex(next_number=7, data="data-00ff")),
        (MANIFEST + MANIFEST.replace("7", "9"), OldIndex(next_number=9, data="data-00ff")),
        ("\xff\xfe", OldIndex()),
    ],
)
def test_numbers_and_data_folder_are_found_in_a_damaged_manifest(tmp_path: Path, text: str, found: OldIndex) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))

    assert old_index(tmp_path) == found
