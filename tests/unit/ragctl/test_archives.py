"""Zip files among the documents: what is read of them, what is refused, and what a later ingest reads again."""

import io
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from knowledge.read.documents import ReadResult
from ragctl import archives
from ragctl.archives import Archives
from ragctl.ingest_request import IngestRequest
from ragctl.sources import read_sources

NUMBER = "103d4deadd2c80d39a5bc34d92cc7321"


def pack(files: Mapping[Any, Any]) -> bytes:
    data = io.BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
    return data.getvalue()


def read(folder: Path, *paths: str, exclude: tuple[str, ...] = ()) -> ReadResult:
    request = IngestRequest(paths=tuple(str(folder / path) for path in paths or ("",)), exclude=exclude)
    reading, readings = read_sources(request, cache=folder.parent / "cache", readings_path=folder.parent / "readings")
    readings.save()
    return reading


def paths(reading: ReadResult) -> list[str]:
    return [document.path for document in reading.documents]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


def test_a_zip_is_a_folder_with_all_of_its_rules(folder: Path) -> None:
    home, table = f"Home {NUMBER}", f"Home {NUMBER}/Tasks {NUMBER}"
    inner = {
        f"{home}.md": f"# Home\n\n[Fees](Home%20{NUMBER}/Fees%20{NUMBER}.md)",
        "index.html": "<ul id='id::1'><a>Home",
    }
    inner |= {f"{table}.csv": "Task,Fee\nPump,1", f"{table}_all.csv": "Task,Fee\nPump,1\nTug,2"}
    inner |= {f"{home}/Row {NUMBER}.md": "One.", f"{home}/Row {NUMBER[::-1]}.md": "Two."}
    outer = {
        "Part-1.zip": pack(inner),
        ".ragignore": "drafts/",
        "drafts/a.md": "Draft.",
        "map.mp4": "",
        "part.rs": "fn part() {}",
    }
    outer |= {"node_modules/x/README.md": "A program.", "__MACOSX/._b.md": "\0"}
    outer |= {"book.toml": "[book]\nsrc = '.'\n[output.html]\ncname = 'a.org'\nsite-url = '/b/'"}
    outer |= {"notes/b.md": "{{#include ../part.rs}} {{#include ../../../../secret.md}}"}
    (folder / "a.zip").write_bytes(pack(outer))
    (folder.parent / "secret.md").write_text("Secret.", encoding="utf-8")

    reading = read(folder)

    assert paths(reading) == [
        "a.zip/Part-1.zip/Home.md",
        "a.zip/Part-1.zip/Home 103d4dea/Row 103d4dea.md",
        "a.zip/Part-1.zip/Home 103d4dea/Row 1237cc29.md",
        "a.zip/Part-1.zip/Home/Tasks.csv",
        "a.zip/notes/b.md",
    ]
    first, *_, note = reading.documents
    assert (first.title, first.doc_id, first.category) == ("Home", "a.zip/Part-1.zip/Home", "")
    assert "[Fees](Home/Fees.md)" in first.text
    assert (note.text.strip(), note.url, note.category) == ("fn part() {}", "https://a.org/b/notes/b.html", "notes")
    assert reading.skipped["in .ragignore"] == reading.skipped["build output"] == reading.skipped[".mp4"] == 1
    assert str(folder / "a.zip/Part-1.zip/index.html") in {warning.path for warning in reading.warnings}
    assert paths(read(folder, "a.zip", exclude=("a.zip/*/",))) == []


def test_a_zip_of_software_is_read_only_if_it_is_given(folder: Path) -> None:
    (folder / "setup.zip").write_bytes(pack({"README.md": "A program.", "a.exe": "", "b.dll": ""}))
    (folder / "films.zip").write_bytes(pack({"a.mp4": "", "b.mp3": ""}))
    (folder / "keep.zip").write_bytes(pack({"note.html": "<p>Note.", "note.json": "{}", "note.mp3": ""}))
    reading = read(folder)
    assert paths(reading) == ["keep.zip/note.html"]
    assert reading.skipped == {".zip": 1, "of software": 1, ".json": 1, ".mp3": 1}
    said = "1 file of software (setup.zip): give it by name to read the documents"
    assert said in {kind.describe() for kind in reading.passed_over}
    assert paths(read(folder, "setup.zip")) == ["setup.zip/README.md"]


def test_what_a_zip_must_not_do_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_FILES", 8)
    monkeypatch.setattr(archives, "MAX_BYTES", 4_000)
    link, deep = ZipInfo("link.md"), pack({"d.md": "Deep."})
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    for number in range(3):
        deep = pack({f"{number}.zip": deep})
    locked = bytearray(pack({"a.md": "Text."}))
    locked[6] |= 1
    locked[locked.find(b"PK\x01\x02") + 8] |= 1
    large, outside = (
        "it has over 8 files, or unpacks to 100 times its size",
        "its name is of a place outside of the zip",
    )
    hostile = {
        "a.zip": (b"PK", "it is empty or damaged: download or save the zip again"),
        "b.zip": (pack({"a.md": b"0" * 5_000}), large),
        "c.zip": (pack({f"{number}.md": "x" for number in range(9)}), large),
        "d.zip/2.zip/1.zip/0.zip": (deep, "it is in 3 other zips"),
        "e.zip/link.md": (pack({link: "/etc/passwd"}), "it is a link, which is not followed"),
        "f.zip/a.md": (bytes(locked), "it is locked by a password"),
        "g.zip/../a.md": (pack({"../a.md": "Up."}), outside),
        "h.zip//a.md": (pack({"/a.md": "Top."}), outside),
        "i.zip/C:/a.md": (pack({"C:/a.md": "Drive."}), outside),
    }
    for name, (data, _) in hostile.items():
        (folder / name[:5]).write_bytes(data)
    said = {f"{folder}/{name}": f"cannot be unpacked: {reason}" for name, (_, reason) in hostile.items()}
    for _ in range(2):  # the second time of what was noted at the first
        reading = read(folder)
        assert (paths(reading), [*folder.parent.rglob("*.md")]) == ([], [])
        assert {failure.path: failure.error for failure in reading.failed} == said


@pytest.mark.parametrize("encoding", ["cp437", "utf-8"])
def test_names_without_a_mark_of_their_encoding_are_read(folder: Path, encoding: str) -> None:
    name = "Übergröße".encode(encoding)
    (folder / "a.zip").write_bytes(pack({"N" * len(name) + ".md": "Text."}).replace(b"N" * len(name), name))
    assert paths(read(folder)) == ["a.zip/Übergröße.md"]


def test_only_a_changed_zip_is_unpacked_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.md": "One.", "b.md": "Two."}
    (folder / "a.zip").write_bytes(pack(files))
    first = {document.path: document.digest for document in read(folder).documents}
    with monkeypatch.context() as patch:
        patch.delattr(Archives, "_fill")
        assert {document.path: document.digest for document in read(folder).documents} == first
    (folder / "a.zip").write_bytes(pack(files | {"b.md": "Three."}))
    second = {document.path: document.digest for document in read(folder).documents}
    assert {path for path, digest in second.items() if first[path] != digest} == {"a.zip/b.md"}
    (folder / "a.zip").unlink()
    assert (paths(read(folder)), [*(folder.parent / "cache" / ".zips").iterdir()]) == ([], [])
