"""The model of a power cut: what it loses of known programs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.power import WAYS, Volume

MANY = [*WAYS, *((None, str(number)) for number in range(99))]
"""Enough to draw all that may be."""


def synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def careless(folder: Path) -> None:
    (folder / "new").write_bytes(b"newer")
    (folder / "new").replace(folder / "file")


def half_careful(folder: Path) -> None:
    (folder / "new").write_bytes(b"newer")
    synced(folder / "new")
    (folder / "new").replace(folder / "file")


def careful(folder: Path) -> None:
    half_careful(folder)
    synced(folder)


@pytest.mark.parametrize(
    ("program", "during", "after"),
    [
        (careless, {b"old", b"newer", b"", b"ne", bytes(5)}, {b"old", b"newer", b"", b"ne", bytes(5)}),
        (half_careful, {b"old", b"newer"}, {b"old", b"newer"}),
        (careful, {b"old", b"newer"}, {b"newer"}),
    ],
)
def test_what_a_cut_leaves_of_a_file_that_is_replaced(
    tmp_path: Path, program: Callable[[Path], None], during: set[bytes], after: set[bytes]
) -> None:
    (tmp_path / "file").write_bytes(b"old")
    volume = Volume(tmp_path)
    with volume.watched():
        program(tmp_path)
    volume.close()
    assert {moment.left(way)["file"] for moment in volume.moments for way in MANY} == during
    assert {volume.moments[-1].left(way)["file"] for way in MANY} == after


def test_a_folder_and_what_is_removed_from_it_may_each_be_lost(tmp_path: Path) -> None:
    (tmp_path / "gone").write_bytes(b"back")
    volume = Volume(tmp_path)
    with volume.watched():
        (tmp_path / "gone").unlink()
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "file").write_bytes(b"lost")
        synced(tmp_path / "made" / "file")
    volume.close()
    left = [volume.moments[-1].left(way) for way in MANY]
    assert {frozenset(tree) for tree in left} == {
        frozenset(names) | more for names in ([], ["gone"]) for more in ({"made", "made/file"}, {"made"}, set[str]())
    }
    assert {tree["made/file"] for tree in left if "made/file" in tree} == {b"lost"}
