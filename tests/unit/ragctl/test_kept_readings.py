"""A file is read again when its bytes, its place, the options or what it took in are other ones, and not before."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from made_files import write_files

from knowledge.model.errors import SourceUnreadable
from knowledge.read.loading import Entry, Loading, Outcome, load
from knowledge.read.readers import Reader
from knowledge.read.walk import FoundFile
from ragctl.kept_readings import KeptReadings, Watched
from ragctl.pages import Pages


def read(docs: Path, kept: Path, options: str = "") -> tuple[list[str], list[str]]:
    """The names of the files that were read, and all texts."""
    pages = Pages.beside({docs: docs})
    files = [FoundFile(path, docs, path.name, explicit=False) for path in sorted(docs.glob("*.md"))]
    names: list[str] = []

    def run(function: Callable[[FoundFile], Watched], some: Sequence[FoundFile]) -> Iterable[Watched]:
        names.extend(found.file.name for found in some)
        return map(function, some)

    readings = KeptReadings(kept, options)
    outcomes = list(readings.run(lambda found: load(found, Loading(site=pages)), files, run))
    readings.save()
    return names, [outcome.text.strip() for (outcome,) in outcomes if isinstance(outcome, Entry)]


def test_only_what_is_another_file_is_read_again(tmp_path: Path) -> None:
    docs, kept = tmp_path / "docs", tmp_path / "kept.sqlite"
    write_files(docs, {"a.md": "One fee.", "b.md": "See:\n\n{{#include part.txt}}"})
    first = read(docs, kept)
    assert first == (["a.md", "b.md"], ["One fee.", "See:"])

    assert read(docs, kept) == ([], first[1])
    (docs / "a.md").write_text("Two fees")
    assert read(docs, kept) == (["a.md"], ["Two fees", "See:"])
    (docs / "part.txt").write_text("The harbour.")
    assert read(docs, kept) == (["b.md"], ["Two fees", "See:\n\nThe harbour."])
    (docs / "part.txt").write_text("The quay.")
    assert read(docs, kept)[1][1] == "See:\n\nThe quay."
    assert read(docs, kept, "other options")[0] == ["a.md", "b.md"]


def test_a_draft_is_read_each_time_and_a_damaged_file_anew(tmp_path: Path) -> None:
    docs, kept = tmp_path / "docs", tmp_path / "kept.sqlite"
    write_files(docs, {"a.md": "---\npublishdate: 2030-01-01\n---\nLater.", "b.md": "Now."})
    read(docs, kept)
    assert read(docs, kept) == (["a.md"], ["Later.", "Now."])

    kept.write_bytes(b"no database, and long enough to be looked at " * 100)

    assert read(docs, kept) == (["a.md", "b.md"], ["Later.", "Now."])
    assert read(docs, kept)[0] == ["a.md"]


def test_a_file_that_fails_for_its_bytes_is_not_read_again(tmp_path: Path) -> None:
    docs, kept = write_files(tmp_path / "docs", {"a.md": b"\x00\xff\x00" * 99}), tmp_path / "kept.sqlite"
    read(docs, kept)
    assert read(docs, kept)[0] == []


@pytest.mark.parametrize(("cause", "times"), [(ValueError("damaged"), 1), (MemoryError(), 2), (OSError("disk"), 2)])
def test_a_failure_that_may_pass_is_tried_again(cause: Exception, times: int, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("x")
    found = FoundFile(tmp_path / "a.bin", tmp_path, "a.bin", explicit=False)
    tried: list[str] = []

    def fails(data: bytes, found: FoundFile | None = None) -> str:
        tried.append("a.bin")
        raise SourceUnreadable("cannot be read") from cause

    def outcomes() -> tuple[Outcome, ...]:
        reader: Reader = fails
        readings = KeptReadings(tmp_path / "kept.sqlite", "")
        (made,) = readings.run(lambda file: load(file, Loading(readers={".bin": reader})), [found], map)
        readings.save()
        return made

    assert outcomes() == outcomes()
    assert len(tried) == times
