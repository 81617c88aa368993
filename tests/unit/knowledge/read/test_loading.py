"""One file's documents: what a passing trouble leaves behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge.read import file_bytes
from knowledge.read.documents import read


def test_a_file_that_cannot_be_read_now_is_lost_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("Words", encoding="utf-8")
    monkeypatch.setattr(file_bytes, "_without_waiting", broken(tmp_path / "b.md"))

    reading = read([tmp_path])

    assert [document.path for document in reading.documents] == ["a.md"]
    assert reading.lost == frozenset({"b.md"})
    assert reading.failed[0].error == "cannot be read: Input/output error"


def test_a_file_that_cannot_be_read_now_leaves_its_id_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the other one would take the place of its chunks in the index."""
    for name in ("one/a.md", "one/a.txt", "two/a.md", "two/b.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Words", encoding="utf-8")
    folders = [tmp_path / "one", tmp_path / "two"]
    whole = {document.doc_id for document in read(folders).documents}
    monkeypatch.setattr(file_bytes, "_without_waiting", broken(tmp_path / "one" / "a.md"))

    assert {document.doc_id for document in read(folders).documents} == whole - {"one/a"}


def test_a_file_that_is_written_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "a.md"
    page.write_text("Half of", encoding="utf-8")
    monkeypatch.setattr(file_bytes, "_without_waiting", writing(page, times=1))

    assert read([tmp_path]).documents[0].text == "Half of it"


def test_a_file_that_changes_all_the_time_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "a.md"
    page.write_text("Half of", encoding="utf-8")
    monkeypatch.setattr(file_bytes, "_without_waiting", writing(page, times=file_bytes.READ_TRIES))

    reading = read([tmp_path])

    assert (reading.documents, reading.lost) == ((), frozenset({"a.md"}))
    assert "changes while it is read" in reading.failed[0].error


def test_a_corpus_with_a_bad_line_is_lost_for_what_it_held_before(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "q", "text": "t"}\nnonsense\n', encoding="utf-8")

    reading = read([tmp_path])

    assert ([d.doc_id for d in reading.documents], reading.lost) == (["q"], frozenset({"corpus.jsonl"}))


def broken(path: Path) -> Callable[[str, int], int]:
    def opener(name: str, flags: int) -> int:
        if Path(name) == path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        return os.open(name, flags)

    return opener


def writing(path: Path, *, times: int) -> Callable[[str, int], int]:
    """An opener behind which somebody appends to the file, so many times."""
    left = times

    def opener(name: str, flags: int) -> int:
        nonlocal left
        descriptor = os.open(name, flags)
        if left:
            left -= 1
            before = path.read_text(encoding="utf-8")
            path.unlink()
            path.write_text(f"{before} it", encoding="utf-8")
        return descriptor

    return opener
